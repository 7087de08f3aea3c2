"""What was promised, in words, as a sentence for a privacy officer, and as its curve."""

import math
from typing import Any

from discreet.guarantee import Guarantee, Suspicion, suspicion
from discreet.report.look import COLOURS, altair, styled
from discreet.report.markup import facts, number, paragraph, text
from discreet.report.pictures import Picture
from discreet.report.vector import figure

__all__ = ["curve_picture", "guarantee_section", "officer"]

BEFORE = 0.1
EXPONENTS = range(-12, 0)  # of the deltas of the curve


def guarantee_section(guarantee: Guarantee, notice: str, place: str) -> str:
    """The whole part of a page."""
    basis = guarantee.basis
    change = "replaced by any other" if basis.relation == "replace-one" else "added or removed"
    lines = [
        ("Between", text(f"any two tables of the declared columns that differ in one {basis.unit}, {change}", 600)),
        ("Theorem", text(basis.theorem or "as each part names it", 600)),
        ("Sampler", text(basis.sampler or "as each part names it", 1000)),
        (
            "Conditions",
            "Everything declared (columns, bounds, levels, the number of rows where it is declared public, model and "
            "prior) was chosen without looking at the rows. Releases about the same people add up: the ledger says to "
            "what. What the table as a whole says of people in general is not hidden: to learn that was the purpose.",
        ),
    ]
    lines += [("Notice", text(notice, 1000))] if notice else []
    return (
        f'{officer(suspicion(guarantee, BEFORE))}<div class="split"><div>{paragraph(guarantee.words())}{facts(lines)}'
        f"</div>{figure(curve_picture(guarantee), place)}</div>"
    )


def officer(found: Suspicion, seen: str = "this release") -> str:
    """The sentence for a privacy officer, with both beliefs as bars."""
    bars = "".join(
        f'<span>{words}</span><span class="bar" aria-hidden="true"><i{kind} style="width:{100 * share:.4g}%"></i>'
        f"</span><span>{'at most ' if words == 'after' else ''}{_percent(share)}</span>"
        for words, share, kind in (("before", found.before, " class='before'"), ("after", found.after, ""))
    )
    what = (
        "The suspicion may be anything about that one: a cell, or all of them."
        if found.relation == "replace-one"
        else "The suspicion is that the one took part."
    )
    said = paragraph(found.by_seeing(seen))
    return f'<div class="officer">{said}<div class="beliefs">{bars}</div>{paragraph(what)}</div>'


def curve_picture(guarantee: Guarantee) -> Picture:
    """The curve of epsilon over delta."""
    points = [(10.0**k, guarantee.epsilon(10.0**k)) for k in EXPONENTS]
    pure = guarantee.epsilon(0.0)
    rows = [("0", pure), *((f"1e{k}", epsilon) for k, (_, epsilon) in zip(EXPONENTS, points, strict=True))]
    always = f" Without any delta, epsilon = {number(pure)}." if math.isfinite(pure) else " It has no pure epsilon."
    return Picture(
        "The guarantee as epsilon at every delta",
        "The smaller delta is chosen, the larger is the epsilon that this release keeps. One guarantee, many ways to "
        f"write it.{always}",
        lambda: _curve(points),
        ("delta", "epsilon"),
        tuple(rows),
    )


def _curve(points: list[tuple[float, float]]) -> Any:
    alt = altair()
    values = [{"delta": delta, "epsilon": epsilon} for delta, epsilon in points if math.isfinite(epsilon)]
    base = alt.Chart(alt.InlineData(values=values))
    x = alt.X(
        "delta:Q", title="δ", scale=alt.Scale(type="log"), axis=alt.Axis(format=".0e", values=[1e-12, 1e-9, 1e-6, 1e-3])
    )
    y = alt.Y("epsilon:Q", title="ε", scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=5, format=",~r"))
    mark = base.mark_line(strokeWidth=2, color=COLOURS[0]).encode(x, y)
    dots = base.mark_point(filled=True, size=26, color=COLOURS[0], opacity=1).encode(x, y)
    return styled(alt.layer(mark, dots).properties(width=300, height=150))


def _percent(share: float) -> str:
    return f"{math.ceil(share * 1000) / 10:g}%"
