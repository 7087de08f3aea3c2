"""Gaussian systems: conjugate updates, prior simulation, the inverse Wishart correspondence, axes and terms."""

import numpy as np
import pytest
from scipy.stats import invwishart

from discreet.errors import QueryError
from discreet.inference.gaussian.gaussian_system import Factor, GaussianSystem, NormalNode, from_niw
from discreet.inference.gaussian.released_sums import Term, term_values
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
    design = system.design(z, np.zeros((7, 0)))
    centre, kappa = z.mean(0), KAPPA + 7
    scatter = PSI + (z - centre).T @ (z - centre) + KAPPA * 7 / kappa * np.outer(centre - MEAN, centre - MEAN)
    expected = from_niw("abc", (KAPPA * MEAN + 7 * centre) / kappa, kappa, NU + 7, scatter)
    for node, other in zip(system.updated(design.T @ design).nodes, expected, strict=True):
        np.testing.assert_allclose(node.mean, other.mean)
        np.testing.assert_allclose(node.precision, other.precision)
        assert (node.shape, node.rate) == pytest.approx((other.shape, other.rate))


def test_update_with_factors_is_one_step_or_two():
    system, rng = regression(), np.random.default_rng(2)
    theta = {name: values[0] for name, values in system.sample(1, rng).items()}
    design = system.design(*system.records(theta, 40, rng))
    once = system.updated(design.T @ design)
    twice = system.updated(design[:15].T @ design[:15]).updated(design[15:].T @ design[15:])
    for node, other in zip(once.nodes, twice.nodes, strict=True):
        np.testing.assert_allclose(node.mean, other.mean)
        assert node.rate == pytest.approx(other.rate)
    for factor, other in zip(once.factors, twice.factors, strict=True):
        np.testing.assert_allclose(factor.alpha, other.alpha)
        assert factor.alpha.sum() == pytest.approx(40 + 4)


def test_many_records_lead_the_update_back_to_the_parameters():
    system, rng = regression(), np.random.default_rng(3)
    theta = {name: values[0] for name, values in system.sample(1, rng).items()}
    design = system.design(*system.records(theta, 200_000, rng))
    after = system.updated(design.T @ design)
    for j, node in enumerate(after.nodes):
        np.testing.assert_allclose(node.mean, theta[f"coefficients[{j}]"], atol=0.05)
        assert node.rate / node.shape == pytest.approx(theta[f"variance[{j}]"], rel=0.03)
    for f, factor in enumerate(after.factors):
        np.testing.assert_allclose(factor.alpha / factor.alpha.sum(), theta[f"probabilities[{f}]"], atol=0.01)


def test_records_take_one_parameter_each_where_asked():
    system, rng = regression(), np.random.default_rng(4)
    parameters = system.sample(50_000, rng)
    values, codes = system.records(parameters, 50_000, rng)
    np.testing.assert_allclose(np.bincount(codes[:, 0]) / 50_000, [0.5, 0.25, 0.25], atol=0.015)
    assert values[:, 0].mean() == pytest.approx(0.5, abs=0.03)


def test_design_lists_constant_values_and_dummies_without_first_levels():
    design = regression().design([[1.5, 2.5], [3.5, 4.5]], [[2, 0], [0, 1]])
    np.testing.assert_array_equal(design, [[1, 1.5, 2.5, 0, 1, 0], [1, 3.5, 4.5, 0, 0, 1]])
    np.testing.assert_array_equal(regression().regressors[1], [0, 1, 5, 3, 4])


def test_axis_clamps_rounds_and_coarsens_as_declared():
    axis = Axis(-1.0, 1.0, 0.125, -8, 1, 8)
    x = np.array([-9.0, -1.0, -0.9, 0.0, 0.0624, 0.0626, 0.99, 1.0, 9.0])
    steps = [int(np.floor(min(max(value, -1.0), 1.0) / 0.125 + 0.5)) for value in x]
    np.testing.assert_array_equal(axis.values(x), [2 * ((k + 8 + 1) >> 1) - 8 for k in steps])
    assert axis.values(x).min() == -8
    assert axis.values(x).max() == 8


def test_terms_multiply_clamped_values_and_indicators():
    law, axis = DiscreteLaplace(1.0), Axis(-2.0, 2.0, 1.0, -2, 0, 4)
    terms = [Term(0, law), Term(0, law, (0, 1)), Term(0, law, (1,), ((0, 2),)), Term(0, law, (), ((0, 2), (1, 1)))]
    values, codes = np.array([[1.0, -2.0], [9.0, 0.0]]), np.array([[2, 1], [2, 0]])
    np.testing.assert_array_equal(term_values(terms, [axis, axis], values, codes), [[1, -8, -4, 1], [1, 0, 0, 0]])


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
