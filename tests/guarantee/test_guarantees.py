"""Guarantees: reference values of the mathematical notes, profiles against quadrature, JSON, composition."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import discreet as dc
from discreet.accounting import conversions, curves
from discreet.guarantee import GUARANTEES, Basis, Guarantee, from_json

EXAMPLES: list[Guarantee] = [
    dc.PureDP(0.5),
    dc.BoundedRange(1.0),
    dc.ZCDP(0.125),
    dc.GaussianDP(0.4),
    dc.ApproxDP(0.7, 1e-5),
    dc.Repeated(dc.BoundedRange(0.05), 400),
    dc.IndependentDraws(dc.BoundedRange(0.05), 40),
    dc.Repeated(dc.AllOf((dc.BoundedRange(1.0), dc.GaussianDP(0.4))), 3),
    dc.Composed((dc.PureDP(0.1), dc.ZCDP(0.02), dc.Repeated(dc.GaussianDP(0.1), 3))),
    dc.RenyiDP("dirichlet", {"prior": (6.0, 12.0), "n": 100}),
    dc.RenyiDP("gaussian-mean", {"n": 50, "variance": 2.0, "prior_variance": 1.0, "clip": 1.5}),
    dc.ConjugateProfile("dirichlet", {"prior": (12.0, 6.0), "n": 100, "scale": 0.4}),
    dc.ConjugateProfile("dirichlet", {"prior": (12.0, 6.0, 9.0), "n": 100, "scale": 0.4}),
    dc.ConjugateProfile("poisson-rate", {"shape": 90.0, "n": 9, "width": 3.0}),
    dc.ConjugateProfile("exponential-rate", {"shape": 3.0, "rate": 90.0, "n": 9, "lower": 0.5, "width": 3.0}),
    dc.AllOf((dc.BoundedRange(1.0), dc.GaussianDP(0.4))),
    dc.Within(dc.GaussianDP(0.3), 1e-12),
]


@pytest.mark.parametrize(
    ("mu", "epsilon", "delta"),
    [(0.5, 1, 0.00682959498311), (1, 1, 0.126936737507), (1, 0, 0.382924922548), (2, 3, 0.183813076544)],
)
def test_gaussian_profile_reference_values(mu: float, epsilon: float, delta: float) -> None:
    """beyond.md §3, GDP -> (eps, delta)."""
    assert dc.GaussianDP(mu).delta(epsilon) == pytest.approx(delta, rel=1e-10)
    assert dc.GaussianDP(0.1).delta(0.5) == pytest.approx(6.85658245584e-09, rel=1e-10)


def test_gaussian_inverses_reference_values_and_safe_ends() -> None:
    """beyond.md §3: eps(mu=1, 1e-5), eps(.5, 1e-6), mu(1, 1e-5), mu(.1, 1e-6), mu(8, 1e-9)."""
    assert dc.GaussianDP(1).epsilon(1e-5) == pytest.approx(4.37717809568, rel=1e-11)
    assert dc.GaussianDP(0.5).epsilon(1e-6) == pytest.approx(2.25408465022, rel=1e-11)
    for epsilon, delta, mu in [(1, 1e-5, 0.268051123211), (0.1, 1e-6, 0.0275446502438), (8, 1e-9, 1.26224846496)]:
        found = conversions.gaussian_mu(epsilon, delta)
        assert found == pytest.approx(mu, rel=1e-11)
        assert curves.gaussian_delta(found, epsilon) <= delta
    assert dc.GaussianDP(1).delta(dc.GaussianDP(1).epsilon(1e-5)) <= 1e-5


def test_zcdp_reference_values() -> None:
    """beyond.md §3, improved conversion at rho = .5, and §7, rho of the budget (1, 1e-6)."""
    assert dc.ZCDP(0.5).epsilon(1e-5) == pytest.approx(4.72838698494, rel=1e-10)
    assert conversions.zcdp_rho(1, 1e-6) == pytest.approx(0.0243559703595, rel=1e-10)
    assert conversions.zcdp_epsilon(conversions.zcdp_rho(1, 1e-6), 1e-6) <= 1


def test_pure_and_bounded_range_reference_values() -> None:
    """beyond.md §3: tight pure Renyi curve, bounded-range profile and curve, 400 Gibbs updates."""
    assert dc.PureDP(1).renyi(2) == pytest.approx(0.735325664056, rel=1e-11)
    assert dc.PureDP(1).renyi(10) == pytest.approx(0.965193146454, rel=1e-11)
    assert dc.PureDP(0.1).renyi(15) == pytest.approx(0.0577975797246, rel=1e-11)
    assert dc.PureDP(1).delta(0.3) == pytest.approx(0.368025632272, rel=1e-11)
    assert dc.BoundedRange(1).delta(0.3) == pytest.approx(0.137962803354, rel=1e-11)
    assert dc.BoundedRange(2).delta(0.5) == pytest.approx(0.321971105411, rel=1e-11)
    assert dc.BoundedRange(1).renyi(2) == pytest.approx(0.240229013917, rel=1e-11)
    assert dc.BoundedRange(1).renyi(10) == pytest.approx(0.689833573183, rel=1e-11)
    updates = dc.Repeated(dc.BoundedRange(0.05), 400)
    assert updates.epsilon(0.0) == pytest.approx(20)
    assert dc.ZCDP(400 * 0.05**2 / 8).epsilon(1e-6) == pytest.approx(2.41909317687, rel=1e-10)
    assert updates.epsilon(1e-6) <= 2.41909317687  # its own Renyi curve is below epsilon²/8 · order


@pytest.mark.parametrize("level", [0.1, 1.0, 3.0])
def test_bounded_range_curve_dominates_every_two_point_pair(level: float) -> None:
    """Brute force over the offset: the closed form is the supremum, and lies below order · level²/8."""
    for order in (1.5, 2.0, 7.0, 40.0):
        t = np.linspace(1e-9, level - 1e-9, 20001)
        q = (np.exp(-t) - np.exp(-level)) / (1 - np.exp(-level))
        curve = np.log(q * np.exp(order * t) + (1 - q) * np.exp(order * (t - level))) / (order - 1)
        value = dc.BoundedRange(level).renyi(order)
        assert curve.max() <= value * (1 + 1e-12)
        assert value <= curve.max() * (1 + 1e-6)
        assert value <= order * level**2 / 8


def test_laplace_profile_is_below_the_pure_profile() -> None:
    """Quadrature of an actual mechanism: Laplace noise of scale 1/eps on a shift of one."""
    for epsilon in (0.2, 0.7):
        exact = quad(
            lambda x, e=epsilon: max(0.5 * math.exp(-abs(x)) - math.exp(e) * 0.5 * math.exp(-abs(x - 1)), 0),
            -40,
            40,
            points=[0, 1],
        )[0]
        assert exact <= dc.PureDP(1).delta(epsilon)


@pytest.mark.parametrize("guarantee", EXAMPLES, ids=repr)
def test_profiles_are_monotone_inverse_and_survive_json(guarantee: Guarantee) -> None:
    deltas = [1e-9, 1e-6, 1e-4, 1e-2]
    epsilons = [guarantee.epsilon(delta) for delta in deltas]
    assert epsilons == sorted(epsilons, reverse=True)
    for delta, epsilon in zip(deltas, epsilons, strict=True):
        if 0 < epsilon < math.inf:
            assert guarantee.delta(epsilon) <= delta * (1 + 1e-6)
    assert guarantee.renyi(2.0) <= guarantee.renyi(4.0)
    assert from_json(guarantee.to_json()) == guarantee
    assert from_json(guarantee.to_json()).to_json() == guarantee.to_json()
    assert "Neighbours: one record replaced" in str(guarantee)
    assert hash(guarantee) == hash(from_json(guarantee.to_json()))


@pytest.mark.parametrize("guarantee", EXAMPLES, ids=repr)
def test_repetition_equals_explicit_composition(guarantee: Guarantee) -> None:
    for times in (1, 2, 5):
        repeated, explicit = dc.Repeated(guarantee, times), dc.Composed((guarantee,) * times)
        for delta in (1e-8, 1e-5, 1e-3):
            assert repeated.epsilon(delta) == explicit.epsilon(delta)
        assert repeated.renyi(3.0) == explicit.renyi(3.0)


def test_a_repetition_that_drops_its_count_would_be_caught() -> None:
    planted = dc.Repeated(dc.ZCDP(0.125), 1)  # charged for one of five
    assert planted.epsilon(1e-6) < dc.Composed((dc.ZCDP(0.125),) * 5).epsilon(1e-6)


def test_more_composition_is_never_cheaper_and_never_above_basic() -> None:
    previous = 0.0
    for times in (1, 2, 10, 100):
        epsilon = dc.Repeated(dc.PureDP(0.1), times).epsilon(1e-6)
        assert previous < epsilon <= 0.1 * times + 1e-12
        previous = epsilon


def test_composition_of_different_relations_or_units_is_refused() -> None:
    with pytest.raises(dc.GuaranteeError, match="must all hold for replace-one of a record"):
        dc.Composed((dc.PureDP(1), dc.PureDP(1, Basis(relation="add-remove"))))
    with pytest.raises(dc.GuaranteeError, match="got replace-one of a person"):
        dc.Composed((dc.PureDP(1), dc.PureDP(1, Basis(unit="person"))))


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, -math.inf, "1", "1e400", None, True])
@pytest.mark.parametrize("kind", [dc.PureDP, dc.BoundedRange, dc.ZCDP, dc.GaussianDP, dc.Budget])
def test_impossible_parameters_are_refused(kind: type, value: object) -> None:
    with pytest.raises(dc.GuaranteeError, match="must be a finite number above 0, got"):
        kind(value)


def test_unknown_kinds_and_versions_are_refused() -> None:
    for body in ({}, [], {"kind": "Magic", "version": 1}, {**dc.PureDP(1).to_json(), "version": 2}):
        with pytest.raises(dc.GuaranteeError):
            from_json(body)  # type: ignore[arg-type]
    with pytest.raises(dc.GuaranteeError, match="exactly its own fields"):
        from_json({**dc.PureDP(1).to_json(), "surprise": 1})
    assert set(GUARANTEES) == {type(example).__name__ for example in EXAMPLES}
