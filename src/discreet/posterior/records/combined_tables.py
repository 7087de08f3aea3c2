"""What several synthetic tables say together: one estimate and an interval that counts all that is not known.

Table i is drawn given its own draw of the parameters from the posterior, which already knows of the privacy noise. An
estimate q_i from it deviates from what it estimates, Q, twice: the draw has the posterior's variance V, and the n
records of the table add a sampling variance U, which the analysis reports as u_i. So q_i has variance V + U around the
posterior mean of Q, and given q_1, …, q_m

    Q ~ N(mean of q, V + (V + U) / m),     estimated by T = (1 + 1/m) b - ū     (Raghunathan, Reiter and Rubin 2003)

where b is the variance between the q_i. T may be negative. V + U is not b, though: (m - 1) b / (V + U) is chi-squared
with m - 1 degrees, and V + U is at least ū. The interval averages over that law, cut at ū, and is never empty.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import QueryError
from discreet.numerics.arrays import Array

__all__ = ["CombinedTables", "combine_tables"]

NODES = 200  # of the law of V + U
HALVINGS = 30


@dataclass(frozen=True)
class CombinedTables:
    """Estimates in the shape of those of one table, with their deviations and the ends of their intervals."""

    mean: Array
    sd: Array
    lower: Array
    upper: Array
    level: float


def combine_tables(estimates: ArrayLike, variances: ArrayLike, level: float = 0.9) -> CombinedTables:
    """Combine what was estimated from m synthetic tables, each given its own draw of the parameters.

    Parameters
    ----------
    estimates
        What each table says, (m, …): a number, a vector or a table of numbers for each.
    variances
        The sampling variance that the analysis of each table reports of its estimates, in the same shape.
    level
        The probability of the intervals.
    """
    q, u = (np.asarray(values, dtype=float) for values in (estimates, variances))
    if q.ndim < 1 or len(q) < 2 or q.shape != u.shape or not np.all(np.isfinite(q) & np.isfinite(u) & (u >= 0.0)):
        raise QueryError(
            "combine_tables.estimates must be finite numbers of at least 2 tables, and variances of their shape, "
            f"from 0, got shapes {q.shape} and {u.shape}"
        )
    if not (isinstance(level, int | float) and 0.0 < level < 1.0):
        raise QueryError(f"combine_tables.level must be above 0 and below 1, got {level!r}")
    shape, m = q.shape[1:], len(q)
    flat, within = q.reshape(m, -1), u.reshape(m, -1).mean(axis=0)
    spreads = _spreads(flat.var(axis=0, ddof=1), within, m)
    middle, half = flat.mean(axis=0), _half_width(spreads, level)
    columns = {"mean": middle, "sd": np.median(spreads, axis=0), "lower": middle - half, "upper": middle + half}
    return CombinedTables(level=float(level), **{name: values.reshape(shape) for name, values in columns.items()})


def _spreads(between: Array, within: Array, m: int) -> Array:
    """Deviations of Q at equally probable values of V + U, (nodes, quantities)."""
    from scipy.special import gammainc, gammaincinv

    half = 0.5 * (m - 1)
    scale = half * between  # over a gamma variable of this shape it is V + U
    with np.errstate(divide="ignore", invalid="ignore"):
        allowed = np.where(within > 0.0, gammainc(half, scale / within), 1.0)
        orders = (np.arange(NODES)[:, np.newaxis] + 0.5) / NODES
        total = scale / gammaincinv(half, orders * allowed)
    total = np.fmax(np.where(np.isfinite(total), total, 0.0), within)  # tables that agree to all digits say no less
    return np.asarray(np.sqrt((1.0 + 1.0 / m) * total - within))


def _half_width(spreads: Array, level: float) -> Array:
    """Half the width of the central interval of an even mixture of normal laws around one middle."""
    from scipy.special import ndtr, ndtri

    order = 0.5 + 0.5 * level
    ends = [float(ndtri(order)) * end for end in (spreads.min(axis=0), spreads.max(axis=0))]
    low, high = ends
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            short = np.nan_to_num(ndtr(middle / spreads), nan=1.0).mean(axis=0) < order
            low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray(high)
