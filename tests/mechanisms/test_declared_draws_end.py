"""What a declared space lets through can be drawn on every table: no error, no warning, nothing outside.

An error after payment that comes with some rows only would tell tables apart.
"""

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms.draws import declared_space
from discreet.noise.sources import SeededNoise
from discreet.sources import Dataset
from discreet.sources.coded import CodedRows

N = 5
SCHEMA = dc.Schema({"b": dc.Binary(), "c": dc.Categorical(["u", "v", "w"])}, n=N)


def drawn(mechanism: Any, model: Any, ones: int) -> np.ndarray:
    codes = np.array([1] * ones + [0] * (N - ones))
    data = Dataset("d", SCHEMA, CodedRows({"b": codes, "c": codes}))
    (values,) = mechanism.apply(SeededNoise(1), model.query(SCHEMA), data).values()
    return np.asarray(values)


def check(smallest: float, cases: int) -> None:
    """Seeded declarations of truncations from `smallest` on, with tables of one level and of two."""
    rng = np.random.default_rng(4)
    for _ in range(cases):
        levels = int(rng.integers(2, 4))
        least = float(np.exp(rng.uniform(np.log(smallest), np.log(0.99 / levels))))
        prior = tuple(10.0 ** rng.choice([-5.0, -0.3, 0.0, 2.0], size=levels))
        model = dc.BetaBernoulli("b", prior=prior) if levels == 2 else dc.DirichletCategorical("c", prior=prior)
        tempering = str(rng.choice(["joint", "natural", "likelihood"]))
        mechanism = dc.PosteriorSample(10.0 ** rng.uniform(-3, 2), truncation=least, tempering=tempering, draws=5)  # type: ignore[arg-type]
        step = 2.0**-32 + mechanism._grid(model.query(SCHEMA))
        for ones in (0, 1, N):
            try:
                values = drawn(mechanism, model, ones)
            except Exception as error:
                raise AssertionError(f"{mechanism} on {ones} ones: {error!r}") from error
            assert np.all((values >= least - step) & (values <= 1.0 - least + step))


def test_every_declaration_can_be_drawn_on_every_table() -> None:
    check(declared_space.SMALLEST_TRUNCATION, 150)


def test_a_truncation_that_leaves_no_room_below_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 - 1e-17 is 1 in doubles: five zeros could not be drawn, four zeros and a one could."""
    with pytest.raises(dc.GuaranteeError, match=r"PosteriorSample\.truncation must be at least 2\^-40, got 1e-17"):
        dc.PosteriorSample(1.0, truncation=1e-17)
    monkeypatch.setattr(declared_space, "SMALLEST_TRUNCATION", 0.0)
    planted = dc.PosteriorSample(1.0, truncation=1e-17)
    assert np.all(np.isfinite(drawn(planted, dc.BetaBernoulli("b"), 1)))
    with pytest.raises(ValueError, match="math domain error"):
        drawn(planted, dc.BetaBernoulli("b"), 0)
    with pytest.raises(AssertionError):
        check(1e-20, 150)
