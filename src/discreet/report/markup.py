"""Pieces of HTML: everything that other people wrote is made visible, cut and escaped here, and nowhere else."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import isfinite
from typing import Any

from discreet.visible import notebook, visible

__all__ = ["cell", "code", "facts", "notebook_table", "number", "paragraph", "slug", "table", "text"]

LONGEST = 300  # characters of a text that somebody else wrote
MOST_ROWS = 200  # of a table on a page


def text(words: Any, longest: int = LONGEST) -> str:
    """Somebody else's text in a page: one line, without hidden characters or tags."""
    return escape(visible(str(words), longest), quote=True)


def code(words: Any, longest: int = 2000) -> str:
    """The same, in the letters of code."""
    return f"<code>{text(words, longest)}</code>"


def paragraph(words: Any, kind: str = "") -> str:
    """One paragraph."""
    return f"<p{_class(kind)}>{text(words, 4000)}</p>"


def number(value: float) -> str:
    """Four digits."""
    if not isfinite(value):
        return "unlimited" if value > 0 else "–"
    shown = f"{value:.4g}"
    return shown.replace("-", "−") if "e" not in shown else shown


def cell(value: Any) -> str:
    """What stands in a table."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return number(value) if isinstance(value, float) else text(value)


def table(head: Sequence[str], lines: Sequence[Sequence[Any]], *, caption: str = "", most: int = MOST_ROWS) -> str:
    """A table whose first column names its rows; a long one is cut, and says so."""
    words = {k for k in range(len(head)) if any(isinstance(row[k], str) for row in lines)}
    top = "".join(f'<th scope="col"{_class("words" if k in words else "")}>{text(h)}</th>' for k, h in enumerate(head))
    body = []
    for row in lines[:most]:
        first = f'<th scope="row" class="words">{cell(row[0])}</th>'
        rest = (f"<td{_class('words' if k in words else '')}>{cell(v)}</td>" for k, v in enumerate(row[1:], start=1))
        body.append(f"<tr>{first}{''.join(rest)}</tr>")
    more = f"<p class='quiet'>The first {most:,} of {len(lines):,} rows.</p>" if len(lines) > most else ""
    said = f"<caption>{text(caption)}</caption>" if caption else ""
    shown = f"<table>{said}<thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    label = text(caption or "table")
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">{shown}</div>{more}'


def facts(lines: Iterable[tuple[str, str]]) -> str:
    """Labelled lines; the second of each is markup already."""
    return f"<dl>{''.join(f'<dt>{text(label)}</dt><dd>{body}</dd>' for label, body in lines)}</dl>"


def slug(name: str, taken: Iterable[str] = ()) -> str:
    """A name of a place in a page: letters, digits and hyphens, and no other place has it."""
    letters = "".join(c if c.isascii() and c.isalnum() else "-" for c in name[:40].lower()).strip("-") or "release"
    used, found, again = set(taken), letters, 2
    while found in used:
        found, again = f"{letters}-{again}", again + 1
    return found


def notebook_table(title: str, lines: Mapping[str, Mapping[str, float]], notes: Iterable[str] = ()) -> str:
    """The same of a summary: a row for each name."""
    columns = list(next(iter(lines.values()), {}))
    rows = [[name, *(float(row[column]) for column in columns)] for name, row in lines.items()]
    said = "".join(f"<p><b>{text(note, 1000)}</b></p>" for note in notes)
    return notebook(title, (), said + table(["", *columns], rows, most=60))


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
