"""Mean and covariance of what one record of a Gaussian system adds to the released terms.

Every term is measured in units of its largest value, so that all are of order one. Means are closed forms with one
short quadrature per pair of values, accurate far beyond 1/sqrt(n) for any n. Factors are independent, and only their
dummies shift means: those of all levels' combinations are averaged exactly.

Covariances need two digits only: they are those of a fixed set of quasi-random records. Their codes are drawn from
public probabilities, flattened so that rare levels are present, and weighted back to the probabilities asked for.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import QueryError
from discreet.inference.gaussian.gaussian_system import GaussianSystem
from discreet.inference.gaussian.released_sums import Term
from discreet.numerics.arrays import Array, Integers
from discreet.queries.counts_and_sums import Axis

if TYPE_CHECKING:
    from discreet.inference.gaussian.kernels.clamped import TermLayout
    from discreet.inference.gaussian.kernels.coordinate_maps import Records

__all__ = ["flatten", "layout_of", "quasi_random", "term_units"]


MOST_COMBINATIONS = 2000
SEED = 20_240_613  # of the fixed quasi-random records: public, and the same for everybody


def layout_of(system: GaussianSystem, axes: Sequence[Axis], terms: Sequence[Term]) -> "TermLayout":
    """The system, its axes and its terms as the arrays that compiled loops read."""
    from discreet.inference.gaussian.kernels.clamped import TermLayout

    sizes = [factor.levels for factor in system.factors]
    dummy_factor, dummy_level = np.full(system.width, -1), np.full(system.width, -1)
    for f, (start, size) in enumerate(zip(system.dummy_starts, sizes, strict=True)):
        dummy_factor[start : start + size - 1] = f
        dummy_level[start : start + size - 1] = np.arange(1, size)
    shifting = _shifting(system)
    numbers = [tuple(sorted(term.numbers)) for term in terms]
    products = sorted(set(numbers))
    levels = np.full((len(terms), 2, 2), -1)
    for t, term in enumerate(terms):
        levels[t, : len(term.levels)] = np.reshape(term.levels, (-1, 2))
    grids = np.array([_value_grid(axis) for axis in axes]).reshape(-1, 5).T.copy()
    return TermLayout(
        starts=np.cumsum([0, *(places.size for places in system.regressors)]),
        places=np.concatenate(system.regressors),
        dummy_factor=dummy_factor,
        dummy_level=dummy_level,
        level_starts=np.cumsum([0, *sizes]),
        slope=grids[0],
        offset=grids[1],
        low=grids[2],
        high=grids[3],
        spacing=grids[4],
        shifted=np.array([*(bool(factors) for factors in shifting), False], dtype=np.int64),
        combinations=_combinations(sizes, frozenset().union(*shifting)),
        products=np.array([[*nodes, *(-1,) * (2 - len(nodes))] for nodes in products]),
        term_product=np.array([products.index(nodes) for nodes in numbers]),
        term_levels=levels,
    )


def term_units(axes: Sequence[Axis], terms: Sequence[Term]) -> Array:
    """The largest value one record can add to each term."""
    return np.array([prod((float(axes[number].reach) for number in term.numbers), start=1.0) for term in terms])


def quasi_random(system: GaussianSystem, probabilities: Array, points: int) -> "Records":
    """Fixed points, with codes drawn half from the given level probabilities and half from all levels alike."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    from discreet.inference.gaussian.kernels.coordinate_maps import Records

    nodes, factors = len(system.nodes), len(system.factors)
    uniforms = qmc.Sobol(nodes + factors, rng=SEED).random(points)
    codes, proposal, start = np.zeros((points, factors), dtype=np.int64), [], 0
    for f, factor in enumerate(system.factors):
        share = 0.5 * probabilities[start : start + factor.levels] + 0.5 / factor.levels
        codes[:, f] = np.searchsorted(np.cumsum(share)[:-1], uniforms[:, nodes + f], side="right")
        proposal.append(share)
        start += factor.levels
    errors = ndtri(np.clip(uniforms[:, :nodes], 1e-12, 1 - 1e-12))
    return Records(np.ascontiguousarray(errors), codes, np.concatenate([*proposal, np.zeros(0)]))


def flatten(system: GaussianSystem, parameters: Mapping[str, ArrayLike]) -> tuple[Array, Array, Array]:
    """Coefficients of all nodes end to end, deviations, and level probabilities end to end, of one parameter set."""
    nodes, factors = range(len(system.nodes)), range(len(system.factors))
    coefficients = [np.asarray(parameters[f"coefficients[{j}]"], dtype=float) for j in nodes]
    deviations = np.sqrt([float(np.asarray(parameters[f"variance[{j}]"])) for j in nodes])
    probabilities = [np.asarray(parameters[f"probabilities[{f}]"], dtype=float) for f in factors]
    return np.concatenate(coefficients), deviations, np.concatenate([*probabilities, np.zeros(0)])


def _value_grid(axis: Axis) -> tuple[float, float, float, float, float]:
    """Slope and offset of u, the ends of the clamp and the spacing; a coarsened axis rounds up half a grid step."""
    reach, cell = float(axis.reach), float(1 << axis.shift)
    slope = 2.0 / (axis.grid * cell * reach)
    offset = 2.0 * ((0.5 if axis.shift else 0.0) - axis.low) / (cell * reach) - 1.0
    low, high = axis.values([axis.lower, axis.upper]) / reach
    return slope, offset, float(low), float(high), 2.0 / reach


def _shifting(system: GaussianSystem) -> list[frozenset[int]]:
    """For each node, the factors its mean depends on, directly or through its parents."""
    found: list[frozenset[int]] = []
    for node in system.nodes:
        found.append(frozenset(node.dummies).union(*(found[parent] for parent in node.parents)))
    return found


def _combinations(sizes: Sequence[int], shifting: frozenset[int]) -> Integers:
    """All combinations of levels of the factors that shift means; -1 for the other factors."""
    ranges = [range(size) if f in shifting else (-1,) for f, size in enumerate(sizes)]
    number = prod(len(levels) for levels in ranges)
    if number > MOST_COMBINATIONS:
        raise QueryError(
            f"GaussianSystem.factors of one regression must have at most {MOST_COMBINATIONS} combinations of levels "
            f"for a posterior from many records, got {number}"
        )
    return np.array(list(product(*ranges)), dtype=np.int64).reshape(number, len(sizes))
