"""Where chains over unseen moments start: at a mode, also where two columns say nearly the same."""

from itertools import combinations_with_replacement

import numpy as np
import pytest

import discreet.inference.gaussian.mode as newton
from discreet.inference.gaussian.gaussian_system import GaussianSystem, from_niw
from discreet.inference.gaussian.released_sums import Term
from discreet.inference.gaussian.unseen_moments import BoxPrior, target_of
from discreet.noise import DiscreteGaussian
from discreet.queries.counts_and_sums import Axis
from discreet.schema.row_counts import KnownSize

REACH, ROWS, NOISE = 1000, 4177, 1.3
MEANS, SPREADS = np.array([0.05, -0.52, -0.34]), np.array([0.24, 0.28, 0.21])  # lengths, weights and rings of shells
CORRELATIONS = np.array([[1.0, 0.9, 0.56], [0.9, 1.0, 0.63], [0.56, 0.63, 1.0]])


@pytest.mark.parametrize(
    "steps", [newton.STEPS, 60]
)  # the twin: 60 steps end far below, and chains from there got lost
def test_a_mode_is_reached_where_two_columns_nearly_agree(monkeypatch, steps) -> None:
    """Climbing again and again from where it ended gains nothing."""
    from discreet.inference.gaussian.kernels.moment_density import log_posterior

    squares = CORRELATIONS * np.outer(SPREADS, SPREADS) + np.outer(MEANS, MEANS)
    terms = [Term(ROWS * MEANS[j] * REACH, DiscreteGaussian(NOISE * REACH), (j,)) for j in range(3)]
    for i, j in combinations_with_replacement(range(3), 2):
        terms.append(Term(ROWS * squares[i, j] * REACH**2, DiscreteGaussian(NOISE * REACH**2), (i, j)))
    names = ("x0", "x1", "x2")
    axes = tuple(Axis(0.0, 10.0, 0.01, 0, 0, REACH, name) for name in names)
    system = GaussianSystem(from_niw(names, np.full(3, 5.0), 1.0, 5.0, np.eye(3)))
    box = BoxPrior(0.5, 2.0, slopes=1.0)
    target = target_of(system, axes, terms, KnownSize(ROWS), box, (False,) * 3, 1.0)

    def height(theta: np.ndarray) -> float:
        return float(log_posterior(target.released, *target.priors, theta, np.empty(theta.size)))

    monkeypatch.setattr(newton, "STEPS", steps)
    found, _ = newton.climb(target, target.released, newton.first_point(target))
    monkeypatch.undo()
    highest = found
    for _ in range(10):
        highest, _ = newton.climb(target, target.released, highest)
    assert (height(highest) - height(found) < 0.1) == (steps != 60)
