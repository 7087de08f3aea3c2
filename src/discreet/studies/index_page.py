"""The page of all reproduced figures and tables: one HTML file, no script, no network, light and dark."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

__all__ = ["Shown", "index_page"]

MOST_ROWS = 40  # of a table on the page; the CSV file has all

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --quiet: #5b5b5b; --paper: #ffffff; --rule: #dcdcdc; --card: #f6f6f4;
        --good: #1d6b3a; --bad: #a3232b; --accent: #2d5f8b; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececec; --quiet: #a9a9a9; --paper: #161616; --rule: #3a3a3a; --card: #202020;
          --good: #6fcf97; --bad: #ff8f8f; --accent: #8fc1ee; } }
body { margin: 0 auto; max-width: 68rem; padding: 2rem 1.25rem 5rem; background: var(--paper); color: var(--ink);
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
h1 { font-size: 1.7rem; margin: 0 0 .3rem; } h2 { font-size: 1.3rem; margin: 3rem 0 .6rem; }
h3 { font-size: 1.08rem; margin: 0; } a { color: var(--accent); } p { max-width: 46rem; margin: .5rem 0; }
.quiet { color: var(--quiet); font-size: .92rem; } .tag { border: 1px solid var(--quiet); border-radius: .3rem;
       padding: 0 .35rem; font-size: .8rem; color: var(--quiet); white-space: nowrap; }
article { border-top: 1px solid var(--rule); padding: 1.4rem 0 .6rem; }
figure { margin: .9rem 0; overflow-x: auto; } figure svg { max-width: 100%; height: auto; overflow: visible; }
figure svg text { fill: var(--ink) !important; } figure svg > rect { fill: transparent; }
figure svg .role-axis-grid line { stroke: var(--rule); } figure svg .mark-rule.level line { stroke: var(--ink); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem .9rem; max-width: 52rem; margin: .6rem 0; }
dt { color: var(--quiet); } dd { margin: 0; } ul.claims { list-style: none; padding: 0; max-width: 60rem; }
ul.claims li { padding: .12rem 0 .12rem 1.6rem; text-indent: -1.6rem; } .yes { color: var(--good); font-weight: 600; }
.no { color: var(--bad); font-weight: 600; } details { margin: .5rem 0; }
summary { cursor: pointer; color: var(--accent); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .88rem; } .wide { overflow-x: auto; }
th, td { text-align: right; padding: .14rem .7rem .14rem 0; border-bottom: 1px solid var(--rule); }
th { color: var(--quiet); font-weight: 600; vertical-align: bottom; } th.words, td.words { text-align: left; }
nav ol { columns: 2; column-gap: 2.5rem; padding-left: 0; list-style: none; font-size: .95rem; }
nav li { break-inside: avoid; padding: .08rem 0; }
@media (max-width: 44rem) { nav ol { columns: 1; } }
@media screen and (max-width: 44rem) { figure svg { max-width: none; } } /* a phone scrolls wide pictures */
@media print { :root { --ink: #000; --quiet: #333; --paper: #fff; --rule: #bbb; } details > * { display: block; }
  article { break-inside: avoid-page; } nav { display: none; } }
"""

PAPERS = {"foulds": "Foulds, Geumlek, Welling, Chaudhuri 2016", "minami": "Minami, Arai, Sato, Nakagawa 2016",
          "geumlek": "Geumlek, Song, Chaudhuri 2017"}  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """One finding as it was written: its document, and its picture as the text of an SVG file."""

    document: Mapping[str, Any] = field(repr=False)
    svg: str = field(repr=False)


def index_page(shown: Sequence[Shown]) -> str:
    """The whole page."""
    claims = [claim for one in shown for claim in one.document["claims"]]
    failed = sum(not claim["holds"] for claim in claims)
    state = "all hold" if not failed else f"{failed} do not hold"
    parts = [
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>Three papers, reproduced</title><style>{STYLE}</style></head><body>",
        "<h1>Three papers, reproduced</h1>",
        f"<p class='quiet'>{len(shown)} figures and tables, {len(claims)} claims: {state}. "
        "Everything here is a simulation on public or made-up tables; nothing was paid for, nothing is a release.</p>",
        _contents(shown),
    ]
    for key, paper in PAPERS.items():
        part = [one for one in shown if one.document["name"].startswith(f"{key}-")]
        if part:
            parts += [f"<h2>{escape(paper)}</h2>", *map(_article, part)]
    return "\n".join([*parts, "</body></html>\n"])


def _contents(shown: Sequence[Shown]) -> str:
    lines = [
        f"<li>{_mark(all(c['holds'] for c in one.document['claims']))} "
        f"<a href='#{one.document['name']}'>{escape(one.document['title'])}</a></li>"
        for one in shown
    ]
    return f"<nav><ol>{''.join(lines)}</ol></nav>"


def _article(one: Shown) -> str:
    found = one.document
    made_up = " <span class='tag'>synthetic data of the same shape</span>" if found["data"] != "as published" else ""
    claims = "".join(
        f"<li>{_mark(claim['holds'])} {escape(claim['claim'])} "
        f"<span class='quiet'>{escape(claim['numbers'])}</span></li>"
        for claim in found["claims"]
    )
    tables = "".join(_table(found["name"], name, rows) for name, rows in found["tables"].items())
    drawn = f"<figure>{_inline(one.svg, found['name'])}</figure>" if one.svg else ""
    parts = (("The paper", "reported"), ("Here", "found"), ("Why", "differs"))
    paragraph = "".join(f"<dt>{name}</dt><dd>{escape(found[key])}</dd>" for name, key in parts)
    asked = f"<code>discreet reproduce {found['name']}</code>"
    return (
        f"<article id='{found['name']}'><h3>{escape(found['title'])}</h3>"
        f"<p class='quiet'>{escape(found['source'])} · {asked}{made_up}</p>{drawn}"
        f"<dl>{paragraph}</dl><ul class='claims'>{claims}</ul>{tables}</article>"
    )


def _mark(good: bool) -> str:
    return "<span class='yes' title='holds'>✓</span>" if good else "<span class='no' title='does not hold'>✗</span>"


def _table(owner: str, name: str, lines: Sequence[Mapping[str, Any]]) -> str:
    keys = list(dict.fromkeys(key for row in lines for key in row))
    words = {key for key in keys if any(isinstance(row.get(key), str) for row in lines)}
    head = "".join(f"<th{_words(key in words)}>{escape(key)}</th>" for key in keys)
    body = "".join(
        "<tr>" + "".join(f"<td{_words(key in words)}>{_cell(row.get(key))}</td>" for key in keys) + "</tr>"
        for row in lines[:MOST_ROWS]
    )
    rest = f" <span class='quiet'>first {MOST_ROWS} of {len(lines)} rows</span>" if len(lines) > MOST_ROWS else ""
    return (
        f"<details><summary>{escape(name)} ({escape(owner)}.{escape(name)}.csv){rest}</summary>"
        f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )


def _words(is_text: bool) -> str:
    return " class='words'" if is_text else ""


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else escape(str(value))


def _inline(svg: str, name: str) -> str:
    """The picture as a part of the page: what it refers to inside itself gets a name of its own."""
    body = svg[svg.index("<svg") :]
    return re.sub(r'(id="|url\(#|href="#)', rf"\1{name}-", body)
