"""Charts of quantities: densities, intervals, released draws, pairs, and checks against what was released.

Three layers mean the same everywhere: the posterior in blue, the prior as a pale ground, and as a dashed ghost in red
the plug-in posterior, which ignores the privacy noise.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.report.look import COLOURS, INK, RULE, altair, styled
from discreet.report.quantities import Quantity
from discreet.visible import visible

__all__ = ["density_chart", "draws_chart", "interval_chart", "pairs_chart", "row_chart", "short_names"]

POSTERIOR, PLUG_IN, PRIOR = COLOURS[0], COLOURS[1], "#c9c4b8"
WIDTH, HEIGHT, STEP = 300, 150, 20
LONGEST_LABEL, MOST_ROWS = 24, 60
POINTS = 121
TALLEST = 2.5  # times the posterior
SEEN = 2e-3  # of the peak: where a curve is drawn
MOST_PAIRS, PAIR_DRAWS = 4, 300
WIDER = 1.1  # pixels a letter
FEW_DRAWS = 1.6  # a few hundred draws are smoothed more: what is seen is not their accident

Array = NDArray[np.float64]


def short_names(names: Sequence[str], longest: int = LONGEST_LABEL) -> list[str]:
    """Names that fit beside a chart, still all different."""
    found: list[str] = []
    for name in names:
        short = name if len(name) <= longest else f"{name[: longest - 1]}…"
        again = 2
        while short in found:
            short = f"{name[: longest - 4]}… {again}"
            again += 1
        found.append(short)
    return found


def density_chart(
    quantity: Quantity, plug_in: Quantity | None = None, prior: Array | None = None, *, title: str = ""
) -> Any:
    """The density of one number over that of its prior; `prior` are draws."""
    alt = altair()
    grid = _grid(quantity, plug_in)
    curves = {} if prior is None else {"prior": _smooth(prior, grid, FEW_DRAWS)}
    curves["posterior"] = _density(quantity, grid)
    if plug_in is not None:
        curves["plug-in"] = _density(plug_in, grid)
    highest = TALLEST * curves["posterior"].max()  # a ghost that is far too sure is cut at the top
    curves = {name: np.minimum(curve, highest) for name, curve in curves.items()}
    shown = np.zeros(grid.size, dtype=bool)
    for name, curve in curves.items():
        if name != "prior":
            shown |= curve > SEEN * curve.max()
    first, last = np.flatnonzero(shown)[[0, -1]]
    values = [
        {"x": float(x), "y": float(y), "curve": name}
        for name, curve in curves.items()
        for x, y in zip(grid[first : last + 1], curve[first : last + 1], strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=values))
    x = alt.X("x:Q", title=None, scale=alt.Scale(zero=False, nice=False), axis=alt.Axis(tickCount=5, format=",~r"))
    y = alt.Y("y:Q", title=None, axis=None)
    colour = _key(alt, list(curves))
    layers = []
    for name in curves:
        own = base.transform_filter(alt.FieldEqualPredicate(field="curve", equal=name))
        if name == "plug-in":
            layers.append(own.mark_line(strokeWidth=1.6, strokeDash=[5, 3]).encode(x, y, colour))
        else:
            layers.append(own.mark_area(opacity=0.5 if name == "prior" else 0.28).encode(x, y, colour))
        if name == "posterior":
            layers.append(own.mark_line(strokeWidth=2).encode(x, y, colour))
    if quantity.outer is not None:
        layers += _rules(alt, quantity)
    return styled(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, title=title))


def interval_chart(
    quantity: Quantity,
    plug_in: Quantity | None = None,
    prior: tuple[Array, Array] | None = None,
    *,
    title: str = "",
    zero: bool | None = None,
) -> Any:
    """A row for each number: its interval, the half of it, and its mean; `zero` marks where nothing would be."""
    alt = altair()
    count = min(len(quantity.labels), MOST_ROWS)
    names = short_names([visible(name) for name in quantity.rows[:count]])
    row = alt.Y("row:N", sort=names, title=None, axis=alt.Axis(labelLimit=220, ticks=False, domain=False))
    x = alt.X("low:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5, format=",~r"))

    def spans(ends: Any, layer: str) -> Any:
        values = [
            {"row": name, "low": float(low), "high": float(high), "curve": layer}
            for name, low, high in zip(names, ends[0][:count], ends[1][:count], strict=True)
            if np.isfinite(low) and np.isfinite(high)
        ]
        return alt.Chart(alt.InlineData(values=values))

    def points(held: Quantity, layer: str) -> Any:
        values = [
            {"row": name, "low": float(mean), "curve": layer}
            for name, mean in zip(names, held.mean[:count], strict=True)
        ]
        return alt.Chart(alt.InlineData(values=values))

    layer = "released draws, average" if quantity.released else "posterior"
    used = [*(["prior"] if prior is not None else []), layer, *(["plug-in"] if plug_in is not None else [])]
    colour, layers = _key(alt, used), []
    if prior is not None:
        layers.append(spans(prior, "prior").mark_bar(height=11, opacity=0.45).encode(x, row, colour, x2="high:Q"))
    if quantity.kind == "coefficients" if zero is None else zero:
        rule = alt.Chart(alt.InlineData(values=[{"low": 0.0}]))
        layers.append(rule.mark_rule(color=INK, strokeDash=[2, 2]).encode(x))
    if quantity.outer is not None:
        layers.append(spans(quantity.outer, layer).mark_rule(strokeWidth=1.8).encode(x, row, colour, x2="high:Q"))
    if quantity.inner is not None:
        layers.append(spans(quantity.inner, layer).mark_rule(strokeWidth=5).encode(x, row, colour, x2="high:Q"))
    if quantity.kind == "check":
        layers.append(points(quantity, layer).mark_point(filled=True, size=52, opacity=1, color=INK).encode(x, row))
    else:
        layers.append(points(quantity, layer).mark_point(filled=True, size=42, opacity=1).encode(x, row, colour))
    if plug_in is not None and plug_in.outer is not None:
        below = {"yOffset": 6, "opacity": 0.9}
        layers.append(
            spans(plug_in.outer, "plug-in")
            .mark_rule(strokeWidth=1.2, strokeDash=[4, 2], **below)
            .encode(x, row, colour, x2="high:Q")
        )
        layers.append(points(plug_in, "plug-in").mark_point(size=18, strokeWidth=1.2, **below).encode(x, row, colour))
    return row_chart(alt.layer(*layers).properties(width=230), names, title)


def draws_chart(quantity: Quantity, *, title: str = "") -> Any:
    """Every released draw as a stroke: they spread by the temperature as well as by what the data leave open."""
    alt = altair()
    assert quantity.draws is not None
    count = min(len(quantity.labels), MOST_ROWS)
    names = short_names([visible(name) for name in quantity.rows[:count]])
    every = max(1, len(quantity.draws) // 100)
    values = [
        {"row": name, "x": float(x)}
        for k, name in enumerate(names)
        for x in quantity.draws[::every, k]
        if np.isfinite(x)
    ]
    chart = alt.Chart(alt.InlineData(values=values)).mark_tick(color=POSTERIOR, thickness=1.6, height=13)
    x = alt.X("x:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5, format=",~r"))
    row = alt.Y("row:N", sort=names, title=None, axis=alt.Axis(labelLimit=220, ticks=False, domain=False))
    return row_chart(chart.encode(x, row).properties(width=230), names, title)


def pairs_chart(columns: Mapping[str, Array], *, title: str = "") -> Any:
    """Joint draws of a few numbers, each against each."""
    alt = altair()
    if not 2 <= len(columns) <= MOST_PAIRS:
        raise QueryError(f"pairs must be of 2 to {MOST_PAIRS} numbers, got {len(columns)}: name them")
    names = short_names([visible(name) for name in columns])
    size = min(PAIR_DRAWS, *(len(values) for values in columns.values()))
    values = [
        {f"n{k}": float(x) for k, x in enumerate(drawn)}
        for drawn in zip(*(held[:size] for held in columns.values()), strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=values)).mark_circle(size=14, opacity=0.35, color=POSTERIOR)
    axis = {"scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=4, format=",~r")}
    charts = [
        base.encode(alt.X(f"n{j}:Q", title=names[j], **axis), alt.Y(f"n{i}:Q", title=names[i], **axis)).properties(
            width=150, height=150
        )
        for i in range(1, len(names))
        for j in range(i)
    ]
    return styled(alt.concat(*charts, columns=2, title=title))


def row_chart(chart: Any, names: Sequence[str], title: str = "") -> Any:
    """A row for each name; pages have wider letters than those that measured them."""
    found = styled(chart.properties(height=altair().Step(STEP), title=title))
    found.config["padding"] = {"left": 6 + WIDER * max(map(len, names)), "right": 14, "top": 4, "bottom": 4}
    return found


def _key(alt: Any, used: list[str]) -> Any:
    """The colours of the layers that are there, named below the chart where there are several."""
    colours = {"prior": PRIOR, "plug-in": PLUG_IN}
    scale = alt.Scale(domain=used, range=[colours.get(name, POSTERIOR) for name in used])
    key = alt.Legend(orient="bottom", title=None, direction="horizontal", symbolType="square", symbolOpacity=1)
    return alt.Color("curve:N", scale=scale, sort=used, legend=key if len(used) > 1 else None)


def _rules(alt: Any, quantity: Quantity) -> list[Any]:
    """The interval on the floor of a density, its half thicker, and the mean."""
    found = []
    for ends, width in ((quantity.outer, 2.0), (quantity.inner, 6.0)):
        if ends is not None and np.all(np.isfinite([ends[0][0], ends[1][0]])):
            data = alt.InlineData(values=[{"x": float(ends[0][0]), "high": float(ends[1][0])}])
            found.append(
                alt.Chart(data)
                .mark_rule(strokeWidth=width, color=POSTERIOR, y=HEIGHT - 4)
                .encode(alt.X("x:Q"), alt.X2("high:Q"))
            )
    data = alt.InlineData(values=[{"x": float(quantity.mean[0])}])
    mark = {"filled": True, "size": 46, "color": POSTERIOR, "stroke": RULE, "opacity": 1.0}
    return [*found, alt.Chart(data).mark_point(**mark, y=HEIGHT - 4).encode(alt.X("x:Q"))]


def _grid(quantity: Quantity, plug_in: Quantity | None) -> Array:
    ends = []
    for held in (quantity, plug_in):
        if held is None:
            continue
        if held.outer is not None and np.all(np.isfinite([held.outer[0][0], held.outer[1][0]])):
            low, high = float(held.outer[0][0]), float(held.outer[1][0])
            ends += [low - 0.8 * (high - low), high + 0.8 * (high - low)]
        elif held.draws is not None:
            ends += [float(np.min(held.draws)), float(np.max(held.draws))]
    low, high = min(ends), max(ends)
    if low == high:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, POINTS)


def _density(quantity: Quantity, grid: Array) -> Array:
    if quantity.density is not None:
        with np.errstate(all="ignore"):
            exact = np.asarray(quantity.density(grid), dtype=float)
        if np.all(np.isfinite(exact)) and exact.max() > 0:
            return exact
    assert quantity.draws is not None
    return _smooth(quantity.draws[:, 0], grid)


def _smooth(draws: Array, grid: Array, wider: float = 1.0) -> Array:
    """A density of draws; what a kernel carries over the ends of the draws is folded back."""
    draws = np.asarray(draws, dtype=float)
    draws = draws[np.isfinite(draws)]
    spread = min(float(draws.std()), float(np.subtract(*np.quantile(draws, [0.75, 0.25]))) / 1.34 or np.inf)
    width = max(0.9 * wider * spread * draws.size**-0.2, 1e-9 * max(1.0, float(np.abs(draws).max())), 1e-300)
    low, high = float(draws.min()), float(draws.max())

    def kernel(points: Array) -> Array:
        found = np.zeros(points.size)
        for part in np.array_split(draws, max(1, draws.size // 1000)):
            found += np.exp(-0.5 * ((points[:, np.newaxis] - part) / width) ** 2).sum(axis=1)
        return np.asarray(found / (draws.size * width * np.sqrt(2 * np.pi)))

    inside = (grid >= low) & (grid <= high)
    found = kernel(grid) + kernel(2 * low - grid) + kernel(2 * high - grid)
    return np.asarray(np.where(inside, found, 0.0))
