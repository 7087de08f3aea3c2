"""Searches of the accountant take a few thousand evaluations at most, and say so when a target is out of reach."""

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.accounting import conversions, profiles
from discreet.accounting.conversions import smallest_within
from discreet.accounting.divergences import diffused_scale
from discreet.guarantee import conjugate

SCHEMA = dc.Schema(
    {"b": dc.Binary(), "k": dc.Categorical(["A", "B", "C"]), "x": dc.Bounded(0, 10), "c": dc.Count(20)}, n=1000
)
MODELS = [
    dc.DirichletCategorical("k"),
    dc.GammaPoisson("c", prior=(1.0, 1.0)),
    dc.GammaExponential("x", prior=(10, 1.0)),
    dc.StatisticalQuery("x"),
]
MOST = 6000  # evaluations of a curve


class Counter:
    """A curve that counts how often it is asked, and stops a search that does not end."""

    def __init__(self, curve: Callable[..., float]) -> None:
        self.curve, self.calls = curve, 0

    def __call__(self, *arguments: Any, **named: Any) -> float:
        self.calls += 1
        assert self.calls <= MOST, "a search that goes on and on"
        return self.curve(*arguments, **named)


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> dict[str, Counter]:
    counted = {family: Counter(curve) for family, curve in conjugate.CURVES.items()}
    # every point that is asked for counts, also one that a certificate keeps
    point = lambda certificate, order: counted[certificate.family](order=order, **certificate.parameters)  # noqa: E731
    monkeypatch.setattr(conjugate, "_on_curve", point)
    return counted


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("kind", [dc.DiffusedSample, dc.ConcentratedSample])
def test_targets_out_of_reach_are_refused_by_name(model: Any, kind: Any, counters: dict[str, Counter]) -> None:
    query = model.query(SCHEMA)
    with pytest.raises(dc.GuaranteeError, match=rf"{kind.__name__}.epsilon must be larger at delta = 1e-09"):
        kind(epsilon=1e-9, delta=1e-9).guarantee(query)
    with pytest.raises(dc.GuaranteeError, match=rf"{kind.__name__}.epsilon must be larger at order = 2.0"):
        kind(epsilon=1e-290, order=2).guarantee(query)
    rng = random.Random(8)
    for _ in range(3):  # within reach, or refused; never another error, never endless
        epsilon, delta = 10 ** rng.uniform(-12, 1), 10 ** rng.uniform(-300, -1)
        for counter in counters.values():
            counter.calls = 0
        with suppress(dc.GuaranteeError):
            assert min(kind(epsilon=epsilon, delta=delta).fractions(query)) > 0


def test_a_bracket_that_grows_by_one_is_found() -> None:
    """Planted twin: the search before doubled nothing, looked at no limit, and ended in an overflow of exp."""

    def growing(curve_at: Callable[[float], Callable[[float], float]], epsilon: float, delta: float) -> float:
        import math

        log_x = 0.0
        while conversions.renyi_delta(curve_at(math.exp(log_x)), epsilon) > delta:
            log_x += 1.0
        return math.exp(log_x)

    counter = Counter(lambda order, x: order / x)
    with pytest.raises(AssertionError, match="on and on"):
        growing(lambda x: lambda order: counter(order, x), 1e-9, 1e-9)
    counter = Counter(lambda order, x: order / x)
    assert smallest_within(lambda x: lambda order: counter(order, x), 1e-9, 1e-9, low=1.0) == float("inf")


def test_formulas_refuse_what_is_out_of_reach() -> None:
    with pytest.raises(dc.GuaranteeError, match="within reach"):
        diffused_scale((1.0, 1.0), 10, 2.0, 1e-290)
    with pytest.raises(dc.GuaranteeError, match="leave room for a positive parameter"):
        conversions.zcdp_rho(1e-12, 1e-12)
    with pytest.raises(dc.GuaranteeError, match="within reach"):
        profiles.beta_concentrated_shrink(1.0, 1.0, 10, 1e-320, 1e-323)


REPEATED = [
    (dc.RenyiDP("dirichlet", {"prior": (6.0, 12.0, 3.0), "n": 100}), 5),
    (dc.RenyiDP("exponential-rate", {"shape": 10.0, "rate": 1e3, "n": 100, "lower": 0.0, "width": 10.0}), 3),
    (dc.Within(dc.RenyiDP("dirichlet", {"prior": (60.0, 12.0, 30.0), "n": 100}), 1e-9), 4),
    (dc.AllOf((dc.BoundedRange(1.0), dc.RenyiDP("poisson-rate", {"shape": 90.0, "n": 9, "width": 3.0}))), 2),
]


@pytest.mark.parametrize(("part", "times"), REPEATED, ids=repr)
def test_delta_of_a_composition_is_solved_and_inverts_epsilon(
    part: Any, times: int, counters: dict[str, Counter]
) -> None:
    repeated = dc.Repeated(part, times)
    epsilon, found = repeated.epsilon(1e-6), []
    for at in (epsilon, epsilon * 1.001):
        for counter in counters.values():
            counter.calls = 0
        found.append(repeated.delta(at))
    assert found[0] == pytest.approx(1e-6, rel=1e-5)
    assert found[1] < found[0]


def test_delta_by_a_search_over_epsilon_is_found(counters: dict[str, Counter]) -> None:
    """Planted twin: an inverse of an inverse."""
    import math

    repeated = dc.Repeated(*REPEATED[0])
    with pytest.raises(AssertionError, match="on and on"):
        conversions.solve_decreasing(lambda x: repeated.epsilon(math.exp(-1 / x)), 2.0, low=1 / 700)


@pytest.mark.parametrize("n", [100, 10**6, 2**48, 10**30])
def test_profiles_of_any_number_of_records_take_bounded_work(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny targets looked at every count, and at laws so narrow that nothing is left of their difference."""
    pairs, real = [0], profiles._pair_deltas

    def counted(family: Any, first: Any, last: Any) -> Any:
        pairs[0] += first.size
        assert pairs[0] <= 2 * 10**5, "a search that goes on and on"
        return real(family, first, last)

    monkeypatch.setattr(profiles, "_pair_deltas", counted)
    rng = random.Random(n)
    for epsilon, delta in [(1e-9, 1e-9), (10 ** rng.uniform(-9, 1), 10 ** rng.uniform(-30, -1))]:
        for search in (profiles.beta_concentrated_shrink, profiles.beta_diffused_scale):
            pairs[0] = 0
            with suppress(dc.GuaranteeError):
                assert 0 < search(6.0, 12.0, n, epsilon, delta) <= 1
    pairs[0] = 0
    assert 0 <= dc.ConjugateProfile("dirichlet", {"prior": (6.0, 12.0), "n": n}).epsilon(1e-6) < 10
    if n == 10**6:  # planted twin: every count is looked at
        every = np.arange(n)
        monkeypatch.setattr(profiles, "_worst", lambda family: float(counted(family, every, every).max()))
        with pytest.raises(AssertionError, match="on and on"):
            profiles.beta_concentrated_shrink(6.0, 12.0, n, 1e-3, 1e-6)
