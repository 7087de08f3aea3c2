"""Log-probabilities of released draws given the exact statistic behind them, as functions of that statistic.

A released draw is rounded: it says that the draw lay in a cell of the public grid, whose step depends on the number
(`public_grid`). Where cells are narrow that is the density at the middle of the cell; where they are wide beside the
law, or next to an end of its support, it is the mass of the cell over its width. Many draws enter through their
sufficient statistics, in forms that keep their digits.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.mechanisms.draws.public_grid import cell_ends
from discreet.numerics.arrays import Array
from discreet.numerics.gamma_functions import entropy_excess, log_beta_kernel, stirling_error

__all__ = ["HALF_LINE", "LINE", "UNIT", "log_beta_draws", "log_gamma_draws", "log_normal_draws"]

Mass = Callable[[Array, Array, Array, Array], Array]
Support = tuple[float, float]

LINE, HALF_LINE, UNIT = (-np.inf, np.inf), (0.0, np.inf), (0.0, 1.0)
NARROW = 1e-4  # cells up to this share of a deviation: the density errs by less than 3e-8 within 8 deviations


def log_normal_draws(draws: ArrayLike, grid: float, mean: ArrayLike, sd: ArrayLike, support: Support = LINE) -> Array:
    """Draws of N(mean, sd²), cut to `support`, at each pair of parameters."""
    from discreet.mechanisms.draws.truncated_reals import log_normal_mass

    def log_density(x: Array, mean: Array, sd: Array) -> Array:
        squares = ((x.mean() - mean) ** 2 + x.var()) / sd**2
        return np.asarray(-x.size * (0.5 * squares + np.log(sd * np.sqrt(2.0 * np.pi))))

    mean, sd = _parameters(mean, sd)
    return _log_rounded(
        np.asarray(draws, dtype=float), grid, (mean, sd), sd, log_density, log_normal_mass, support, LINE
    )


def log_gamma_draws(
    draws: ArrayLike, grid: float, shape: ArrayLike, rate: ArrayLike, support: Support = HALF_LINE
) -> Array:
    """Draws of Gamma(shape, rate), cut to `support`, at each pair of parameters."""
    from discreet.mechanisms.draws.truncated_reals import log_gamma_mass

    def log_density(x: Array, shape: Array, rate: Array) -> Array:
        centre = rate * x.mean()
        unequal = shape * (np.log(x).mean() - np.log(x.mean()))
        kernel = unequal - centre * entropy_excess((shape - centre) / centre) - stirling_error(shape)
        return np.asarray(x.size * (kernel + 0.5 * np.log(shape / (2.0 * np.pi))) - np.log(x).sum())

    shape, rate = _parameters(shape, rate)
    deviation = np.sqrt(shape) / rate
    x = np.asarray(draws, dtype=float)
    return _log_rounded(x, grid, (shape, rate), deviation, log_density, log_gamma_mass, support, HALF_LINE)


def log_beta_draws(draws: ArrayLike, grid: float, a: ArrayLike, b: ArrayLike, support: Support = UNIT) -> Array:
    """Draws of Beta(a, b), cut to `support`, at each pair of parameters."""
    from discreet.mechanisms.draws.truncated_probabilities import log_mass

    def log_density(x: Array, a: Array, b: Array) -> Array:
        ones, zeros = np.exp(np.log(x).mean()), np.exp(np.log1p(-x).mean())
        both = ones + zeros
        kernel = log_beta_kernel(a, b, ones / both, zeros / both) + (a + b) * np.log(both)
        return np.asarray(x.size * kernel - np.log(x).sum() - np.log1p(-x).sum())

    a, b = _parameters(a, b)
    deviation = np.sqrt(a * b / (a + b + 1.0)) / (a + b)
    x = np.asarray(draws, dtype=float)
    return _log_rounded(x, grid, (a, b), deviation, log_density, log_mass, support, UNIT)


def _parameters(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array]:
    one, two = np.broadcast_arrays(np.asarray(first, dtype=float), np.asarray(second, dtype=float))
    return np.asarray(one), np.asarray(two)


def _log_rounded(
    draws: Array,
    grid: float,
    parameters: tuple[Array, Array],
    deviation: Array,
    log_density: Callable[[Array, Array, Array], Array],
    log_mass: Mass,
    support: Support,
    whole: Support,
) -> Array:
    """The sum over all draws: cells where these are wide or at an end of the support, densities elsewhere."""
    start, stop = cell_ends(draws, grid)
    width = stop - start
    lower, upper = np.maximum(start, support[0]), np.minimum(stop, support[1])
    if not np.all(lower < upper):
        raise QueryError(f"released draws must lie between {support[0]:g} and {support[1]:g}, got others")
    flat = (parameters[0].ravel(), parameters[1].ravel())

    def cells(chosen: NDArray[np.bool_], which: NDArray[np.bool_]) -> Array:
        own = np.stack([lower[which], upper[which], width[which]])
        (low, high, wide), repeats = np.unique(own, axis=1, return_counts=True)
        one, two = (values[chosen, np.newaxis] for values in flat)
        return np.asarray((log_mass(one, two, low, high) - np.log(wide)) @ repeats)

    at_end = np.minimum(draws - support[0], support[1] - draws) < width / NARROW
    wide = width.max(initial=grid) > NARROW * deviation.ravel()
    total = np.zeros(wide.size)
    if wide.any():
        total[wide] = cells(wide, np.ones_like(at_end))
    if not wide.all() and not at_end.all():
        total[~wide] += log_density(draws[~at_end], flat[0][~wide], flat[1][~wide])
    if not wide.all() and at_end.any():
        total[~wide] += cells(~wide, at_end)
    if support != whole:
        total -= draws.size * log_mass(*flat, np.array(support[0]), np.array(support[1]))
    return total.reshape(parameters[0].shape)
