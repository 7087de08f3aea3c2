"""The average over many tables of what was read of a few: how it depends on the tables is learned from those few.

Widths of intervals vary over a weak prior as much as their mean does, and most of that is what the tables are like: how
far a column spreads, how rare a level is. With w of K tables, and a prediction h(x) of it from features x of a table,
learned from other tables than the one it is for,

    average of w over K  -  slope · (average of h over K  -  average of h over M more tables)

is the average over the prior with less chance in it, whether the prediction is good or not: the slope is the one of
least variance, near 0 where h says nothing (a control variate). Tables of the second kind are drawn and looked at, and
no interval of theirs is read. The prediction is the mean of a Gaussian process of log w, at the reach that predicts
best, around a line: tables unlike all that were read are few, and widest.
"""

import numpy as np
from threadpoolctl import threadpool_limits

from discreet.numerics.arrays import Array

__all__ = ["FEWEST", "adjusted"]

FOLDS = 5
REACHES = (1.0, 2.0, 4.0)  # in deviations of a feature
LINE = 0.3  # of the variance, what is linear in a feature
ROUGH = 0.02  # of the variance, what no feature says
FEWEST = 20  # tables, from which something is learned


def adjusted(values: Array, known: Array, others: Array) -> tuple[float, float]:
    """The average and its standard error; `known` are features of the tables of `values`, `others` those of more."""
    count = len(values)
    plain = float(values.mean()), float(values.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0
    if count < FEWEST or not known.shape[1] or not np.ptp(values):
        return plain
    with threadpool_limits(1, user_api="blas"):  # the same average from every number of threads
        found = [plain, *(_controlled(values, known, others, reach) for reach in REACHES)]
    return min(found, key=lambda each: each[1])


def _controlled(values: Array, known: Array, others: Array, reach: float) -> tuple[float, float]:
    """The average at one reach."""
    heights = np.log(values + 1e-3 * values.mean())
    fold = np.arange(len(values)) % FOLDS
    here, there = np.empty(len(values)), np.zeros(len(others))
    for k in range(FOLDS):
        learned, asked = fold != k, fold == k
        both = _predicted(known[learned], heights[learned], np.concatenate([known[asked], others]), reach)
        told = np.exp(np.clip(both, heights.min(), heights.max()))
        here[asked] = told[: asked.sum()]
        there += told[asked.sum() :] / FOLDS
    slope = float(np.cov(values, here)[0, 1] / max(here.var(ddof=1), 1e-300))
    rest = values - slope * here
    average = values.mean() - slope * (here.mean() - there.mean())
    return float(average), float(np.sqrt(rest.var(ddof=1) / len(values) + slope**2 * there.var(ddof=1) / len(others)))


def _predicted(places: Array, heights: Array, asked: Array, reach: float) -> Array:
    """The mean of a Gaussian process that was seen at these places."""
    mean = heights.mean()
    kernel = _near(places, places, reach) + ROUGH * np.eye(len(places))
    return np.asarray(mean + _near(asked, places, reach) @ np.linalg.solve(kernel, heights - mean))


def _near(one: Array, other: Array, reach: float) -> Array:
    along = one @ other.T
    squares = (one**2).sum(axis=1)[:, np.newaxis] + (other**2).sum(axis=1) - 2.0 * along
    return np.asarray(np.exp(-0.5 * np.maximum(squares, 0.0) / reach**2) + LINE * along)
