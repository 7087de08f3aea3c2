"""The three tables of Figures 3 and 4: a label, features with public bounds, rows to learn from and rows to predict.

Abalone's rings are cut at 10; digits are pooled to 7 × 7; Adult keeps five numbers and two categories of few levels.
Without the files a made-up table of the same number of rows and columns takes their place.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.models import LogisticRegression
from discreet.numerics.arrays import Array
from discreet.schema import Binary, Bounded, Categorical, Schema
from discreet.studies.paper_tables import PaperTables

__all__ = ["ABALONE", "ADULT", "DIGITS", "LabelledSource", "LabelledTable"]

TARGET = "label"
Columns = dict[str, Any]


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Rows to learn from and to predict, as frames and as matrices whose rows, with a 1 for the intercept, are ≤ 1."""

    title: str
    schema: Schema
    learned: Any = field(repr=False)
    predicted: Any = field(repr=False)
    synthetic: bool

    def model(self) -> LogisticRegression:
        """The library's model of all features."""
        return LogisticRegression(TARGET, tuple(name for name in self.schema.columns if name != TARGET))

    def matrix(self, frame: Any) -> tuple[Array, Array]:
        """Features on [-1, 1] and levels as zeros and ones, divided by their largest length; labels 0 and 1."""
        parts, largest = [np.ones((len(frame), 1))], 1.0
        for name, column in self.schema.columns.items():
            if isinstance(column, Bounded):
                low, high = float(column.lower), float(column.upper)
                parts.append(np.clip((2 * frame[name].to_numpy(float) - low - high) / (high - low), -1, 1)[:, None])
            elif isinstance(column, Categorical):
                values = frame[name].to_numpy(str)
                parts.append((values[:, None] == np.array(column.levels)).astype(float))
            largest += name != TARGET
        return np.concatenate(parts, axis=1) / np.sqrt(largest), frame[TARGET].to_numpy(float)


@dataclass(frozen=True)
class LabelledSource:
    """One of the tables: how it is read, and the shape of a made-up one."""

    title: str
    file: str
    numbers: Mapping[str, tuple[float, float]]
    levels: Mapping[str, tuple[str, ...]]
    rows_learned: int
    rows_predicted: int

    def opened(self, tables: PaperTables) -> LabelledTable:
        """Read or make up, in a fixed order."""
        found = self._read(tables)
        synthetic = found is None
        learned, predicted = self._made_up() if found is None else found
        columns: Columns = {name: Bounded(*ends) for name, ends in self.numbers.items()}
        columns |= {name: Categorical(list(of)) for name, of in self.levels.items()}
        schema = Schema({TARGET: Binary(), **columns})
        title = f"made-up table like {self.title}" if synthetic else self.title
        return LabelledTable(title, schema, learned, predicted, synthetic)

    def _read(self, tables: PaperTables) -> tuple[Any, Any] | None:
        return _READ[self.title](self, tables) if tables.file(self.file) is not None else None

    def _made_up(self) -> tuple[Any, Any]:
        """Features uniform within their bounds, a label whose log-odds are linear in some of them."""
        import pandas as pd

        rng = np.random.default_rng(4)
        n = self.rows_learned + self.rows_predicted
        margins = np.full(n, -0.3)
        made: Columns = {}
        for i, (name, (low, high)) in enumerate(self.numbers.items()):
            x = rng.beta(2, 2, n)
            made[name] = low + (high - low) * x
            margins += (6.0 / (1 + i)) * (x - 0.5) * (-1) ** i
        for name, of in self.levels.items():
            codes = rng.integers(len(of), size=n)
            made[name] = np.array(of)[codes]
            margins += 0.5 * (codes - codes.mean())
        made[TARGET] = (rng.logistic(size=n) < margins).astype(int)
        frame = pd.DataFrame(made)
        return frame.iloc[: self.rows_learned], frame.iloc[self.rows_learned :]


def _abalone(source: LabelledSource, tables: PaperTables) -> tuple[Any, Any]:
    frame = tables.frame(source.file)
    frame[TARGET] = (frame["rings"] >= 10).astype(int)
    return _split(frame.sample(frac=1.0, random_state=0), source)


def _adult(source: LabelledSource, tables: PaperTables) -> tuple[Any, Any]:
    frame = tables.frame(source.file)
    frame[TARGET] = (frame["income"] == ">50K").astype(int)
    return _split(frame.sample(frac=1.0, random_state=0), source)


def _digits(source: LabelledSource, tables: PaperTables) -> tuple[Any, Any]:
    import pandas as pd

    path = tables.file(source.file)
    assert path is not None
    with np.load(path) as arrays:
        frames = []
        for part, count in (("train", source.rows_learned), ("test", source.rows_predicted)):
            pixels = arrays[f"x_{part}"][:count].reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4)) / 255.0
            frame = pd.DataFrame(pixels.reshape(len(pixels), -1), columns=list(source.numbers))
            frame[TARGET] = (arrays[f"y_{part}"][:count] == 8).astype(int)
            frames.append(frame)
    return frames[0], frames[1]


def _split(frame: Any, source: LabelledSource) -> tuple[Any, Any]:
    kept = frame[[TARGET, *source.numbers, *source.levels]]
    return kept.iloc[: source.rows_learned], kept.iloc[
        source.rows_learned : source.rows_learned + source.rows_predicted
    ]


_READ = {"Abalone": _abalone, "Adult": _adult, "MNIST 3 against 8": _digits}

ABALONE = LabelledSource(
    "Abalone",
    "abalone.csv",
    {"length": (0.075, 0.815), "diameter": (0.055, 0.650), "height": (0.0, 1.130), "whole_weight": (0.002, 2.826),
     "shucked_weight": (0.001, 1.488), "viscera_weight": (0.001, 0.760), "shell_weight": (0.002, 1.005)},
    {"sex": ("F", "I", "M")},
    3133,
    1044,
)  # fmt: skip
ADULT = LabelledSource(
    "Adult",
    "adult_train.parquet",
    {"age": (17, 90), "education_num": (1, 16), "hours_per_week": (1, 99), "capital_gain": (0, 99_999),
     "capital_loss": (0, 4356)},
    {"sex": ("Female", "Male"),
     "marital_status": ("Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent",
                        "Never-married", "Separated", "Widowed")},
    8000,
    8000,
)  # fmt: skip
DIGITS = LabelledSource(
    "MNIST 3 against 8",
    "mnist_3v8.npz",
    {f"pixel_{i}": (0.0, 1.0) for i in range(49)},
    {},
    6000,
    1984,
)
