"""Draw docs/guides/logistic.svg: 90% intervals of logistic coefficients, private and not, on a simulated table.

python docs/logistic.py      needs the extra `report`

Every release is a simulation with a fixed seed, so the picture is the same each time; nothing is paid and nothing is
private here.
"""

from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from scipy.special import expit, ndtri

import discreet as dc

ROOT = Path(__file__).parents[1]
ROWS, PUBLIC, SEED, DELTA = 10_000, 4_000, 5, 1e-6
LABELS = ("not private", "scores, ε = 3", "scores, ε = 1", "scores, ε = 0.3", "one draw, ε = 1")
COLORS = ["#555555", "#0b6b62", "#2a9d8f", "#8ac5bd", "#e08e45"]
SCHEMA = dc.Schema(
    {
        "readmitted": dc.Binary(),
        "age": dc.Bounded(0, 110),
        "stay": dc.Bounded(0, 60),
        "pressure": dc.Bounded(50, 250),
        "visits": dc.Bounded(0, 20),
    }
)
MODEL = dc.LogisticRegression("readmitted", ["age", "stay", "pressure", "visits"])
TRUTH = np.array([0.5, 1.2, 2.0, -1.5, 1.0])  # per unit of the scaled features, the intercept first

Array = np.ndarray[Any, Any]


def main() -> None:
    """Compute all intervals, print them, and write the picture."""
    rng = np.random.default_rng(SEED)
    table, public = stays(ROWS, rng), stays(PUBLIC, rng)
    data = dc.open(table, SCHEMA, id="stays")
    found = [not_private(table)]
    for epsilon in (3.0, 1.0, 0.3):
        (release,) = dc.simulate(MODEL, data, dc.NoisyScore(epsilon=epsilon, delta=DELTA), runs=1, seed=SEED)
        posterior = release.posterior()
        found.append((posterior.mean(), np.transpose(posterior.interval(0.9))))
    (release,) = dc.simulate(MODEL, data, dc.GibbsPosterior(1.0, DELTA), runs=1, seed=SEED)
    draw = release.posterior()
    band = draw.interval(0.9, information=draw.information(public, n=ROWS))
    found.append((band.mean(axis=1), band))  # the draw itself is shrunk towards 0 by its temperature
    rows = []
    for label, (mean, interval) in zip(LABELS, found, strict=True):
        for name, centre, ends in zip(draw.names, mean, interval, strict=True):
            rows.append({"name": name, "label": label, "mean": centre, "lower": ends[0], "upper": ends[1]})
            print(f"{label:<16} {name:<10} {centre:8.3f}   {ends[0]:8.3f} to {ends[1]:8.3f}")
    charts = [
        panel([row for row in rows if row["name"] == name], name, truth, first=k == 0)
        for k, (name, truth) in enumerate(zip(draw.names, TRUTH, strict=True))
    ]
    picture = alt.hconcat(*charts, spacing=14).configure_view(stroke="#dddddd")
    picture.save(str(ROOT / "docs" / "guides" / "logistic.svg"))


def stays(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Skewed and correlated features, and a target that follows the model."""
    common = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "age": np.clip(60 + 18 * (0.6 * common + 0.8 * rng.normal(size=n)), 0, 110),
            "stay": np.clip(rng.gamma(1.5, 5.0, n), 0, 60),
            "pressure": np.clip(135 + 20 * (0.5 * common + 0.87 * rng.normal(size=n)), 50, 250),
            "visits": np.minimum(rng.poisson(4.0, n), 20).astype(float),
        }
    )
    return table.assign(readmitted=(rng.random(n) < expit(design(table) @ TRUTH)).astype(int))


def design(table: pd.DataFrame) -> Array:
    """The intercept and every number on its public interval."""
    columns = [np.ones(len(table))]
    for name in MODEL.features:
        bounds = SCHEMA.columns[name]
        columns.append((2.0 * table[name].to_numpy() - bounds.lower - bounds.upper) / (bounds.upper - bounds.lower))  # type: ignore[union-attr]
    return np.stack(columns, axis=1)


def not_private(table: pd.DataFrame) -> tuple[Array, Array]:
    """The most likely coefficients, by Newton's method, and their normal intervals."""
    z, y, w = design(table), table["readmitted"].to_numpy(), np.zeros(len(TRUTH))
    for _ in range(20):
        p = expit(z @ w)
        information = (z * (p * (1.0 - p))[:, np.newaxis]).T @ z
        w = w + np.linalg.solve(information, z.T @ (y - p))
    half = ndtri(0.95) * np.sqrt(np.diag(np.linalg.inv(information)))
    return w, np.stack([w - half, w + half], axis=1)


def panel(rows: list[dict[str, Any]], name: str, truth: float, *, first: bool) -> alt.LayerChart:
    """Intervals and means of one coefficient; the thin line is the truth."""
    labels = alt.Axis(labelFontSize=12, ticks=False, domain=False) if first else None
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("label:N", sort=LABELS, title=None, axis=labels),
        color=alt.Color("label:N", sort=LABELS, legend=None).scale(domain=LABELS, range=COLORS),
    )
    title = "log-odds" if name == "intercept" else "per scaled unit"
    axis = alt.Axis(tickCount=4, grid=True, gridColor="#eeeeee", labelFontSize=11, titleFontWeight="normal")
    scale = alt.Scale(zero=False, nice=False, padding=8)
    bars = base.mark_bar(height=9).encode(x=alt.X("lower:Q", title=title, scale=scale, axis=axis), x2="upper:Q")
    means = base.mark_tick(thickness=2, height=17).encode(x="mean:Q")
    line = alt.Chart(alt.Data(values=[{"truth": truth}])).mark_rule(strokeWidth=1, color="#999999").encode(x="truth:Q")
    return alt.layer(line, bars, means).properties(
        width=140, height=110, title=alt.TitleParams(name, fontWeight="normal")
    )


if __name__ == "__main__":
    main()
