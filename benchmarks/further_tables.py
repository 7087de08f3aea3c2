"""Six further tables of the league, with declarations that come from what such columns can hold, never from the rows.

Their targets were used for no constant of ours: scikit-learn's breast cancer, wine (one class against the rest) and
digits (3 against 8), crashes by night, stops for speeding, and a simulated table of rare yes/no columns.
"""

from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.tables import DATA, Task

__all__ = ["FURTHER"]

# (mean, error, worst) of ten measures of cell nuclei: round numbers above what a microscope shows
NUCLEI = {
    "radius": (30, 3, 40),
    "texture": (40, 5, 50),
    "perimeter": (200, 25, 260),
    "area": (2600, 600, 4300),
    "smoothness": (0.2, 0.04, 0.25),
    "compactness": (0.4, 0.15, 1.1),
    "concavity": (0.5, 0.4, 1.3),
    "concave points": (0.25, 0.06, 0.3),
    "symmetry": (0.4, 0.08, 0.7),
    "fractal dimension": (0.1, 0.03, 0.21),
}
# grams per litre, per cent, indices: what textbooks of oenology give
WINE = {
    "alcohol": (10, 16),
    "malic_acid": (0, 7),
    "ash": (1, 4),
    "alcalinity_of_ash": (8, 32),
    "magnesium": (60, 170),
    "total_phenols": (0, 5),
    "flavanoids": (0, 6),
    "nonflavanoid_phenols": (0, 1),
    "proanthocyanins": (0, 4),
    "color_intensity": (0, 14),
    "hue": (0, 2),
    "od280/od315_of_diluted_wines": (1, 5),
    "proline": (200, 2000),
}
CRASHES = ("region", "type", "weather", "drunk_driver", "multiple_deaths")
STOPS = ("region", "driver_gender", "driver_race", "driver_age_band", "weekday")
RARE, LENGTH = 200, 5_000


def breast_cancer() -> Task:
    frame = _bundled("breast_cancer")
    bounds = {
        name.format(measure): (0, top)
        for measure, tops in NUCLEI.items()
        for name, top in zip(("mean {}", "{} error", "worst {}"), tops, strict=True)
    }
    return _task("breast cancer", frame, {name: dc.Bounded(*ends) for name, ends in bounds.items()}, share=0.7)


def wine() -> Task:
    frame = _bundled("wine")
    return _task("wine", frame, {name: dc.Bounded(*ends) for name, ends in WINE.items()}, share=0.7)


def digits() -> Task:
    frame = _bundled("digits")
    frame = frame[frame["target"].isin((3, 8))]
    frame["target"] = (frame["target"] == 8).astype(int)
    pixels = [name for name in frame.columns if name != "target"]
    options = {"interval": (0, 1), "radius": 4.0}
    return _task("digits", frame, {name: dc.Bounded(0, 16) for name in pixels}, share=0.7, **options)


def crashes_by_night() -> Task:
    frame = pd.read_parquet(DATA / "fars_crashes_2013_2015.parquet")
    frame["target"] = frame["light"].isin(("dark_lit", "dark_unlit")).astype(int)
    return _task("crashes", frame, _levels(frame, CRASHES), share=4_000 / len(frame))


def stops_for_speeding() -> Task:
    frame = pd.read_parquet(DATA / "ms_traffic_stops_2013_2016.parquet")
    frame["target"] = (frame["violation"] == "speeding").astype(int)
    return _task("stops", frame, _levels(frame, STOPS), share=4_000 / len(frame))


def rare_columns() -> Task:
    """200 yes/no columns, each yes in 3% of the rows, every tenth of them with an effect of 2."""
    rng = np.random.default_rng(20)
    cells = rng.random((2 * LENGTH, RARE)) < 0.03
    effects = np.where(np.arange(RARE) % 10 == 0, 2.0 * (-1.0) ** (np.arange(RARE) // 10), 0.0)
    upper = rng.random(2 * LENGTH) < 1.0 / (1.0 + np.exp(-(cells @ effects)))
    frame = pd.DataFrame(cells.astype(int), columns=[f"x{j}" for j in range(RARE)]).assign(target=upper.astype(int))
    columns = {f"x{j}": dc.Bounded(0, 1) for j in range(RARE)}
    return _task("rare columns", frame, columns, share=0.5, interval=(0, 1), radius=4.0)


FURTHER = (breast_cancer, wine, digits, crashes_by_night, stops_for_speeding, rare_columns)


def _bundled(name: str) -> pd.DataFrame:
    from sklearn import datasets

    frame: pd.DataFrame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    return frame.copy()


def _levels(frame: pd.DataFrame, names: tuple[str, ...]) -> dict[str, Any]:
    """Levels are those of the published code book, spelled as in the file."""
    return {name: dc.Categorical(sorted(frame[name].astype(str).unique())) for name in names}


def _task(name: str, frame: pd.DataFrame, columns: dict[str, Any], share: float, **options: Any) -> Task:
    """Rows in a fixed order: this share of them to train on, at most 20,000 others to test on."""
    order = np.random.default_rng(1).permutation(len(frame))
    cut = round(share * len(frame))
    frame = frame.assign(target=np.where(frame["target"] == 1, "yes", "no"))
    train, test = frame.iloc[order[:cut]], frame.iloc[order[cut : cut + 20_000]]
    schema = dc.Schema({**columns, "target": dc.Categorical(["no", "yes"])})
    return Task(name, train, test, schema, dc.LogisticRegression("target", [*columns], **options))
