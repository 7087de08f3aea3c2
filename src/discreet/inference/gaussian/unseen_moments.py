"""Noise-aware moments: what released sums say of the unseen means and covariances of the rows.

Theory: docs/theory/unseen_moments.md.

The rows' numbers are clamped to their bounds and lie in [-1, 1] in units of half their range, u. Unseen are, of the n
rows, the shares of the cells (combinations of levels), the means of every number in every cell (additive on the scale
of atanh where several columns have levels), and the covariance W within cells. The released sums are linear in them:

    rows in a level            n Σ shares                                 + noise
    Σ u_j within a level       n Σ shares f_j                             + noise
    Σ u_i u_j                  n (Σ shares f_i f_j + W_ij)                + noise

Nothing is assumed about the law of a record, nothing is projected, and the cost does not depend on n. What the sample's
moments say about the population's is the business of `population_moments`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import QueryError
from discreet.inference.gaussian.correlation_priors import CorrelationPrior, Lkj
from discreet.inference.gaussian.gaussian_system import GaussianSystem
from discreet.inference.gaussian.released_sums import Term
from discreet.numerics.arrays import Array, Integers
from discreet.queries.counts_and_sums import Axis
from discreet.schema.row_counts import Sizes

if TYPE_CHECKING:
    from discreet.inference.gaussian.kernels.unseen_layout import Conjugates, Nodes, ReleasedSums, Unseen

__all__ = ["MOST_CELLS", "BoxPrior", "MomentTarget", "cells_of", "dummies", "likely_rows", "priors_of", "target_of"]

MOST_CELLS = 20_000  # combinations of levels that are gone through for every gradient
SIZE_NODES = 400  # totals at which the prior of a private number of rows is kept
LEAST_SCALE = 0.1  # of noise in whole numbers: below, it is hardly there
MODERATE = Lkj(2.0)  # correlations vanish at the edge of what is positive
LEAST_CONCENTRATION = 0.25  # of a cell, however many there are


@dataclass(frozen=True)
class BoxPrior:
    """Weak priors within the bounds: of a variance as a share of its room, Beta(low, high); of correlations, their own.

    A mean is Beta(means, means) between its bounds. Where bounds are wide, mean and deviation lie beside their ends,
    and a prior without mass there would shut them out as long as noise hides them: hence small `means` and `low`.
    `slopes` is the Cauchy scale of a target's slopes, in half-ranges; 0 where no number is a target.
    """

    low: float
    high: float
    correlations: CorrelationPrior = MODERATE
    slopes: float = 0.0
    residual: tuple[float, float] = (0.5, 2.0)
    means: float = 0.5


@dataclass(frozen=True, eq=False)
class MomentTarget:
    """A release and the priors, packed for the compiled loops."""

    released: "ReleasedSums"
    nodes: "Nodes"
    conjugates: "Conjugates | None"
    unseen: "Unseen"

    @property
    def priors(self) -> "tuple[Nodes, Conjugates | None, Unseen]":
        """Everything but the release, in the order of the compiled functions."""
        return self.nodes, self.conjugates, self.unseen

    @property
    def numbers(self) -> int:
        """How many numbers there are."""
        return int(self.nodes.conjugate.size)


def target_of(
    system: GaussianSystem,
    axes: Sequence[Axis],
    terms: Sequence[Term],
    sizes: Sizes,
    box: BoxPrior,
    conjugate: Sequence[bool],
    concentration: float,
) -> MomentTarget:
    """Pack released terms. Numbers with `conjugate` have the system's own prior, the others the weak one of the box."""
    from discreet.inference.gaussian.kernels.unseen_layout import ReleasedSums

    levels = tuple(factor.levels for factor in system.factors)
    cells, p = cells_of(levels), len(axes)
    reach = [float(axis.reach) for axis in axes]
    units = np.array([np.prod([reach[j] for j in term.numbers]) for term in terms])
    members = np.ones((len(terms), len(cells)))
    for t, term in enumerate(terms):
        for f, code in term.levels:
            members[t] *= cells[:, f] == code
    scales = np.array([max(term.law.width, LEAST_SCALE) for term in terms])
    numbers = [tuple(sorted(term.numbers)) + (-1,) * (2 - len(term.numbers)) for term in terms]
    released = ReleasedSums(
        members,
        np.array([pair[0] for pair in numbers], dtype=np.int64),
        np.array([pair[1] for pair in numbers], dtype=np.int64),
        np.array([term.released for term in terms]) / units,
        scales / units,
        np.array([not term.law.gaussian for term in terms]),
        _pairs(numbers, p),
    )
    wide = levels if len(levels) > 1 else ()
    design = dummies(levels, cells)
    if p != len(conjugate):
        raise QueryError(f"target_of.conjugate must be one for each of {p} numbers, got {len(conjugate)}")
    return MomentTarget(
        released,
        *priors_of(system, axes, box, tuple(conjugate)),
        _unseen(cells, levels, design if wide else np.eye(len(cells)), design, sizes, concentration, released, p),
    )


def _pairs(numbers: Sequence[tuple[int, ...]], p: int) -> Integers:
    """Which term is that of the product of two numbers: there is one for each."""
    found = np.full((p, p), -1, dtype=np.int64)
    for t, (first, second) in enumerate(numbers):
        if second >= 0:
            found[first, second] = found[second, first] = t
    if (found < 0).any():
        raise QueryError("target_of.terms must have the sums of the products of all numbers")
    return found


def cells_of(levels: Sequence[int]) -> Integers:
    """All combinations of levels, (cells, factors); one cell where there are no levels."""
    if np.prod([float(count) for count in levels]) > MOST_CELLS:
        raise QueryError(f"the categories must have at most {MOST_CELLS} combinations of levels, got {list(levels)}")
    places = list(np.ndindex(*levels))
    return np.array(places, dtype=np.int64).reshape(len(places), len(levels))


def dummies(levels: Sequence[int], cells: Integers) -> Array:
    """A constant, and an indicator of every level but the first of each factor, (cells, …)."""
    columns = [np.ones(len(cells))]
    columns += [cells[:, f] == code for f, count in enumerate(levels) for code in range(1, count)]
    return np.stack(columns, axis=1).astype(float)


def _unseen(
    cells: Integers,
    levels: tuple[int, ...],
    basis: Array,
    design: Array,
    sizes: Sizes,
    concentration: float,
    released: "ReleasedSums",
    p: int,
) -> "Unseen":
    from discreet.inference.gaussian.kernels.unseen_layout import Unseen

    # shares follow main effects and pairs of levels: just what the tables of pairs can tell
    starts = np.cumsum([0, *(count - 1 for count in levels)])
    mains = [design[:, 1 + start : 1 + stop] for start, stop in pairwise(starts)]
    pairs = [np.einsum("ca,cb->cab", a, b).reshape(len(cells), -1) for a, b in combinations(mains, 2)]
    links = np.concatenate([np.zeros((len(cells), 0)), *mains, *pairs], axis=1)
    each = max(concentration * max(levels, default=1) / len(cells), LEAST_CONCENTRATION)
    each = concentration if len(levels) <= 1 else each
    known = sizes.lowest == sizes.highest
    grid, weight = (np.zeros(0), np.zeros(0)) if known else _size_grid(sizes, design.shape[1] + p - 1)
    return Unseen(
        np.ascontiguousarray(links),
        np.ascontiguousarray(basis),
        np.ascontiguousarray(design),
        np.full(len(cells), each),
        _seen(released, likely_rows(released, sizes.lowest, sizes.highest), p),
        float(sizes.highest),
        grid,
        weight,
    )


def likely_rows(released: "ReleasedSums", lowest: float, highest: float) -> float:
    """The number of rows, or what noisy counts say of it: every cell is counted equally often."""
    if lowest == highest:
        return float(highest)
    counts = released.first < 0
    often = released.members[counts].sum(axis=0).max()
    return float(np.clip(released.value[counts].sum() / often, lowest, highest))


def _seen(released: "ReleasedSums", n: float, p: int) -> Array:
    """For each number, the released variance in widths of the noise on it: a hint for moves, no more."""
    n, found = max(n, 1.0), np.empty(p)
    for j in range(p):
        sums, square = (released.first == j) & (released.second < 0), released.pairs[j, j]
        mean = np.clip(released.value[sums].sum() / n / released.members[sums].sum(axis=0).max(), -1.0, 1.0)
        found[j] = (released.value[square] - n * mean**2) / released.scale[square]
    return found


def _size_grid(sizes: Sizes, widest: int) -> tuple[Array, Array]:
    """Totals from few to the largest, and the logarithm of their prior between them."""
    high = max(float(sizes.highest), widest + 4.0)
    grid = np.unique(np.concatenate([np.geomspace(1.0, high, SIZE_NODES), np.linspace(1.0, high, SIZE_NODES)]))
    weight = np.asarray(sizes.log_weight(np.minimum(np.round(grid), sizes.highest)), dtype=float)
    return grid, np.maximum(weight - weight.max(), -1e4)


def priors_of(
    system: GaussianSystem, axes: Sequence[Axis], box: BoxPrior, conjugate: tuple[bool, ...]
) -> "tuple[Nodes, Conjugates | None]":
    """Weak priors, and conjugate ones in half-ranges: x = centre + half u, regressors (design, earlier numbers)."""
    from discreet.inference.gaussian.kernels.unseen_layout import Conjugates, Nodes

    p, effects = len(axes), sum(factor.levels - 1 for factor in system.factors)
    widest = effects + p
    mean, precision = np.zeros((p, widest)), np.zeros((p, widest, widest))
    shape, rate = np.ones(p), np.ones(p)
    half = np.array([axis.unit * axis.reach for axis in axes])
    centre = np.array([axis.centre for axis in axes])
    for j, node in enumerate(system.nodes):
        if not conjugate[j]:
            continue
        k = 1 + effects + j
        # the node's order is (constant, earlier numbers, dummies); ours is (constant, dummies, earlier numbers)
        order = [0, *range(1 + j, 1 + j + effects), *range(1, 1 + j)]
        change = np.eye(k)  # coefficients of x as a function of those of u, both for y in half-ranges
        for i in range(j):
            change[1 + effects + i, 1 + effects + i] = 1.0 / half[i]
            change[0, 1 + effects + i] = -centre[i] / half[i]
        own = node.mean[order].copy()
        own[0] -= centre[j]
        mean[j, :k] = np.linalg.solve(change, own / half[j])
        precision[j, :k, :k] = change.T @ node.precision[np.ix_(order, order)] @ change
        shape[j], rate[j] = node.shape, node.rate / half[j] ** 2
    low, high = np.full(p, box.low), np.full(p, box.high)
    if box.slopes:
        low[-1], high[-1] = box.residual
    whole, single = box.correlations.powers(sum(not own for own in conjugate[: p - 1 if box.slopes else p]))
    nodes = Nodes(np.array(conjugate, dtype=bool), box.means, low, high, whole, single, box.slopes)
    return nodes, Conjugates(mean, precision, shape, rate) if any(conjugate) else None
