"""Public deviations of draws against those of every table."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.mechanisms.draws.tempered import prior_part

N = 6
COLUMNS = {
    "b": dc.Binary(),
    "c": dc.Categorical(["u", "v", "w"]),
    "x": dc.Bounded(-1, 3, grid=1),
    "t": dc.Bounded(1, 5, grid=1),
    "k": dc.Count(4),
}
SCHEMA = dc.Schema(COLUMNS, n=N)


def family_of(model: Any) -> Any:
    return model.query(SCHEMA).family


def sums(family: Any) -> np.ndarray:
    """Every value the exact statistic can take: a count, or a centred sum."""
    return np.arange(N + 1) if not hasattr(family, "axis") else np.arange(-N, N + 1) * family.axis.reach


FAMILIES = [
    dc.BetaBernoulli("b", prior=(0.2, 3.0)),
    dc.StatisticalQuery("x", prior=(2.0, 0.5)),
    dc.NormalMean("x", sd=1.5, prior=(0.0, 2.0)),
    dc.GammaPoisson("k", prior=(0.3, 2.0)),
    dc.GammaExponential("t", prior=(0.3, 2.0)),
]


def deviations(family: Any, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    if hasattr(family, "sd"):
        return second
    if "Rate" in type(family).__name__:
        return np.sqrt(first) / second
    return stats.beta.std(first, second)


@pytest.mark.parametrize("model", FAMILIES, ids=lambda model: type(model).__name__)
def test_no_table_has_a_smaller_deviation(model: Any) -> None:
    """It is attained: the bound is that of some table."""
    family = family_of(model)
    for r, m in ((1.0, 1.0), (0.3, 1.0), (1.0, 0.2)):
        laws = family.update(family.exponents / m, r, sums(family), N)
        found = deviations(family, *laws).min()
        assert family.conjugate_deviation(N, r, m) == pytest.approx(found, rel=1e-12)


def test_no_table_has_a_smaller_deviation_of_a_vector() -> None:
    family = family_of(dc.DirichletCategorical("c", prior=(0.2, 5.0, 1.0)))
    found = []
    for counts in product(range(N + 1), repeat=3):
        if sum(counts) == N:
            alpha = np.array(family.prior) / 0.5 + 0.7 * np.array(counts)
            found.append(np.sqrt(np.diag(stats.dirichlet.cov(alpha))).min())
    assert family.conjugate_deviation(N, 0.7, 0.5) == pytest.approx(min(found), rel=1e-12)


@pytest.mark.parametrize("model", FAMILIES, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("tempering", ["joint", "natural", "likelihood"])
def test_no_table_has_a_smaller_deviation_on_a_declared_space(model: Any, tempering: Any) -> None:
    """By quadrature; of a mean the noise is measured before it is cut, so that far outside it may be smaller."""
    family = family_of(model)
    if hasattr(family, "sd"):
        assert family.tempered_deviation(family.exponents, 1.0, N, (0.0, 1e-3)) == pytest.approx(1e-3 / 12**0.5)
        return
    for heat, (low, high) in product((1.0, 7.0), ((0.01, 0.99), (0.2, 0.8), (0.45, 0.55))):
        part = prior_part(family, heat, tempering)
        bound = family.tempered_deviation(part, 1.0 / heat, N, (low, high))
        x = np.linspace(low, high, 4001)
        for one, two in zip(*family.update(part, 1.0 / heat, sums(family), N), strict=True):
            fall = -two * x if "Rate" in type(family).__name__ else (two - 1) * np.log1p(-x)
            logs = (one - 1) * np.log(x) + fall
            weight = np.exp(logs - logs.max())
            mean = np.average(x, weights=weight)
            assert np.sqrt(np.average((x - mean) ** 2, weights=weight)) >= bound
