"""A Gaussian system and its released terms as the flat arrays that compiled sweeps read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from discreet.inference.gaussian.gaussian_system import GaussianSystem
from discreet.inference.gaussian.released_sums import Term
from discreet.numerics.arrays import Array
from discreet.queries.centred_columns import Axis
from discreet.schema.row_counts import Sizes

if TYPE_CHECKING:
    from discreet.inference.gaussian.kernels.layout import Graph, Noisy, Prior

__all__ = ["counting_terms", "flat", "pack"]


SIZES_AT_ONCE = 4096  # totals whose prior is computed together
NEGLIGIBLE = 60.0  # log-ratio of densities below which totals are left out
WIDER = 1.25  # the stand-ins for log-gamma laws, which have one heavier tail


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
