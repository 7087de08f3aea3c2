"""Exact profiles of Dirichlet draws: every neighbouring table of a few records, by quadrature of the densities."""

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.special import gammaln

import discreet as dc

PRIORS = [(1.5, 4.0, 2.5), (0.6, 0.6, 0.6), (0.4, 3.0, 1.0, 2.0)]
RECORDS = 4

LOGITS = np.linspace(-60, 60, 40_001)  # of p; beyond them the densities below have no mass that is seen
STEP = LOGITS[1] - LOGITS[0]


def beta_logs(a: float, b: float) -> np.ndarray:
    """Log-density of the logit of a Beta variable."""
    log_p, log_q = -np.logaddexp(0, -LOGITS), -np.logaddexp(0, LOGITS)
    return a * log_p + b * log_q + gammaln(a + b) - gammaln(a) - gammaln(b)


def beta_stick(one: tuple[float, float], two: tuple[float, float], epsilon: float) -> float:
    """The integral of (p - e^epsilon q)_+ over the logit."""
    excess = np.exp(beta_logs(*one)) - math.exp(epsilon) * np.exp(beta_logs(*two))
    return float(STEP * np.maximum(excess, 0.0).sum())


def tables(cells: int, records: int) -> Iterator[tuple[int, ...]]:
    yield from (t for t in itertools.product(range(records + 1), repeat=cells) if sum(t) == records)


def worst(prior: tuple[float, ...], scale: float, shrink: float, epsilon: float) -> float:
    """Over all tables of RECORDS - 1 records and all two cells that one more may be in, in both orders."""
    pairs = set()
    for table in tables(len(prior), RECORDS - 1):
        held = [a / shrink + scale * c for a, c in zip(prior, table, strict=True)]
        pairs |= {(round(held[i], 12), round(held[j], 12)) for i, j in itertools.permutations(range(len(prior)), 2)}
    return max(beta_stick((x + scale, y), (x, y + scale), epsilon) for x, y in pairs)


@pytest.mark.parametrize(
    ("scale", "shrink", "prior"),
    [
        pytest.param(*fractions, prior, marks=[] if i == j else [pytest.mark.audit])
        for i, fractions in enumerate([(0.3, 1.0), (1.0, 1.0), (1.0, 0.4)])
        for j, prior in enumerate(PRIORS)
    ],
)
def test_the_profile_is_that_of_the_worst_neighbouring_tables(prior, scale: float, shrink: float) -> None:
    parameters = {"prior": prior, "n": RECORDS, "scale": scale, "shrink": shrink}
    profile = dc.ConjugateProfile("dirichlet", parameters)
    for epsilon in (0.0, 0.3, 1.5):
        assert profile.delta(epsilon) == pytest.approx(worst(prior, scale, shrink, epsilon), rel=1e-5, abs=1e-10)


Bound = Callable[[tuple[float, ...], float], float]
PLANTED: dict[str, Bound] = {
    "scale halved": lambda prior, e: dc.ConjugateProfile(
        "dirichlet", {"prior": prior, "n": RECORDS, "scale": 0.5}
    ).delta(e),
    "not the smallest entries": lambda prior, e: dc.ConjugateProfile(
        "dirichlet", {"prior": (*sorted(prior)[1:], 9.0), "n": RECORDS}
    ).delta(e),
    "other records in the two cells": lambda prior, e: dc.ConjugateProfile(
        "dirichlet", {"prior": tuple(sorted(prior)[:2]), "n": RECORDS}
    ).delta(e),
    "one order": lambda prior, e: beta_stick((min(prior) + 1, sorted(prior)[1]), (min(prior), sorted(prior)[1] + 1), e),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_bug_is_below_the_worst_tables(planted: str) -> None:
    assert PLANTED[planted]((1.5, 4.0, 2.5), 1.5) < 0.99 * worst((1.5, 4.0, 2.5), 1.0, 1.0, 1.5)


def test_two_cells_are_enough() -> None:
    """Theorem 3 (i), by the sum over a fine grid of the whole simplex."""
    prior, epsilon, size = np.array([1.5, 4.0, 2.5]), 0.4, 1500
    table = np.array([1.0, 0.0, 2.0])
    at = (np.arange(size) + 0.5) / size
    x, y = np.meshgrid(at, at)
    inside = x + y < 1 - 0.25 / size
    p = np.stack([x[inside], y[inside], 1 - x[inside] - y[inside]])

    def density(alpha: np.ndarray) -> np.ndarray:
        logs = (alpha - 1) @ np.log(p) + gammaln(alpha.sum()) - gammaln(alpha).sum()
        mass = np.exp(logs)
        return mass / mass.sum()

    one, two = (density(prior + table + np.eye(3)[cell]) for cell in (0, 1))
    found = np.maximum(one - math.exp(epsilon) * two, 0.0).sum()
    held = (prior + table)[:2]
    assert found == pytest.approx(beta_stick((held[0] + 1, held[1]), (held[0], held[1] + 1), epsilon), rel=2e-3)


def test_the_profile_is_below_the_renyi_conversion_and_equal_curves() -> None:
    """8 to 24% of epsilon were lost by converting the curve."""
    for prior, n in (((6.0, 12.0, 3.0), 100), ((1.0,) * 5, 50), ((40.0, 30.0, 20.0), 10**6)):
        exact, curve = (kind("dirichlet", {"prior": prior, "n": n}) for kind in (dc.ConjugateProfile, dc.RenyiDP))
        for delta in (1e-9, 1e-6, 1e-3):
            assert exact.epsilon(delta) < 0.95 * curve.epsilon(delta)
            assert exact.delta(exact.epsilon(delta)) <= delta
        assert exact.renyi(1.3) == curve.renyi(1.3)
    assert dc.ConjugateProfile("dirichlet", {"prior": (1.0, 2.0, 3.0), "n": 0}).delta(0.0) == 0.0
    with pytest.raises(dc.GuaranteeError, match="two entries or more"):
        dc.ConjugateProfile("dirichlet", {"prior": (1.0,), "n": 3})
