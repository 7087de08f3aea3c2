"""Charts of hidden states and of predictions: public or released numbers in, an Altair chart out.

Charts need the extra `report`. A state has the same colour in every chart. `save` writes them without a network.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import QueryError
from discreet.report.look import COLOURS, INK, altair, styled

__all__ = ["held_out_curves", "profile_bars", "save", "state_map", "tiles"]

LABELLED_TIMES = 12  # months named along the axis


def state_map(states: ArrayLike, regions: Sequence[str], times: Sequence[str], *, title: str = "") -> Any:
    """One tile for each region and time, in the colour of its state; states count from 0, and are shown from 1."""
    alt = altair()
    grid = np.asarray(states)
    if grid.shape != (len(regions), len(times)):
        raise QueryError(f"state_map states must be {len(regions)} regions × {len(times)} times, got {grid.shape}")
    values = [
        {"region": region, "time": time, "state": _name(grid[r, t])}
        for r, region in enumerate(regions)
        for t, time in enumerate(times)
    ]
    used = sorted({int(state) for state in grid.ravel()})
    chart = (
        alt.Chart(_data(values), title=title)
        .mark_rect(stroke="white", strokeWidth=0.6)
        .encode(
            alt.X("time:O", sort=list(times), title=None, axis=_time_axis(times)),
            alt.Y("region:O", sort=list(regions), title=None),
            _colour(used),
            tooltip=["region:N", "time:N", "state:N"],
        )
    )
    return styled(chart.properties(width=max(260, 11 * len(times)), height=max(60, 16 * len(regions))))


def profile_bars(
    profiles: Mapping[str, ArrayLike],
    levels: Mapping[str, Sequence[str]],
    *,
    title: str = "",
    columns: int = 3,
    states: Sequence[int] | None = None,
) -> Any:
    """For every field one chart of bars: the probability of each level in each state, (states, levels).

    `states` are the numbers of the states where some are left out.
    """
    alt = altair()
    rows = []
    for field, table in profiles.items():
        shown = range(len(np.asarray(table))) if states is None else states
        values = [
            {"level": level, "state": _name(k), "share": float(share)}
            for k, row in zip(shown, np.asarray(table, dtype=float), strict=True)
            for level, share in zip(levels[field], row, strict=True)
        ]
        bars = (
            alt.Chart(_data(values), title=field)
            .mark_bar()
            .encode(
                alt.X("level:N", sort=list(levels[field]), title=None, axis=alt.Axis(labelAngle=-35, labelLimit=130)),
                alt.XOffset("state:N", sort=[_name(k) for k in shown]),
                alt.Y("share:Q", title="probability", axis=alt.Axis(format=".0%", tickCount=4)),
                _colour(shown),
                tooltip=["level:N", "state:N", alt.Tooltip("share:Q", format=".1%")],
            )
        )
        rows.append(bars.properties(width=max(120, 13 * len(levels[field]) * len(shown)), height=110))
    return styled(alt.concat(*rows, columns=columns, title=title, spacing=18))


def held_out_curves(
    curves: Mapping[str, Sequence[tuple[float, float, float, float]]],
    *,
    title: str = "",
    reference: float | None = None,
    measure: str = "held-out log-likelihood per event",
) -> Any:
    """Lines over epsilon with bands: for every method (epsilon, mean, lower, upper); `reference` is a dashed line."""
    alt = altair()
    values = [
        {"epsilon": e, "mean": mean, "low": low, "high": high, "method": method}
        for method, points in curves.items()
        for e, mean, low, high in points
    ]
    colour = (
        alt.Color(
            "method:N", sort=list(curves), scale=alt.Scale(domain=list(curves), range=list(COLOURS[: len(curves)]))
        )
        .title(None)
        .legend(symbolOpacity=1)
    )
    base = alt.Chart(_data(values), title=title)
    x = alt.X("epsilon:Q", scale=alt.Scale(type="log"), title="ε", axis=alt.Axis(tickCount=6, format="~g"))
    axis = alt.Y("mean:Q", scale=alt.Scale(zero=False), title=measure)
    layers: list[Any] = [
        base.mark_area(opacity=0.16).encode(x, alt.Y("low:Q", scale=alt.Scale(zero=False)), alt.Y2("high:Q"), colour),
        base.mark_line(strokeWidth=2).encode(x, axis, colour),
        base.mark_point(filled=True, size=34).encode(x, axis, colour),
    ]
    if reference is not None:
        rule = alt.Chart(_data([{"mean": reference}]))
        layers.append(rule.mark_rule(strokeDash=[5, 4], color=INK).encode(alt.Y("mean:Q")))
    return styled(alt.layer(*layers).properties(width=420, height=260))


def tiles(*charts: Any, columns: int = 2) -> Any:
    """Several charts as one picture, row by row."""
    alt = altair()
    plain = [_plain(chart) for chart in charts]
    return styled(alt.concat(*plain, columns=columns, spacing=28).resolve_scale(color="independent", x="independent"))


def save(chart: Any, path: str | Path) -> Path:
    """Write a chart as .svg, .png or a self-contained .html that opens without a network."""
    target = Path(path)
    every: dict[str, dict[str, Any]] = {".svg": {}, ".png": {"scale_factor": 2}, ".html": {"inline": True}}
    if target.suffix not in every:
        raise QueryError(f"save path must end in .svg, .png or .html, got {target.name!r}")
    if not hasattr(chart, "to_dict"):
        raise QueryError(f"save chart must be a chart of dc.plots, got a {type(chart).__name__}")
    if not target.parent.is_dir():
        raise QueryError(
            f"save path must be in a folder that is there, got {str(target)!r}: make {str(target.parent)!r}"
        )
    try:
        chart.save(str(target), **every[target.suffix])
    except OSError as problem:
        raise QueryError(
            f"save path must be a file that can be written, got {str(target)!r}: {problem.strerror}"
        ) from None
    return target


def _data(values: list[dict[str, Any]]) -> Any:
    alt = altair()
    return alt.InlineData(values=values)


def _name(state: Any) -> str:
    return f"state {int(state) + 1}"


def _colour(states: Sequence[int]) -> Any:
    """The colours of these states, wherever else they are shown; after ten states colours come again."""
    alt = altair()
    names = [_name(k) for k in states]
    return alt.Color(
        "state:N", title=None, scale=alt.Scale(domain=names, range=[COLOURS[k % len(COLOURS)] for k in states])
    )


def _time_axis(times: Sequence[str]) -> Any:
    alt = altair()
    every = next((step for step in (1, 2, 3, 6, 12) if step * LABELLED_TIMES >= len(times)), 24)
    return alt.Axis(values=list(times)[::every], labelAngle=-35, labelOverlap=False)


def _plain(chart: Any) -> Any:
    """The chart without its look, as a part of another that has one."""
    alt = altair()
    found = chart.copy()
    found.config = alt.Undefined
    return found
