"""Calibration by a Rényi curve: closed forms, the safe end, and curves that become infinite."""

import math

import pytest

from discreet.accounting.conversions import renyi_delta, smallest_within, zcdp_rho
from discreet.accounting.divergences import dirichlet_renyi


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.01, 1e-9), (30.0, 1e-3)])
def test_a_straight_curve_gives_the_known_zcdp(epsilon: float, delta: float) -> None:
    inverse = smallest_within(lambda x: lambda order: order / x, epsilon, delta, low=1e-6)
    assert 1 / inverse == pytest.approx(zcdp_rho(epsilon, delta), rel=1e-9)


@pytest.mark.parametrize("prior", [(0.5, 0.5, 0.5), (3.0, 4.0), (40.0, 50.0, 60.0)])
@pytest.mark.parametrize("epsilon", [0.05, 1.0])
def test_the_answer_meets_the_target_and_a_little_less_does_not(prior: tuple[float, ...], epsilon: float) -> None:
    """Also where the best order sits close to the one from which on the curve is infinite."""

    def delta_at(inverse: float) -> float:
        return renyi_delta(lambda order: dirichlet_renyi(prior, 100, order, scale=1 / inverse), epsilon)

    def curve_at(inverse: float):
        return lambda order: dirichlet_renyi(prior, 100, order, scale=1 / inverse)

    found = smallest_within(curve_at, epsilon, 1e-6, low=1.0)
    assert delta_at(found) <= 1e-6 * (1 + 1e-12)
    assert delta_at(found * (1 - 1e-6)) > 1e-6 or found == 1.0


def test_a_target_that_is_met_at_once_is_not_searched() -> None:
    asked = []

    def curve_at(x: float):
        asked.append(x)
        return lambda order: 1e-9 * order / x

    assert smallest_within(curve_at, 1.0, 1e-6, low=1.0) == 1.0
    assert asked == [1.0]
    assert math.isfinite(smallest_within(lambda x: lambda order: 1e9 * order / x, 1.0, 1e-6, low=1.0))
