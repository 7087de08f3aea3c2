"""Gaussian systems: conjugate updates, prior draws, the inverse Wishart correspondence, and axes."""

import numpy as np
import pytest
from scipy.stats import invwishart

from discreet.errors import QueryError
from discreet.inference.gaussian.gaussian_system import Factor, GaussianSystem, NormalNode, from_niw
from discreet.inference.gaussian.released_sums import Term
from discreet.noise import DiscreteLaplace
from discreet.queries.counts_and_sums import Axis

MEAN = np.array([1.0, -2.0, 0.5])
PSI = np.array([[2.0, 0.5, 0.3], [0.5, 1.0, -0.2], [0.3, -0.2, 3.0]])
KAPPA, NU = 2.0, 12.0


def regression() -> GaussianSystem:
    feature = from_niw(("x",), [0.5], 2.0, 5.0, [[3.0]])
    response = NormalNode("y", (0,), (1, 0), np.arange(5.0), np.eye(5) * 2.0, 3.0, 2.0)
    return GaussianSystem((*feature, response), (Factor("f", [2.0, 1.0, 1.0]), Factor("g", [1.0, 3.0])))


def test_niw_nodes_have_the_moments_of_the_inverse_wishart_law():
    """Moments of 200,000 draws within 3%: more than six standard errors of each."""
    system = GaussianSystem(from_niw("abc", MEAN, KAPPA, NU, PSI))
    means, covariances = system.mean_and_covariance(system.sample(200_000, np.random.default_rng(0)))
    law = invwishart(NU, PSI)
    np.testing.assert_allclose(covariances.mean(0), law.mean(), atol=0.01)
    np.testing.assert_allclose(covariances.var(0), law.var(), rtol=0.08)
    np.testing.assert_allclose(means.mean(0), MEAN, atol=0.01)
    np.testing.assert_allclose(np.cov(means.T), law.mean() / KAPPA, atol=0.01)


def test_update_of_niw_nodes_is_the_niw_update():
    system = GaussianSystem(from_niw("abc", MEAN, KAPPA, NU, PSI))
    z = np.random.default_rng(1).normal(size=(7, 3)) + 3.0
    design = np.column_stack([np.ones(7), z])
    centre, kappa = z.mean(0), KAPPA + 7
    scatter = PSI + (z - centre).T @ (z - centre) + KAPPA * 7 / kappa * np.outer(centre - MEAN, centre - MEAN)
    expected = from_niw("abc", (KAPPA * MEAN + 7 * centre) / kappa, kappa, NU + 7, scatter)
    for node, other in zip(system.updated(design.T @ design).nodes, expected, strict=True):
        np.testing.assert_allclose(node.mean, other.mean)
        np.testing.assert_allclose(node.precision, other.precision)
        assert (node.shape, node.rate) == pytest.approx((other.shape, other.rate))


def test_update_with_factors_is_one_step_or_two():
    system, rng = regression(), np.random.default_rng(2)
    codes = np.stack([rng.integers(3, size=40), rng.integers(2, size=40)], axis=1)
    dummies = [codes[:, 0] == 1, codes[:, 0] == 2, codes[:, 1] == 1]
    design = np.column_stack([np.ones(40), rng.normal(size=(40, 2)), *dummies]).astype(float)
    np.testing.assert_array_equal(system.regressors[1], [0, 1, 5, 3, 4])  # in such a design
    once = system.updated(design.T @ design)
    twice = system.updated(design[:15].T @ design[:15]).updated(design[15:].T @ design[15:])
    for node, other in zip(once.nodes, twice.nodes, strict=True):
        np.testing.assert_allclose(node.mean, other.mean)
        assert node.rate == pytest.approx(other.rate)
    for factor, other in zip(once.factors, twice.factors, strict=True):
        np.testing.assert_allclose(factor.alpha, other.alpha)
        assert factor.alpha.sum() == pytest.approx(40 + 4)


def test_axis_clamps_rounds_and_coarsens_as_declared():
    axis = Axis(-1.0, 1.0, 0.125, -8, 1, 8)
    x = np.array([-9.0, -1.0, -0.9, 0.0, 0.0624, 0.0626, 0.99, 1.0, 9.0])
    steps = [int(np.floor(min(max(value, -1.0), 1.0) / 0.125 + 0.5)) for value in x]
    np.testing.assert_array_equal(axis.values(x), [2 * ((k + 8 + 1) >> 1) - 8 for k in steps])
    assert axis.values(x).min() == -8
    assert axis.values(x).max() == 8


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Factor("f", [1.0]), "Factor.alpha"),
        (lambda: NormalNode("x", (), (), [0.0], [[1.0]], 0.0, 1.0), "NormalNode.shape"),
        (lambda: NormalNode("x", (), (), [0.0], [[-1.0]], 1.0, 1.0), "NormalNode.precision"),
        (lambda: GaussianSystem((NormalNode("x", (0,), (), [0.0, 0.0], np.eye(2), 1.0, 1.0),)), "NormalNode.parents"),
        (lambda: GaussianSystem((NormalNode("x", (), (0,), [0.0], [[1.0]], 1.0, 1.0),)), "NormalNode.dummies"),
        (lambda: GaussianSystem((NormalNode("x", (), (), [0.0, 1.0], np.eye(2), 1.0, 1.0),)), "NormalNode.mean"),
        (lambda: from_niw("ab", [0.0, 0.0], 1.0, 0.5, np.eye(2)), "from_niw.nu"),
        (lambda: from_niw("ab", [0.0, 0.0], 0.0, 3.0, np.eye(2)), "from_niw.kappa"),
        (lambda: from_niw("ab", [0.0], 1.0, 3.0, np.eye(2)), "from_niw.psi"),
        (lambda: Term(0, DiscreteLaplace(1.0), (0, 0, 0)), "at most two"),
        (lambda: regression().mean_and_covariance({}), "GaussianSystem.factors"),
    ],
)
def test_wrong_declarations_are_refused(build, message):
    with pytest.raises(QueryError, match=message):
        build()
