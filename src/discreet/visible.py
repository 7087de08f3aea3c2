"""Texts as a terminal or a page may show them: no control character, no change of direction, a bounded length.

Levels, identifiers, labels and file names come from other people. Shown raw, they could move the cursor, recolour or
hide what stands beside them, or pass for a line of their own.
"""

import unicodedata
from collections.abc import Iterable
from html import escape

__all__ = ["LONGEST", "Told", "notebook", "visible"]

LONGEST = 2000
IN_NOTEBOOK, LABEL = 1000, 40

# Controls, formats (directions, joiners, tags), surrogates, private and unassigned code points.
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn"}

# of what a notebook shows: the colours of the page around it, light or dark
NOTEBOOK = (
    "<style>.discreet-shown{font:inherit;line-height:1.45}.discreet-shown table{border-collapse:collapse;"
    "font-variant-numeric:tabular-nums}.discreet-shown th,.discreet-shown td{text-align:right;background:none;"
    "padding:.15em .8em .15em 0;border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent);color:inherit}"
    ".discreet-shown th:first-child,.discreet-shown td:first-child,.discreet-shown td.words{text-align:left}"
    ".discreet-shown .quiet{opacity:.72}.discreet-shown p{margin:.3em 0;max-width:60em}</style>"
)


def visible(text: str, longest: int = LONGEST) -> str:
    """One line of characters that can be seen: white space is a space, hidden characters are written as escapes."""
    # cut before escaping as well as after: an escape is up to ten times as long as what it stands for
    shown = "".join(map(_sign, text[: longest + 1]))
    if len(shown) <= longest:
        return shown
    tail = f"… ({len(text)} characters)"
    return shown[: longest - len(tail)] + tail


def _sign(character: str) -> str:
    if character.isspace():
        return " "
    if unicodedata.category(character) not in HIDDEN:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def notebook(title: str, lines: Iterable[tuple[str, str]], after: str = "") -> str:
    """What a notebook shows of an object: a title, labelled lines of plain text, and markup after them."""
    cells = [(_escaped(head), _escaped(text)) for head, text in lines]
    rows = "".join(f"<tr><td class='quiet'>{head}</td><td class='words'>{text}</td></tr>" for head, text in cells)
    held = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    return f"<div class='discreet-shown'>{NOTEBOOK}<p><b>{_escaped(title)}</b></p>{held}{after}</div>"


def _escaped(text: str) -> str:
    return escape(visible(text, IN_NOTEBOOK), quote=True)


class Told:
    """What says itself in a title and labelled lines: as text, and in a notebook as a table."""

    def _told(self) -> tuple[str, list[tuple[str, str]]]:
        """The title, and the lines."""
        raise NotImplementedError

    def __str__(self) -> str:
        title, lines = self._told()
        shown = [(visible(head, LABEL), visible(text, IN_NOTEBOOK)) for head, text in lines]
        width = max(map(len, (head for head, _ in shown)), default=0)
        return "\n".join([visible(title, IN_NOTEBOOK), *(f"  {head:<{width}}  {text}" for head, text in shown)])

    def _repr_html_(self) -> str:
        return notebook(*self._told())
