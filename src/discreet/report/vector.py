"""Charts as parts of a page: drawn once by vl-convert, without a browser; their colours are those of the page.

A picture is an SVG with a name for screen readers and the numbers behind it in a table. Nothing runs when the page is
opened, so that nothing can be fetched, and light, dark and paper are matters of style alone.
"""

import re
from functools import lru_cache

from discreet.report.look import COLOURS, INK, RULE, vl_convert
from discreet.report.markup import table, text
from discreet.report.pictures import Picture
from discreet.report.quantity_charts import PRIOR

__all__ = ["THEME", "figure", "inline_svg"]

# the colours of charts by the names that the style of the page gives them, for light and for dark
THEME = {
    INK: "ink",
    RULE: "rule",
    PRIOR: "prior",
    "#888888": "tick",
    "#ffffff": "paper",
    **{colour: f"c{k}" for k, colour in enumerate(COLOURS)},
}
NAMED = {"white": "#ffffff", "black": INK}
PAINT = re.compile(r'(fill|stroke)="(#[0-9a-fA-F]{6}|white|black)"')
MOST_KEPT = 64


def figure(picture: Picture, place: str) -> str:
    """The picture in a page; `place` is a name that no other picture of the page has."""
    drawn = inline_svg(picture, place)
    numbers = ""
    if picture.rows:
        held = table(picture.head, picture.rows, caption=picture.title)
        numbers = (
            f"<details><summary>Numbers<span class='hidden'> of {text(picture.title)}</span></summary>{held}</details>"
        )
    kind = "figure wide" if picture.wide else "figure"
    return (
        f'<figure class="{kind}"><h4>{text(picture.title)}</h4>'
        f'<div class="chart" tabindex="0" role="group" aria-label="{text(picture.title)}">{drawn}</div>'
        f"<figcaption>{text(picture.words, 600)}</figcaption>{numbers}</figure>"
    )


def inline_svg(picture: Picture, place: str) -> str:
    """The chart as an SVG element that is one picture to a screen reader."""
    import json

    chart = picture.chart()
    chart.config["aria"] = False
    svg = _drawn(json.dumps(chart.to_dict(), sort_keys=True))
    body = svg[svg.index("<svg") :]
    body = PAINT.sub(_painted, body)
    body = re.sub(r'(id="|url\(#|href="#)', rf"\1{place}-", body)
    name = f'<svg role="img" aria-label="{text(f"{picture.title}. {picture.words}", 600)}"'
    body = body.replace("<svg", name, 1)
    # the ground is that of the page
    return re.sub(r'<rect width="\d+(?:\.\d+)?" height="\d+(?:\.\d+)?" fill="var\(--paper\)"/>', "", body, count=1)


@lru_cache(maxsize=MOST_KEPT)
def _drawn(specification: str) -> str:
    found: str = vl_convert().vegalite_to_svg(specification)
    return found


def _painted(found: re.Match[str]) -> str:
    colour = NAMED.get(found[2], found[2].lower())
    return f'{found[1]}="var(--{THEME[colour]})"' if colour in THEME else found[0]
