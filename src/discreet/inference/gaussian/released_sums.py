"""What is released of a Gaussian system: noisy sums over records of products of clamped values and level indicators.

A number x is clamped to [lower, upper], rounded to the column's grid and coarsened to whole numbers centred at 0:

    k = floor(x / grid + 1/2),   v = 2 ((k - low + 2^shift / 2) >> shift) - reach,   clipped to [-reach, reach]

A term is the sum over the used records of a product of at most two such v and at most two level indicators; the
empty product counts the records. All sums are integers below 2^53, which doubles hold exactly.

A Gaussian system and its released terms as the flat arrays that compiled sweeps read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import QueryError
from discreet.inference.gaussian.gaussian_system import GaussianSystem
from discreet.noise import NoiseLaw
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis
from discreet.schema.row_counts import Sizes

if TYPE_CHECKING:
    from discreet.inference.gaussian.kernels.layout import Graph, Noisy, Prior

__all__ = ["Term", "counting_terms", "flat", "pack", "term_values"]

SIZES_AT_ONCE = 4096  # totals whose prior is computed together
NEGLIGIBLE = 60.0  # log-ratio of densities below which totals are left out
WIDER = 1.25  # the stand-ins for log-gamma laws, which have one heavier tail


@dataclass(frozen=True)
class Term:
    """One released sum.

    Parameters
    ----------
    released
        The noisy sum.
    law
        The law of its noise.
    numbers
        Indices of the nodes whose v are multiplied: none, one, or two (twice the same for a square).
    levels
        Up to two pairs (factor, level): the record counts only if each factor has that level.
    """

    released: float
    law: NoiseLaw
    numbers: tuple[int, ...] = ()
    levels: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if len(self.numbers) > 2 or len(self.levels) > 2:
            raise QueryError("Term must multiply at most two numbers and two levels, got more")
        if not np.isfinite(self.released):
            raise QueryError(f"Term.released must be finite, got {self.released!r}")


def term_values(terms: Sequence[Term], axes: Sequence[Axis], values: ArrayLike, codes: ArrayLike) -> Array:
    """What each record adds to each term, (records, terms): values (n, nodes) are clamped here, codes (n, factors)."""
    z, c = np.asarray(values, dtype=float), np.asarray(codes, dtype=np.int64)
    clamped = [axis.values(z[:, j]) for j, axis in enumerate(axes)]
    columns = np.ones((len(z), len(terms)))
    for t, term in enumerate(terms):
        for number in term.numbers:
            columns[:, t] *= clamped[number]
        for factor, level in term.levels:
            columns[:, t] *= c[:, factor] == level
    return columns


def pack(
    system: GaussianSystem, axes: Sequence[Axis], terms: Sequence[Term], sizes: Sizes
) -> "tuple[Graph, Noisy, Prior]":
    """Everything that is fixed during a chain; `kernels.layout` describes the tuples."""
    return _graph(system), _noisy(system, axes, terms), _prior(system, terms, sizes)


def counting_terms(system: GaussianSystem, terms: Sequence[Term]) -> list[Term]:
    """Terms that add up to the number of records: the empty product, or all levels of one factor; none if neither."""
    alone = [term for term in terms if not term.numbers and not term.levels]
    if alone:
        return alone[:1]
    for f, factor in enumerate(system.factors):
        levels = {term.levels: term for term in terms if not term.numbers and len(term.levels) == 1}
        own = [levels.get(((f, level),)) for level in range(factor.levels)]
        if None not in own:
            return [term for term in own if term is not None]
    return []


def flat(arrays: Sequence[Array]) -> Array:
    """All numbers end to end."""
    return np.concatenate([np.ravel(values) for values in arrays]).astype(float) if arrays else np.empty(0)


def _graph(system: GaussianSystem) -> "Graph":
    orders = [places.size for places in system.regressors]
    levels = [factor.levels for factor in system.factors]
    return (
        np.concatenate(system.regressors).astype(np.int64),
        np.cumsum([0, *orders], dtype=np.int64),
        system.dummy_starts,
        np.cumsum([0, *levels], dtype=np.int64),
    )


def _noisy(system: GaussianSystem, axes: Sequence[Axis], terms: Sequence[Term]) -> "Noisy":
    scales = [(a.lower, a.upper, a.grid, a.low, (1 << a.shift) // 2, 0.5**a.shift, a.reach) for a in axes]
    parts = np.zeros((len(terms), 4), dtype=np.int64)
    noise = np.empty((len(terms), 3))
    level_starts = 1 + len(axes) + np.cumsum([0, *(factor.levels for factor in system.factors)])
    for t, term in enumerate(terms):
        places = [1 + j for j in term.numbers] + [level_starts[f] + level for f, level in term.levels]
        parts[t, : len(places)] = places
        noise[t] = term.released, term.law.width, term.law.gaussian
    return np.array(scales, dtype=float), parts, noise


def _prior(system: GaussianSystem, terms: Sequence[Term], sizes: Sizes) -> "Prior":
    from scipy.special import digamma, polygamma

    order = max(node.mean.size for node in system.nodes)
    precision = np.zeros((len(system.nodes), order, order))
    root = np.zeros_like(precision)
    for j, node in enumerate(system.nodes):
        own = slice(node.mean.size)
        precision[j, own, own] = node.precision
        root[j, own, own] = np.linalg.cholesky(node.precision)
    normal = (flat([node.mean for node in system.nodes]), precision, root)
    alpha = flat([factor.alpha for factor in system.factors])
    shape = np.concatenate([[node.shape for node in system.nodes], alpha])
    rate = np.concatenate([[node.rate for node in system.nodes], np.ones(alpha.size)])
    inverse_gamma = (shape, rate, np.log(rate) - digamma(shape), WIDER * np.sqrt(polygamma(1, shape)))
    lowest, highest = _window(system, terms, sizes)
    totals = np.arange(lowest, highest + 1)
    parts = np.array_split(totals, len(totals) // SIZES_AT_ONCE + 1)
    log_sizes = np.concatenate([sizes.log_weight(part) for part in parts])
    return normal, inverse_gamma, (log_sizes, lowest)


def _window(system: GaussianSystem, terms: Sequence[Term], sizes: Sizes) -> tuple[int, int]:
    """Totals outside are e^-60 less likely than the best: a bound of 10^9 must not mean as many records of room."""
    counts = counting_terms(system, terms)
    if not counts:
        return sizes.lowest, sizes.highest
    centre = min(max(sum(term.released for term in counts), sizes.lowest), sizes.highest)
    reach = sum(term.law.reach(NEGLIGIBLE) for term in counts)
    return max(sizes.lowest, int(centre - reach)), min(sizes.highest, int(np.ceil(centre + reach)))
