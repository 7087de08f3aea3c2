"""Draws with several certificates, composed: any one of them may be, and the smallest answer holds."""

import math

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

import discreet as dc
from discreet.guarantee import nodes

DELTAS = (1e-9, 1e-6, 1e-3)


@pytest.mark.parametrize("times", [1, 2, 25])
@pytest.mark.parametrize(
    "parts",
    [
        (dc.BoundedRange(1.0), dc.GaussianDP(0.4)),
        (dc.PureDP(0.1), dc.ZCDP(0.1)),
        (dc.PureDP(0.3), dc.GaussianDP(0.2), dc.BoundedRange(0.3)),
        (dc.ApproxDP(0.2, 1e-8), dc.ZCDP(0.5)),
    ],
)
def test_the_best_single_certificate_is_reached(parts, times: int) -> None:
    both = dc.Repeated(dc.AllOf(parts), times)
    singles = [dc.Repeated(part, times) for part in parts]
    for delta in DELTAS:
        assert both.epsilon(delta) <= min(single.epsilon(delta) for single in singles)
        assert both.delta(both.epsilon(delta)) <= delta * (1 + 1e-9)
    for epsilon in (0.1, 1.0, 3.0):
        assert both.delta(epsilon) <= min(single.delta(epsilon) for single in singles)
    assert both.renyi(3.0) == pytest.approx(min(single.renyi(3.0) for single in singles), rel=1e-12)


def test_gaussian_parts_compose_exactly() -> None:
    """It was the Rényi conversion of the pointwise smaller curve."""
    both = dc.Repeated(dc.AllOf((dc.BoundedRange(1.0), dc.GaussianDP(0.4))), 10)
    assert both.epsilon(1e-6) == pytest.approx(dc.GaussianDP(0.4 * math.sqrt(10)).epsilon(1e-6), rel=1e-12)


def test_mixed_compositions_take_one_kind_wherever_it_is_known() -> None:
    draw, other = dc.AllOf((dc.BoundedRange(1.0), dc.GaussianDP(0.4))), dc.AllOf((dc.PureDP(2.0), dc.GaussianDP(0.3)))
    whole = dc.Composed((dc.Repeated(draw, 3), other, dc.PureDP(0.1)))
    gaussian = dc.Composed((dc.Repeated(dc.GaussianDP(0.4), 3), dc.GaussianDP(0.3), dc.PureDP(0.1)))
    assert whole.epsilon(1e-6) <= gaussian.epsilon(1e-6)
    inside = dc.Within(dc.Repeated(draw, 4), 1e-12)
    assert inside.epsilon(1e-6) <= dc.Within(dc.Repeated(dc.GaussianDP(0.4), 4), 1e-12).epsilon(1e-6)


def response(level: float, times: int, epsilon: float) -> float:
    """What `times` randomised responses of one level are, as a sum over the number of true answers  [KOV2015]."""
    i = np.arange(times + 1)
    losses = (2 * i - times) * level
    return float(binom.pmf(i, times, 1 / (1 + math.exp(-level))) @ np.maximum(-np.expm1(epsilon - losses), 0.0))


def check_covers_randomised_response() -> None:
    """Randomised response satisfies both: pure, and Gaussian DP of the mu that tells its answers apart as well."""
    level = 0.3
    mu = 2 * float(ndtri(1 / (1 + math.exp(-level)))) * (1 + 1e-12)
    both = dc.AllOf((dc.GaussianDP(mu), dc.PureDP(level), dc.ZCDP(level**2 / 2)))
    for times in (1, 4, 30):
        for epsilon in (0.0, 0.25, 1.0, 2.0):
            assert dc.Repeated(both, times).delta(epsilon) >= response(level, times, epsilon) * (1 - 1e-9)
            found = dc.Composed((dc.Repeated(both, times), both)).delta(epsilon)
            assert found >= response(level, times + 1, epsilon) * (1 - 1e-9)


def test_a_release_that_satisfies_all_is_covered() -> None:
    check_covers_randomised_response()


def test_a_count_that_is_dropped_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = nodes._choices

    def planted(leaves: nodes.Terms) -> list[nodes.Terms]:
        return [whole(leaves)[0], *(dict.fromkeys(choice, 1) for choice in whole(leaves)[1:])]

    monkeypatch.setattr(nodes, "_choices", planted)
    with pytest.raises(AssertionError):
        check_covers_randomised_response()


def test_certificates_of_different_draws_are_no_choice() -> None:
    """The planted twin of `AllOf`: two draws of which one is pure and one Gaussian must both be paid."""
    both = dc.Composed((dc.PureDP(0.5), dc.GaussianDP(0.4)))
    assert both.epsilon(1e-6) > dc.AllOf((dc.PureDP(0.5), dc.GaussianDP(0.4))).epsilon(1e-6)
    assert len(nodes._choices(both.terms())) == 1
