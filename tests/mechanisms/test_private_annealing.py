"""PrivateAnnealing: weights are right on a case that can be enumerated, and what everything costs."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.special import betaln

import discreet as dc
from discreet.accounting.bounded_losses import weight_sensitivity
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import BoundedRange, Composed, PureDP, Repeated
from discreet.mechanisms import MECHANISMS, PrivateAnnealing
from discreet.mechanisms.draws.truncated_probabilities import log_mass
from discreet.mechanisms.private_gibbs.paid_sweeps import (
    ProfileSpace,
    State,
    annealed,
    log_likelihood,
    log_weight,
    stacked_counts,
)
from discreet.noise.sources import SeededNoise, SystemNoise
from discreet.queries.counts_and_sums import Counts
from discreet.queries.families import HiddenMarkov
from discreet.queries.statistics import Statistics
from discreet.recipe import build, describe
from discreet.sources import CodedRows, Dataset

SCHEMA = dc.Schema({"r": dc.Categorical(["a", "b"]), "t": dc.Categorical(["1", "2"]), "x": dc.Binary()}, n=6)
FAMILY = HiddenMarkov(1, 2, 2, (("x", 2),), 1.0, 1.0)
A0 = 0.05
COUNTS = np.array([[4.0, 1.0], [0.0, 3.0]])  # events by time and level, one region


def query(fields: tuple[str, ...] = ("x",)) -> Statistics:
    columns: dict[str, Any] = {"r": dc.Categorical(["a", "b"]), "t": dc.Categorical(["1", "2"])}
    schema = dc.Schema(columns | {name: dc.Binary() for name in fields}, n=6)
    tables = tuple(Counts.over(schema, name, "r", "t", name) for name in fields)
    return Statistics(schema, tables, HiddenMarkov(2, 2, 2, tuple((name, 2) for name in fields), 1.0, 1.0))


def table() -> Dataset:
    rows = {"r": np.array([0, 0, 1, 1, 1, 0]), "t": np.array([0, 1, 0, 1, 1, 1]), "x": np.array([0, 1, 0, 1, 1, 1])}
    return Dataset("d", SCHEMA, CodedRows(rows))


def log_constants(power: float) -> dict[tuple[int, int], float]:
    """Log of P(z) ∫ p(theta) p(X | z, theta)^power over the truncated space, for every z."""
    prior = {(0, 0): 0.25, (0, 1): 0.25, (1, 0): 0.25, (1, 1): 0.25}  # one chain of two: every row is used once
    logs = {}
    for z, mass in prior.items():
        total = math.log(mass)
        for k in (0, 1):
            a, b = 1 + power * COUNTS[np.array(z) == k].sum(axis=0)
            total += float(betaln(a, b) + log_mass(a, b, A0, 1 - A0)) - float(betaln(1, 1) + log_mass(1, 1, A0, 1 - A0))
        logs[z] = total
    return logs


@pytest.fixture(scope="module")
def particles() -> tuple[Any, Any]:
    """Paths and weights of 8,000 particles of the case that is enumerated, by the library's own code."""
    space, rng = ProfileSpace.truncated(FAMILY, 2 * A0, 2.0**-32), np.random.default_rng(1)
    temperatures = (5.0, 2.0, 1.0)
    paths = [annealed(space, COUNTS, temperatures, rng) for _ in range(8_000)]
    logs = np.array([log_weight(COUNTS, path, temperatures) for path in paths])
    return np.array([path.hidden[:, 0] for path in paths]), logs


def test_the_mean_weight_is_the_ratio_of_normalising_constants(particles: tuple[Any, Any]) -> None:
    """E w = Z_n / Z_0, by enumeration of z and truncated Beta integrals; 4 standard errors (fixed seed)."""
    weights = np.exp(particles[1])
    ratio = sum(math.exp(log) for log in log_constants(1.0).values())
    assert sum(math.exp(log) for log in log_constants(0.0).values()) == pytest.approx(1.0)
    error = weights.std() / math.sqrt(weights.size)
    assert error < 0.05 * ratio
    assert weights.mean() == pytest.approx(ratio, abs=4 * error)


def test_weighted_particles_have_the_law_of_the_last_level(particles: tuple[Any, Any]) -> None:
    """The chance that both times share a state, which the unweighted particles miss; 4 deviations (fixed seed)."""
    hidden, logs = particles
    constants = log_constants(1.0)
    total = sum(math.exp(log) for log in constants.values())
    exact = sum(math.exp(log) for z, log in constants.items() if z[0] == z[1]) / total
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    same = hidden[:, -1, 0] == hidden[:, -1, 1]
    deviation = math.sqrt(float((shares**2 * (same - exact) ** 2).sum()))
    assert float(shares @ same) == pytest.approx(exact, abs=4 * deviation)
    assert abs(float(same.mean()) - exact) > 5 * math.sqrt(exact * (1 - exact) / same.size)


def test_weights_use_the_state_before_each_sweep() -> None:
    path = State(np.zeros((3, 1, 2), dtype=np.int64), np.array([[[0.1, 0.9]] * 2, [[0.4, 0.6]] * 2, [[0.7, 0.3]] * 2]))
    u = log_likelihood(COUNTS, path)
    assert u[0] == pytest.approx(4 * math.log(0.1) + 4 * math.log(0.9))
    assert log_weight(COUNTS, path, (4.0, 2.0)) == pytest.approx(u[0] / 4 + u[1] * (1 / 2 - 1 / 4))


@pytest.mark.parametrize(("first", "last", "value"), [(0.1, 1.0, 0.442556935797), (0.0, 2.0, 0.92423431452)])
def test_the_sensitivities_of_the_notes(first: float, last: float, value: float) -> None:
    """F-AIS; a random search over weights and moves comes near it and never above."""
    assert weight_sensitivity(first, last) == pytest.approx(value, rel=1e-11)
    rng, c = np.random.default_rng(2), (last - first) / 2
    shares = rng.dirichlet(np.full(4, 0.5), 200_000)
    moved = shares * np.exp(c * rng.choice([-1.0, 1.0], shares.shape))
    moved /= moved.sum(axis=1, keepdims=True)
    found = np.abs(shares - moved).sum(axis=1).max()
    assert 0.99 * value <= found <= value


def test_one_event_moves_log_weights_by_at_most_half_the_last_level() -> None:
    """All neighbours of a table, given paths of particles: every log-weight by at most epsilon/2, some by most of it."""
    space, rng = ProfileSpace.truncated(FAMILY, 2 * A0, 2.0**-32), np.random.default_rng(3)
    temperatures = tuple(space.log_range / epsilon for epsilon in (0.2, 0.5, 1.0))
    largest = 0.0
    for _ in range(200):
        path = annealed(space, COUNTS, temperatures, rng)
        for old, new in itertools.permutations(range(4), 2):
            other = COUNTS.ravel().copy()
            other[old] -= 1
            other[new] += 1
            move = log_weight(COUNTS, path, temperatures) - log_weight(other.reshape(2, 2), path, temperatures)
            largest = max(largest, abs(move))
    assert 0.3 < largest <= 0.5


def test_all_particles_levels_and_indices_are_charged() -> None:
    mechanism = PrivateAnnealing(epsilons=(0.1, 0.2, 0.4), particles=5, draws=3)
    expected = Composed(
        (*(Repeated(BoundedRange(level), 10) for level in (0.1, 0.2, 0.4)), Repeated(BoundedRange(0.4), 3))
    )
    assert mechanism.guarantee(query()) == expected
    assert mechanism.guarantee(query()).epsilon(0.0) == pytest.approx(2 * 5 * 0.7 + 3 * 0.4)
    assert "private_annealing.md, Theorem 1" in str(mechanism.guarantee(query()).parts[0])  # type: ignore[attr-defined]
    noisy = PrivateAnnealing(epsilons=(0.1, 0.4), particles=5, weights="noisy", weight_epsilon=0.3)
    assert noisy.guarantee(query()).parts[-1] == PureDP(0.3)  # type: ignore[attr-defined]
    assert noisy.guarantee(query()).epsilon(0.0) == pytest.approx(2 * 5 * 0.5 + 0.3)


def test_levels_that_need_no_tempering_are_charged_their_range() -> None:
    spread = 2 * math.log(19.0)  # truncation 0.1 of two levels
    mechanism = PrivateAnnealing(epsilons=(1.0, 50.0), particles=2)
    assert mechanism.temperatures(query()) == pytest.approx((spread, 1.0))
    assert mechanism.guarantee(query()).epsilon(0.0) == pytest.approx(4 * (1.0 + spread) + spread)


def test_the_noise_of_weights_covers_their_move_and_the_rounding() -> None:
    mechanism = PrivateAnnealing(epsilons=(0.5, 1.0), particles=7, weights="noisy", weight_epsilon=0.5)
    law = mechanism._noise(1.0)
    assert law.scale * 0.5 >= 2 * math.tanh(0.25) * 2**32 + 7
    assert law.scale * 0.5 == pytest.approx(2 * math.tanh(0.25) * 2**32 + 7, rel=1e-9)


@pytest.mark.parametrize("weights", ["resample", "noisy"])
def test_a_release_has_its_declared_shapes(weights: Any) -> None:
    more = {"weight_epsilon": 100.0} if weights == "noisy" else {"draws": 4}
    mechanism = PrivateAnnealing(epsilons=(0.5, 1.0, 2.0), particles=6, weights=weights, **more)
    value = mechanism.apply(SystemNoise(), query(), table())
    assert {name: array.shape for name, array in value.items()} == mechanism.shapes(query())
    assert value["hidden state"].shape == (6, 4, 2, 2)
    assert value["x"].shape == (6, 4, 2, 2)
    assert value["x"].min() >= 0.05
    if weights == "noisy":
        assert np.all(value["weight"] % 2.0**-32 == 0)
        paths = [State(value["hidden state"][i], value["x"][i]) for i in range(6)]
        counts = stacked_counts(query().family, table().source.statistics(query()))  # type: ignore[arg-type]
        exact = np.exp([log_weight(counts, path, mechanism.temperatures(query())) for path in paths])
        assert value["weight"] == pytest.approx(exact / exact.sum(), abs=0.4)  # noise of scale 0.0092
    else:
        assert set(value["index"].tolist()) <= set(range(6))
    assert "6 particles" in mechanism.note(query())


def test_indices_follow_the_weights() -> None:
    """2,000 indices of one release against the weights of its own particles; 5 deviations (fixed seed)."""
    mechanism = PrivateAnnealing(epsilons=(2.0, 8.0), particles=4, draws=2000)
    value = mechanism.apply(SeededNoise(5), query(), table())
    counts = stacked_counts(query().family, table().source.statistics(query()))  # type: ignore[arg-type]
    paths = [State(value["hidden state"][i], value["x"][i]) for i in range(4)]
    exact = np.exp([log_weight(counts, path, mechanism.temperatures(query())) for path in paths])
    shares = exact / exact.sum()
    found = np.bincount(value["index"], minlength=4) / 2000
    assert np.all(np.abs(found - shares) <= 5 * np.sqrt(shares * (1 - shares) / 2000) + 1e-9)


def test_requests_round_trip() -> None:
    mechanism = PrivateAnnealing(epsilons=[1, 2], particles=2, weights="noisy", weight_epsilon=1)  # type: ignore[arg-type]
    assert mechanism.epsilons == (1.0, 2.0)
    assert build("m", MECHANISMS, describe(mechanism), GuaranteeError) == mechanism
    assert hash(mechanism) == hash(build("m", MECHANISMS, describe(mechanism), GuaranteeError))


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilons": ()},
        {"epsilons": (1.0, 0.5)},
        {"epsilons": (0.0, 0.5)},
        {"epsilons": 1.0},
        {"particles": 0},
        {"weights": "raw"},
        {"weight_epsilon": 1.0},
        {"weight_epsilon": None, "weights": "noisy"},
        {"draws": 2, "weights": "noisy", "weight_epsilon": 1.0},
        {"draws": 0},
        {"truncation": 0.0},
        {"grid": 0.75},
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(GuaranteeError, match=f"PrivateAnnealing.{next(iter(arguments))}"):
        PrivateAnnealing(**({"epsilons": (0.5, 1.0), "particles": 2} | arguments))


def test_queries_that_cannot_be_answered_are_refused() -> None:
    mechanism = PrivateAnnealing(epsilons=(0.5, 1.0), particles=2)
    with pytest.raises(QueryError, match="PrivateAnnealing must have a model of events"):
        mechanism.guarantee(dc.BetaBernoulli("x").query(SCHEMA))
    with pytest.raises(QueryError, match="index"):
        mechanism.guarantee(query(("index",)))
    with pytest.raises(GuaranteeError, match="scale"):
        PrivateAnnealing(epsilons=(1.0,), particles=2, weights="noisy", weight_epsilon=1e-9).guarantee(query())
