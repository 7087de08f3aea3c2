"""The parts of a picture as data: lines with bands over a named axis, maps of states, bars of profiles.

A panel draws itself as an Altair chart (extra `report`); lines differ by dash as well as by colour, so that a print
without colours can be read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from discreet.report.charts import profile_bars, state_map, tiles
from discreet.report.look import COLOURS, INK

__all__ = ["Curves", "Line", "Panel", "ProfilePanel", "StateTiles", "picture"]

DASHES = ((1, 0), (7, 3), (2, 2), (9, 3, 2, 3), (4, 2), (12, 4), (1, 3), (6, 2, 1, 2, 1, 2), (3, 6), (10, 2))
WIDTH, HEIGHT = 380, 240
ROOM = 45  # to the right of the last legend


class Panel(Protocol):
    """What a picture is made of."""

    def chart(self) -> Any:
        """The panel as an Altair chart."""


@dataclass(frozen=True, eq=False)
class Line:
    """One named curve; `low` and `high` are its band, `points` shows where it was computed."""

    name: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    points: bool = False


@dataclass(frozen=True, eq=False)
class Curves:
    """Lines over one axis; `levels` are named horizontal rules, such as a limit or what is reached without privacy."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    levels: Mapping[str, float] = field(default_factory=dict)

    def chart(self) -> Any:
        """Bands, lines and points in layers, with one legend."""
        import altair as alt

        names = [line.name for line in self.lines] + list(self.levels)
        at = alt.X("x:Q", title=self.x, scale=_scale(self.log_x), axis=alt.Axis(tickCount=6, format=".6~g"))
        height = alt.Y("y:Q", title=self.y, scale=_scale(self.log_y), axis=alt.Axis(tickCount=6, format=".6~g"))
        key = alt.Legend(
            symbolType="stroke", symbolStrokeWidth=2.5, symbolSize=260, symbolOpacity=1, labelLimit=280, title=None
        )
        used = [COLOURS[k % len(COLOURS)] for k in range(len(names))]
        colour = alt.Color("name:N", sort=names, scale=alt.Scale(domain=names, range=used), legend=key)
        dash = alt.StrokeDash(
            "name:N",
            sort=names,
            scale=alt.Scale(domain=names, range=[list(DASHES[k % len(DASHES)]) for k in range(len(names))]),
            legend=key,
        )
        base = alt.Chart(alt.InlineData(values=self._points()))
        banded = [line.name for line in self.lines if line.low is not None]
        layers = []
        if banded:
            ends = {"y": alt.Y("low:Q", scale=_scale(self.log_y)), "y2": alt.Y2("high:Q")}
            shown = alt.FieldOneOfPredicate("name", banded)
            layers.append(base.transform_filter(shown).mark_area(opacity=0.18).encode(x=at, color=colour, **ends))
        layers.append(base.mark_line(strokeWidth=2.2, clip=True).encode(at, height, colour, dash))
        dotted = [line.name for line in self.lines if line.points]
        if dotted:
            shown = alt.FieldOneOfPredicate("name", dotted)
            layers.append(base.transform_filter(shown).mark_point(filled=True, size=30).encode(at, height, colour))
        if self.levels:
            rules = alt.Chart(alt.InlineData(values=[{"name": name, "y": y} for name, y in self.levels.items()]))
            layers.append(rules.mark_rule(strokeWidth=1.6, color=INK).encode(height, colour, dash))
        return alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=self.title)

    def _points(self) -> list[dict[str, Any]]:
        """Finite points only: where a curve is infinite it ends."""
        found = []
        for line in self.lines:
            x, y = np.asarray(line.x, dtype=float), np.asarray(line.y, dtype=float)
            low = y if line.low is None else np.asarray(line.low, dtype=float)
            high = y if line.high is None else np.asarray(line.high, dtype=float)
            usable = np.isfinite(x) & np.isfinite(y) & ((y > 0) | (not self.log_y)) & ((x > 0) | (not self.log_x))
            found += [
                {"name": line.name, "x": x[i], "y": y[i], "low": low[i], "high": high[i]}
                for i in np.flatnonzero(usable).tolist()
            ]
        return [{key: v if isinstance(v, str) else float(v) for key, v in point.items()} for point in found]


@dataclass(frozen=True, eq=False)
class StateTiles:
    """A map of states, one tile for each region and month."""

    title: str
    states: ArrayLike
    regions: Sequence[str]
    months: Sequence[str]

    def chart(self) -> Any:
        """As reports draw it."""
        return state_map(self.states, self.regions, self.months, title=self.title)


@dataclass(frozen=True, eq=False)
class ProfilePanel:
    """For every field the probabilities of its levels in every state."""

    title: str
    profiles: Mapping[str, ArrayLike]
    levels: Mapping[str, Sequence[str]]

    def chart(self) -> Any:
        """As reports draw it."""
        return profile_bars(self.profiles, self.levels, title=self.title)


def picture(panels: Sequence[Panel], columns: int = 2) -> Any:
    """All panels as one chart; every panel has its own legend, in which colour and dash are one sign."""
    import altair as alt

    plain = []
    for panel in panels:
        chart = panel.chart().copy()
        chart.config = alt.Undefined  # the look is set on the whole
        plain.append(chart)
    whole = alt.concat(*plain, columns=columns, spacing=28)
    apart: dict[str, Any] = dict.fromkeys(("color", "strokeDash", "x", "y"), "independent")
    drawn = tiles(whole.resolve_scale(**apart), columns=1)
    # a reader's font may be wider than the one that the legends were measured with
    return drawn.properties(padding={"left": 5, "top": 5, "bottom": 5, "right": ROOM})


def _scale(logarithmic: bool) -> Any:
    import altair as alt

    return alt.Scale(type="log", nice=False) if logarithmic else alt.Scale(zero=False)
