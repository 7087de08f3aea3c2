"""A table of patients, its declarations, and a ledger to pay from."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc

ROWS = 400


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    age, ward = rng.uniform(20, 80, ROWS), rng.choice(["A", "B", "C"], ROWS)
    smoker = np.where(rng.random(ROWS) < 1 / (1 + np.exp(-(age - 50) / 8)), "yes", "no")
    visits = np.minimum(rng.poisson(np.exp((age - 50) / 30)), 20)
    pressure = np.clip(100 + age / 2 + rng.normal(0, 5, ROWS), 80, 200)
    return pd.DataFrame({"age": age, "ward": ward, "smoker": smoker, "visits": visits, "pressure": pressure})


COLUMNS = {
    "age": dc.Bounded(0, 110, missing=50, cut=[35, 50, 65]),
    "ward": dc.Categorical(["A", "B", "C"], missing="A"),
    "smoker": dc.Binary(zero="no", one="yes"),
    "visits": dc.Count(20),
    "pressure": dc.Bounded(80, 200),
}


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    return dc.Ledger.create(tmp_path / "study.ledger", dc.Budget(epsilon=1000.0, delta=1e-4))
