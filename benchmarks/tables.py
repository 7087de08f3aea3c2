"""The three tables of the league with their public declarations: bounds and levels never come from the rows."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import discreet as dc
from discreet.posterior.new_rows import new_rows
from discreet.queries.losses.base import Loss

DATA = Path(__file__).parents[2] / "shared" / "data"

# printed in the data set's own description
ABALONE = {
    "length": (0.075, 0.815),
    "diameter": (0.055, 0.65),
    "height": (0.0, 1.13),
    "whole_weight": (0.002, 2.826),
    "shucked_weight": (0.001, 1.488),
    "viscera_weight": (0.001, 0.76),
    "shell_weight": (0.002, 1.005),
}
# top codes of the census; the largest capital loss is a round guess
ADULT = {
    "age": (17, 90),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 5_000),
    "hours_per_week": (1, 99),
}
ADULT_LEVELS = (
    "workclass",
    "education",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native_country",
)
PIXELS = [f"p{k}" for k in range(784)]


@dataclass(frozen=True, eq=False)
class Task:
    """A table with its declarations, and the rows that errors are counted on."""

    name: str
    train: pd.DataFrame
    test: pd.DataFrame
    schema: dc.Schema
    model: dc.LogisticRegression

    @cached_property
    def query(self) -> Loss:
        return self.model.query(self.schema.with_n(len(self.train)))

    @cached_property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Encoded rows, the intercept's 1 first, and labels: 1 is the second level of the target."""
        upper = self.query.schema.columns[self.model.target].levels[1]  # type: ignore[union-attr]
        return {
            "train": new_rows(self.query, self.train),
            "labels": (self.train[self.model.target] == upper).to_numpy().astype(np.int64),
            "test": new_rows(self.query, self.test),
            "truth": (self.test[self.model.target] == upper).to_numpy().astype(np.int64),
        }


def abalone() -> Task:
    """Ten rings or more; a fixed fifth of the rows is the test."""
    frame = pd.read_csv(DATA / "abalone.csv")
    frame["old"] = np.where(frame["rings"] >= 10, "yes", "no")
    order = np.random.default_rng(0).permutation(len(frame))
    cut = int(0.8 * len(frame))
    columns: dict[str, Any] = {name: dc.Bounded(*bounds) for name, bounds in ABALONE.items()}
    columns |= {"sex": dc.Categorical(["M", "F", "I"])}
    schema = dc.Schema({**columns, "old": dc.Categorical(["no", "yes"])})
    return Task(
        "Abalone", frame.iloc[order[:cut]], frame.iloc[order[cut:]], schema, dc.LogisticRegression("old", [*columns])
    )


def adult() -> Task:
    """Income above 50,000. The census publishes the levels; they are spelled as in the file."""
    train, test = (pd.read_parquet(DATA / f"adult_{part}.parquet") for part in ("train", "test"))
    columns: dict[str, Any] = {name: dc.Bounded(*bounds) for name, bounds in ADULT.items()}
    columns |= {
        name: dc.Categorical(["?", *sorted(train[name].dropna().unique())], missing="?") for name in ADULT_LEVELS
    }
    schema = dc.Schema({**columns, "income": dc.Categorical(["<=50K", ">50K"])})
    return Task("Adult", train, test, schema, dc.LogisticRegression("income", [*columns]))


def mnist() -> Task:
    """Handwritten 3 against 8; rows of pixels are shrunk to length 8."""
    frames = []
    with np.load(DATA / "mnist_3v8.npz") as held:
        for part in ("train", "test"):
            frame = pd.DataFrame(held[f"x_{part}"].reshape(-1, 784), columns=PIXELS)
            frames.append(frame.assign(digit=held[f"y_{part}"].astype(str)))
    schema = dc.Schema({**dict.fromkeys(PIXELS, dc.Bounded(0, 255)), "digit": dc.Categorical(["3", "8"])})
    return Task("MNIST", *frames, schema, dc.LogisticRegression("digit", PIXELS, interval=(0, 1), radius=8.0))
