"""Noisy scores whose noise is as hostile as noise can be: a rule that failed would fail after the budget is spent, and
running it again would show more than is paid for. Nothing is random, so nothing fails by chance."""

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.queries.scores import score_terms
from discreet.sources import CodedRows, Dataset

COLUMNS = {"x": dc.Bounded(-1, 1), "z": dc.Bounded(0, 1), "g": dc.Categorical(["a", "b", "c"]), "y": dc.Binary()}
FACTS: dict[str, dict[str, Any]] = {
    "records": {"n": 30},
    "records that come and go": {"relation": "add-remove", "n_max": 30},
    "labels": {"n": 30, "unit": dc.LabelOnly("y")},
}
NOISES = {"low": -9.0, "high": 9.0, "as low as samplers go": -(2.0**62), "as high": 2.0**62}  # in deviations below 1000
MOST_RHO = 1.7e308


class HostileNoise:
    """Every number moved as far as this, every second one the other way round where it alternates."""

    def __init__(self, far: float, alternates: bool) -> None:
        self.far, self.alternates = far, alternates

    def integers(self, law: Any, size: int) -> list[int]:
        far = int(self.far * law.sigma if abs(self.far) < 1e3 else self.far)
        return [-far if self.alternates and i % 2 else far for i in range(size)]

    def below(self, bound: int) -> int:
        raise NotImplementedError

    def stream(self) -> np.random.Generator:
        raise NotImplementedError


def released(facts: dict[str, Any], rho: float, noise: HostileNoise) -> tuple[Any, dc.NoisyScore, Any, Any]:
    """Thirty rows, or none where their number is private."""
    schema = dc.Schema(COLUMNS, **facts)
    model, mechanism = dc.LogisticRegression("y", ("x", "z", "g")), dc.NoisyScore(rho=rho, steps=4)
    query, rng = model.query(schema), np.random.default_rng(0)
    n = 0 if "relation" in facts else 30
    steps = {axis.column: axis.of_values(rng.uniform(-1, 1, n)) for axis in query.features.numbers}
    cells = {**steps, "g": rng.integers(3, size=n), "y": rng.integers(2, size=n)}
    value = mechanism.apply(noise, query, Dataset("t", schema, CodedRows(cells)))
    return model, mechanism, query, value


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a release makes none of them seen
@pytest.mark.parametrize("rho", [1e-9, 1e-3, 1.0, 1e6, MOST_RHO])
@pytest.mark.parametrize("name", FACTS)
def test_a_rule_never_fails_and_its_points_can_be_saved(name: str, rho: float) -> None:
    for far in NOISES.values():
        for alternates in (False, True):
            _, mechanism, query, value = released(FACTS[name], rho, HostileNoise(far, alternates))
            assert mechanism.holds(query, value)
            assert np.isfinite(value["points"]).all()


def test_a_rule_that_fails_after_it_is_paid_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_terms, "CLEAREST", np.inf)
    with pytest.raises(OverflowError):
        released(FACTS["records"], MOST_RHO, HostileNoise(9.0, False))


@pytest.mark.parametrize("rho", [1.0, 1e6])
@pytest.mark.parametrize("name", FACTS)
def test_a_posterior_is_finite_whatever_was_released(name: str, rho: float) -> None:
    """Also where a noisy number of rows is below zero."""
    for far in (-9.0, 9.0):
        model, mechanism, query, value = released(FACTS[name], rho, HostileNoise(far, False))
        posterior = model.given_scores(query, mechanism.constants(query), value)
        assert np.isfinite(posterior.mean()).all()
        assert (posterior.sd() > 0.0).all()


@pytest.mark.parametrize(("levels", "rho", "error"), [(5_000, 1.0, dc.QueryError), (3, 1e-300, dc.GuaranteeError)])
def test_what_could_be_paid_and_never_answered_is_refused(levels: int, rho: float, error: type[Exception]) -> None:
    """Covariances of too many features, and noise that no sampler draws."""
    columns = {"g": dc.Categorical([str(i) for i in range(levels)]), "x": dc.Bounded(-1, 1), "y": dc.Binary()}
    schema = dc.Schema(columns, n=9)
    with pytest.raises(error, match=r"NoisyScore must have a model of at most|must be above 0 and at most"):
        dc.NoisyScore(rho=rho).guarantee(dc.LogisticRegression("y", ("g", "x")).query(schema))


@pytest.mark.parametrize("planted", [{"directions": 0}, {"directions": 2.5}, {"records": 0}, {"records": -4}])
def test_a_calibration_of_nothing_is_refused(planted: dict[str, Any]) -> None:
    """No records would need next to no noise."""
    with pytest.raises(dc.GuaranteeError, match=r"calibrate\.(directions|records) must be a whole number from 1"):
        dc.NoisyScore.calibrate(**{"directions": 3, "rho": 1.0, **planted})
