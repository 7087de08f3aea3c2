"""Gaussian systems: categorical codes and numeric values in order, each value a linear regression on earlier ones.

    c_f ~ Categorical(pi_f),   pi_f ~ Dirichlet(alpha_f)                                    independent factors
    z_j = beta_j . r_j + sigma_j e,   e ~ N(0, 1),   r_j = (1, some earlier z, some dummies)
    beta_j | sigma_j² ~ N(m_j, sigma_j² inv(Lambda_j)),   sigma_j² ~ InverseGamma(a_j, b_j)

One node is a normal sample, every node on all earlier ones a multivariate normal (`from_niw`), and one more node on
all features a linear regression. The *design vector* of a record is (1, z_1 … z_d, dummies of factor 1 without its
first level, dummies of factor 2, …); sums of its outer products are all the conjugate update needs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import QueryError
from discreet.numerics.arrays import Array, Integers

__all__ = ["Factor", "GaussianSystem", "NormalNode", "Parameters", "from_niw"]


# "coefficients[j]" (…, regressors), "variance[j]" (…) for node j, "probabilities[f]" (…, levels) for factor f
Parameters = dict[str, Array]


@dataclass(frozen=True, eq=False)
class Factor:
    """A categorical column: independent codes with a Dirichlet prior on the level probabilities."""

    name: str
    alpha: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", np.asarray(self.alpha, dtype=float))
        if self.alpha.ndim != 1 or self.alpha.size < 2 or not np.all((self.alpha > 0) & np.isfinite(self.alpha)):
            raise QueryError(
                f"Factor.alpha must be one number above 0 for each of two or more levels, got {self.alpha}"
            )

    @property
    def levels(self) -> int:
        """How many levels the codes 0, 1, … stand for."""
        return int(self.alpha.size)


@dataclass(frozen=True, eq=False)
class NormalNode:
    """One numeric value: its regressors (constant, parents, dummies, in this order) and its conjugate prior.

    Parameters
    ----------
    parents
        Indices of earlier nodes.
    dummies
        Indices of factors; each adds one regressor for every level but the first.
    mean, precision
        m and Lambda of the coefficients, which have covariance sigma² inv(Lambda).
    shape, rate
        a and b of the inverse gamma law of sigma².
    """

    name: str
    parents: tuple[int, ...]
    dummies: tuple[int, ...]
    mean: Array
    precision: Array
    shape: float
    rate: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", np.atleast_1d(np.asarray(self.mean, dtype=float)))
        object.__setattr__(self, "precision", np.atleast_2d(np.asarray(self.precision, dtype=float)))
        for field in ("shape", "rate"):
            if not 0.0 < getattr(self, field) < np.inf:
                raise QueryError(f"NormalNode.{field} must be above 0, got {getattr(self, field)!r}")
        if self.mean.ndim != 1 or not np.all(np.isfinite(self.mean)):
            raise QueryError(f"NormalNode.mean must be a vector of numbers, got {self.mean}")
        if self.precision.shape != (self.mean.size, self.mean.size) or not _positive_definite(self.precision):
            raise QueryError(
                f"NormalNode.precision must be positive definite of order {self.mean.size}, got {self.precision}"
            )


@dataclass(frozen=True, eq=False)
class GaussianSystem:
    """Nodes in the order of dependence, and the factors their dummies come from."""

    nodes: tuple[NormalNode, ...]
    factors: tuple[Factor, ...] = ()

    def __post_init__(self) -> None:
        for j, node in enumerate(self.nodes):
            if not all(0 <= parent < j for parent in node.parents):
                raise QueryError(f"NormalNode.parents of {node.name!r} must be earlier nodes, got {node.parents}")
            if not all(0 <= factor < len(self.factors) for factor in node.dummies):
                raise QueryError(
                    f"NormalNode.dummies of {node.name!r} must be factors of the system, got {node.dummies}"
                )
            if node.mean.size != self.regressors[j].size:
                raise QueryError(
                    f"NormalNode.mean of {node.name!r} must have one entry per regressor, got {node.mean.size}"
                )

    @property
    def width(self) -> int:
        """The length of the design vector."""
        return 1 + len(self.nodes) + sum(factor.levels - 1 for factor in self.factors)

    @cached_property
    def dummy_starts(self) -> Integers:
        """Where the dummies of each factor start in the design vector."""
        sizes = [factor.levels - 1 for factor in self.factors]
        return np.asarray(1 + len(self.nodes) + np.cumsum([0, *sizes])[:-1], dtype=np.int64)

    @cached_property
    def regressors(self) -> tuple[Integers, ...]:
        """For each node, the places of its regressors in the design vector."""
        return tuple(
            np.array([0, *(1 + parent for parent in node.parents), *self._dummy_places(node)], dtype=np.int64)
            for node in self.nodes
        )

    def updated(self, moments: Array) -> "GaussianSystem":
        """The conjugate posterior as a system: `moments` (width, width) sums the outer products of design vectors."""
        total = float(moments[0, 0])
        nodes = []
        for j, (node, places) in enumerate(zip(self.nodes, self.regressors, strict=True)):
            cross = moments[places, 1 + j]
            square = moments[np.ix_(places, places)]
            precision = node.precision + square
            step = np.linalg.solve(precision, cross - square @ node.mean)
            mean = node.mean + step
            # residual sum of squares about the new mean, and the distance the mean was pulled away from the prior
            residual = moments[1 + j, 1 + j] - 2 * mean @ cross + mean @ square @ mean
            rate = node.rate + 0.5 * (max(float(residual), 0.0) + float(step @ node.precision @ step))
            nodes.append(replace(node, mean=mean, precision=precision, shape=node.shape + 0.5 * total, rate=rate))
        factors = []
        for factor, start in zip(self.factors, self.dummy_starts, strict=True):
            others = moments[0, start : start + factor.levels - 1]
            factors.append(replace(factor, alpha=factor.alpha + np.array([total - others.sum(), *others])))
        return GaussianSystem(tuple(nodes), tuple(factors))

    def sample(self, draws: int, rng: np.random.Generator) -> Parameters:
        """Independent draws of all parameters from the prior; the first axis of every array counts them."""
        parameters: Parameters = {}
        for j, node in enumerate(self.nodes):
            variance = node.rate / rng.gamma(node.shape, size=draws)
            root = np.linalg.cholesky(np.linalg.inv(node.precision))
            spread = rng.standard_normal((draws, node.mean.size)) @ root.T
            parameters[f"coefficients[{j}]"] = node.mean + np.sqrt(variance)[:, np.newaxis] * spread
            parameters[f"variance[{j}]"] = variance
        for f, factor in enumerate(self.factors):
            parameters[f"probabilities[{f}]"] = rng.dirichlet(factor.alpha, size=draws)
        return parameters

    def mean_and_covariance(self, parameters: Mapping[str, Array]) -> tuple[Array, Array]:
        """Mean (…, nodes) and covariance (…, nodes, nodes) of a record's values, for systems without factors."""
        if self.factors:
            raise QueryError("GaussianSystem.factors must be empty for one mean and covariance, got some")
        leading = np.shape(parameters["variance[0]"])
        size = len(self.nodes)
        means, covariance = np.zeros((*leading, size)), np.zeros((*leading, size, size))
        for j, node in enumerate(self.nodes):
            parents = list(node.parents)
            constant, slopes = np.split(np.asarray(parameters[f"coefficients[{j}]"]), [1], axis=-1)
            means[..., j] = constant[..., 0] + np.sum(slopes * means[..., parents], axis=-1)
            cross = np.einsum("...p,...pk->...k", slopes, covariance[..., parents, :])
            covariance[..., j, :] = cross
            covariance[..., :, j] = cross
            explained = np.sum(slopes * cross[..., parents], axis=-1)
            covariance[..., j, j] = parameters[f"variance[{j}]"] + explained
        return means, covariance

    def _dummy_places(self, node: NormalNode) -> list[int]:
        return [int(self.dummy_starts[f]) + level for f in node.dummies for level in range(self.factors[f].levels - 1)]


def from_niw(names: Sequence[str], mean: ArrayLike, kappa: float, nu: float, psi: ArrayLike) -> tuple[NormalNode, ...]:
    """Nodes of a multivariate normal with prior Sigma ~ InverseWishart(nu, Psi), mu | Sigma ~ N(mean, Sigma / kappa).

    Node j regresses on all earlier ones. The prior acts like kappa records at the mean with scatter Psi, so the
    moments of node j's prior are leading blocks of that pseudo-data's moment matrix.
    """
    d = len(names)
    centre = np.asarray(mean, dtype=float).reshape(-1)
    scatter = np.atleast_2d(np.asarray(psi, dtype=float))
    if not 0.0 < kappa < np.inf:
        raise QueryError(f"from_niw.kappa must be above 0, got {kappa!r}")
    if not d - 1 < nu < np.inf:
        raise QueryError(f"from_niw.nu must be above {d - 1}, got {nu!r}")
    if centre.shape != (d,) or scatter.shape != (d, d) or not _positive_definite(scatter):
        raise QueryError(f"from_niw.psi must be positive definite of order {d}, and mean of length {d}")
    point = np.concatenate([[1.0], centre])
    pseudo = kappa * np.outer(point, point)
    pseudo[1:, 1:] += scatter
    nodes = []
    for j, name in enumerate(names):
        precision = pseudo[: 1 + j, : 1 + j]
        slopes = np.linalg.solve(scatter[:j, :j], scatter[:j, j])
        coefficients = np.concatenate([[centre[j] - slopes @ centre[:j]], slopes])
        rate = 0.5 * float(scatter[j, j] - slopes @ scatter[:j, j])
        nodes.append(NormalNode(name, tuple(range(j)), (), coefficients, precision, 0.5 * (nu - d + 1 + j), rate))
    return tuple(nodes)


def _positive_definite(matrix: Array) -> bool:
    if not np.all(np.isfinite(matrix)) or not np.allclose(matrix, matrix.T):
        return False
    return bool(np.all(np.linalg.eigvalsh(matrix) > 0))
