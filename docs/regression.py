"""Draw docs/guides/regression.svg: 90% intervals of regression coefficients, private and not, on two tables.

python docs/regression.py [abalone.csv]      needs the extra `report`; without a path, ../shared/data/abalone.csv

Writes 300 MB to a temporary folder for the ten million rows, and takes one or two minutes once the kernels are
compiled, most of it for the chains of six posteriors. Every release is a simulation with a fixed seed, so the picture
is the same each time; nothing is paid and nothing is private here.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.stats import t as student

import discreet as dc

ROOT = Path(__file__).parents[1]
EPSILONS = (10.0, 1.0, 0.1)
LEVEL, SEED = 0.9, 1
LABELS = ("not private", *(f"ε = {epsilon:g}" for epsilon in EPSILONS))

# Lengths are in 200 mm and weights in 200 g; no abalone weighs less than nothing.
ABALONE = dc.Schema({"length": dc.Bounded(0, 1), "shell_weight": dc.Bounded(0, 1), "rings": dc.Bounded(0, 30)})
RINGS = dc.LinearRegression("rings", ("length", "shell_weight"))

ROWS, CHUNK = 10_000_000, 500_000
ADULTS = dc.Schema(
    {
        "age": dc.Bounded(0, 100),
        "bmi": dc.Bounded(8, 44),
        "cholesterol": dc.Bounded(0, 10),
        "pressure": dc.Bounded(50, 210),
    }
)
MEANS, SDS, CORRELATION = np.array([50.0, 26.0, 5.2]), np.array([12.0, 4.0, 1.0]), 0.3
TRUTH, ERROR_SD = np.array([60.0, 0.5, 1.0, 3.0]), 13.0
PRESSURE = dc.LinearRegression("pressure", ("age", "bmi", "cholesterol"))

UNITS = {
    "rings": {"intercept": "rings", "length": "rings per 200 mm", "shell_weight": "rings per 200 g"},
    "pressure": {
        "intercept": "mmHg",
        "age": "mmHg per year",
        "bmi": "mmHg per kg/m²",
        "cholesterol": "mmHg per mmol/l",
    },
}

Row = dict[str, Any]
Array = np.ndarray[Any, Any]


def main() -> None:
    """Compute all intervals, print them, and write the picture."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT.parent / "shared" / "data" / "abalone.csv"
    abalone = intervals(RINGS, dc.open(path, ABALONE, id="abalone"))
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "adults.parquet"
        write_adults(rows)
        adults = intervals(PRESSURE, dc.open(rows, ADULTS, id="adults"))
    picture = alt.vconcat(
        panels(abalone, "rings of 4,177 abalones", UNITS["rings"]),
        panels(adults, "blood pressure in 10,000,000 synthetic rows", UNITS["pressure"]),
        spacing=30,
    ).configure_view(stroke="#dddddd")
    picture.save(str(ROOT / "docs" / "guides" / "regression.svg"))


def write_adults(path: Path) -> None:
    """Ten million rows of the model itself, chunk by chunk."""
    rng = np.random.default_rng(SEED)
    shared, own = np.sqrt(CORRELATION), np.sqrt(1.0 - CORRELATION)
    names = [pa.field(name, pa.float64()) for name in ADULTS.columns]
    with pq.ParquetWriter(path, pa.schema(names)) as writer:
        for _ in range(ROWS // CHUNK):
            common = rng.standard_normal((CHUNK, 1))
            features = MEANS + SDS * (shared * common + own * rng.standard_normal((CHUNK, 3)))
            pressure = TRUTH[0] + features @ TRUTH[1:] + ERROR_SD * rng.standard_normal(CHUNK)
            writer.write_table(pa.table([*features.T, pressure], schema=pa.schema(names)))


def intervals(model: dc.LinearRegression, data: dc.Dataset) -> list[Row]:
    """The mean and the 90% interval of every coefficient: of the conjugate posterior, then of one release each."""
    names = model.coefficient_names(data.schema)
    found = list(zip(names, *conjugate(model, data), strict=True))
    rows = [row(LABELS[0], *each) for each in found]
    for label, epsilon in zip(LABELS[1:], EPSILONS, strict=True):
        (release,) = dc.simulate(model, data, dc.NoisyStatistics(epsilon=epsilon), runs=1, seed=SEED)
        posterior = release.posterior()
        lower, upper = posterior.interval(LEVEL)["coefficients"]
        rows += [row(label, *each) for each in zip(names, lower, posterior.mean()["coefficients"], upper, strict=True)]
        print(f"{data.id}, {label}: R-hat at most {np.max(posterior.rhat()['coefficients']):.3f}", flush=True)
    for name, label, lower, mean, upper in (tuple(each.values()) for each in rows):
        print(f"{data.id:<8} {name:<13} {label:<12} {mean:9.4f}   {lower:9.4f} to {upper:9.4f}")
    return rows


def conjugate(model: dc.LinearRegression, data: dc.Dataset) -> tuple[Array, Array, Array]:
    """Lower ends, means and upper ends without privacy: the coefficients have Student laws of 2 · shape degrees."""
    mean, precision, shape, scale = (np.asarray(each) for each in model.updated(data).prior or ())
    spread = np.sqrt(np.diag(np.linalg.inv(precision)) * scale / shape)
    reach = student.ppf(0.5 + LEVEL / 2, 2 * shape) * spread
    return mean - reach, mean, mean + reach


def row(label: str, name: str, lower: float, mean: float, upper: float) -> Row:
    """One interval as the picture reads it."""
    return {"name": name, "label": label, "lower": float(lower), "mean": float(mean), "upper": float(upper)}


def panels(rows: list[Row], title: str, units: dict[str, str]) -> alt.HConcatChart:
    """One panel for each coefficient, each on its own scale; the thin line is the mean without privacy."""
    charts = []
    for name, unit in units.items():
        charts.append(panel([each for each in rows if each["name"] == name], name, unit, first=not charts))
    return alt.hconcat(*charts, spacing=14).properties(title=alt.TitleParams(title, anchor="start", fontSize=14))


def panel(rows: list[Row], name: str, unit: str, *, first: bool) -> alt.LayerChart:
    """Intervals and means of one coefficient, from no noise at the top to the most at the bottom."""
    labels = alt.Axis(labelFontSize=12, ticks=False, domain=False) if first else None
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("label:N", sort=LABELS, title=None, axis=labels),
        color=alt.Color("label:N", sort=LABELS, legend=None).scale(
            domain=LABELS, range=["#555555", "#0b6b62", "#2a9d8f", "#e08e45"]
        ),
    )
    axis = alt.Axis(
        tickCount=4, grid=True, gridColor="#eeeeee", format="~f", labelFontSize=11, titleFontWeight="normal"
    )
    scale = alt.Scale(zero=False, nice=False, padding=8)
    bars = base.mark_bar(height=9).encode(x=alt.X("lower:Q", title=unit, scale=scale, axis=axis), x2="upper:Q")
    means = base.mark_tick(thickness=2, height=17).encode(x="mean:Q")
    line = alt.Chart(alt.Data(values=rows[:1])).mark_rule(strokeWidth=1, color="#999999").encode(x="mean:Q")
    heading = alt.TitleParams(name.replace("_", " "), fontWeight="normal", fontSize=12, dy=-2)
    return alt.layer(line, bars, means).properties(width=165, height=104, title=heading)


if __name__ == "__main__":
    main()
