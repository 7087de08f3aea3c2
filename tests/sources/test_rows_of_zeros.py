"""A row whose features are all 0 is encoded in silence: a warning would say that somebody has such a row."""

import warnings

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.queries.features import Features

COLUMNS = [f"x{j}" for j in range(20)]
SCHEMA = dc.Schema({**{name: dc.Bounded(0, 1) for name in COLUMNS}, "y": dc.Binary()})
MODEL = dc.LogisticRegression("y", COLUMNS, interval=(0, 1), radius=4.2)
CELLS = pd.DataFrame({**{name: [0.0, 1.0, 0.5] for name in COLUMNS}, "y": [0, 1, 1]})


def shrunk() -> tuple[np.ndarray, list[str]]:
    """What the rows are multiplied by, and the words of whatever was warned of."""
    dataset = dc.open(CELLS, SCHEMA, id="rows")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with dataset.source.design(MODEL.query(dataset.schema)) as design:
            return design.shrink.ravel()[:3].copy(), [str(warning.message) for warning in caught]


def test_rows_of_zeros_are_kept_as_they_are_in_silence() -> None:
    factors, words = shrunk()
    assert words == []
    assert factors[0] == factors[2] == 1.0
    assert factors[1] == 4.2 / np.sqrt(20.0)


def test_the_division_by_the_smallest_double_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = lambda self, squared: np.minimum(1.0, self.radius / np.maximum(np.sqrt(squared), np.finfo(float).tiny))  # noqa: E731
    monkeypatch.setattr(Features, "shrink", planted)
    assert shrunk()[1]
