"""What all normal models share: released moments by what they are sums of, conjugate priors, and plug-in updates."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.inference.gaussian.gaussian_system import GaussianSystem, NormalNode, Parameters
from discreet.inference.gaussian.released_sums import Term
from discreet.models.base import Laws
from discreet.numerics.arrays import Array
from discreet.queries.counts_and_sums import Axis
from discreet.queries.statistics import Statistics

__all__ = [
    "SHAPE",
    "SIGMAS",
    "Niw",
    "centres",
    "checked_niw",
    "default_niw",
    "exact_moments",
    "half_widths",
    "independent_draws",
    "moment_entries",
    "moment_terms",
    "numbers",
    "plug_in_moments",
    "to_niw",
    "vector",
]


SEED = 0  # of the chains: public, so that a release has one posterior

SHAPE = 3.0  # of the default inverse gamma: its mean exists and its deviation equals its mean
SIGMAS = 3.0  # half of the declared range is three standard deviations, by default


# mean, strength, degrees, scale matrix
Niw = tuple[tuple[float, ...], float, float, tuple[tuple[float, ...], ...]]


class Moment(NamedTuple):
    """One sum over records: of a product of at most two numbers, among the records with the given (factor, level)s."""

    name: str
    value: float
    numbers: tuple[int, ...]
    levels: tuple[tuple[int, int], ...]


def moment_entries(
    query: Statistics, value: Mapping[str, Any], numbers: tuple[str, ...], categories: tuple[str, ...] = ()
) -> list[Moment]:
    """Every number of one group, with what it is the sum of."""
    entries = []
    for statistic in query.statistics:
        released = np.asarray(value[statistic.name])
        factors = [categories.index(name) for name in statistic.categories if name != query.by]
        numeric = tuple(numbers.index(axis.column) for axis in statistic.axes)
        for cell in np.ndindex(released.shape):
            levels = tuple(zip(factors, cell, strict=True))
            entries.append(Moment(statistic.name, float(released[cell]), numeric, levels))
    return entries


def moment_terms(entries: Sequence[Moment], laws: Laws) -> tuple[Term, ...]:
    """The same with the law of each number's noise."""
    return tuple(Term(entry.value, laws[entry.name], entry.numbers, entry.levels) for entry in entries)


def centres(axes: Sequence[Axis]) -> Array:
    """The middle of every declared range."""
    return np.array([0.5 * (axis.lower + axis.upper) for axis in axes])


def half_widths(axes: Sequence[Axis]) -> Array:
    """Half of every declared range."""
    return np.array([0.5 * (axis.upper - axis.lower) for axis in axes])


def plug_in_moments(
    system: GaussianSystem, axes: Sequence[Axis], entries: Sequence[Moment], total: float | None
) -> GaussianSystem:
    """The conjugate update that takes noisy moments at face value, after the least repair that makes them possible.

    Sums are moved to where n records can have them; then eigenvalues of the covariance below a thousandth of a record's
    range are raised to it: a plug-in posterior must at least exist.
    """
    moments = _scaled_moments(system, axes, entries, total)
    n = max(float(moments[0, 0]), 1.0)
    means = np.clip(moments[0, 1:] / n, -1.0, 1.0)
    for factor, start in zip(system.factors, system.dummy_starts, strict=True):  # shares of levels, within 0..1
        dummies = slice(start - 1, start + factor.levels - 2)
        shares = np.maximum(means[dummies], 0.0)
        means[dummies] = shares / max(1.0, float(shares.sum()))
    values, vectors = np.linalg.eigh(moments[1:, 1:] / n - np.outer(means, means))
    repaired = np.zeros_like(moments)
    repaired[1:, 1:] = (vectors * np.maximum(values, 1e-3)) @ vectors.T
    repaired += np.outer([1.0, *means], [1.0, *means])
    return system.updated(_unscaled(n * repaired, axes))


def exact_moments(
    system: GaussianSystem, axes: Sequence[Axis], entries: Sequence[Moment], total: float | None
) -> GaussianSystem:
    """The conjugate update with the exact moments of public records."""
    return system.updated(_unscaled(_scaled_moments(system, axes, entries, total), axes))


def _scaled_moments(
    system: GaussianSystem, axes: Sequence[Axis], entries: Sequence[Moment], total: float | None
) -> Array:
    """The moment matrix of (1, u, dummies); u_j = v_j / reach."""
    moments = np.zeros((system.width, system.width))
    levels = np.zeros(system.width)  # of the first factor, level by level, sums of 1 and u: the margins
    for entry in entries:
        released = entry.value / float(np.prod([axes[j].reach for j in entry.numbers]))
        places = [1 + j for j in entry.numbers] + [_place(system, level) for level in entry.levels]
        if len(entry.levels) == 1 and entry.levels[0][0] == 0:
            levels[places[0] if entry.numbers else 0] += released
        if -1 not in places:  # the first level of a factor has no dummy
            row, column = [0, 0, *places][-2:]
            moments[row, column] = moments[column, row] = released
    if system.factors:
        moments[0, : 1 + len(axes)] = moments[: 1 + len(axes), 0] = levels[: 1 + len(axes)]
    if total is not None:
        moments[0, 0] = total
    for place in range(1 + len(axes), system.width):
        moments[place, place] = moments[0, place]
    return moments


def independent_draws(system: GaussianSystem, draws: int = 4000) -> Parameters:
    """Independent draws of a conjugate posterior, as four chains of equal length."""
    drawn = system.sample(draws, np.random.default_rng(SEED))
    return {name: values.reshape(4, draws // 4, *values.shape[1:]) for name, values in drawn.items()}


def _unscaled(moments: Array, axes: Sequence[Axis]) -> Array:
    """Moments of (1, x, dummies) from those of (1, u, dummies), where x = centre + half-width · u."""
    change = np.eye(len(moments))
    for j, axis in enumerate(axes, start=1):
        change[j, 0], change[j, j] = axis.centre, axis.unit * axis.reach
    return np.asarray(change @ moments @ change.T)


def _place(system: GaussianSystem, level: tuple[int, int]) -> int:
    """Where the dummy of a level stands in the design vector; -1 for a first level, which has none."""
    factor, code = level
    return int(system.dummy_starts[factor]) + code - 1 if code else -1


def vector(field: str, value: Any, size: int) -> Array:
    """A vector of `size` finite numbers."""
    array = numbers(field, value)
    if array.shape != (size,) or not np.all(np.isfinite(array)):
        raise QueryError(f"{field} must be {size} finite numbers, got {value!r}")
    return array


def numbers(field: str, value: Any) -> Array:
    """An array of numbers, from lists of equal lengths."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise QueryError(f"{field} must be numbers in rows of equal lengths, got {value!r}") from None


def default_niw(axes: tuple[Axis, ...]) -> Niw:
    """One record in the middle of the ranges; covariances around independence, three standard deviations to a bound."""
    size = len(axes)
    spread = 2.0 * np.diag((half_widths(axes) / SIGMAS) ** 2)  # degrees of size + 3: the mean covariance is half of it
    return tuple(centres(axes).tolist()), 1.0, size + 3.0, tuple(map(tuple, spread.tolist()))


def to_niw(nodes: tuple[NormalNode, ...]) -> Niw:
    """The normal-inverse-Wishart law of nodes that each regress on all earlier ones: the inverse of `from_niw`.

    The last node's prior holds all but one row of the pseudo-data's moment matrix, and its rate closes it.
    """
    last, size = nodes[-1], len(nodes)
    moments = np.zeros((size + 1, size + 1))
    moments[:size, :size] = last.precision
    moments[size, :size] = moments[:size, size] = last.precision @ last.mean
    moments[size, size] = 2.0 * last.rate + last.mean @ last.precision @ last.mean
    strength = float(moments[0, 0])
    mean = moments[0, 1:] / strength
    scale = moments[1:, 1:] - strength * np.outer(mean, mean)
    return tuple(mean.tolist()), strength, 2.0 * last.shape, tuple(map(tuple, scale.tolist()))


def checked_niw(field: str, prior: Any, size: int) -> Niw:
    """A normal-inverse-Wishart prior as plain numbers; whether its matrix is positive definite is checked on use."""
    if not isinstance(prior, tuple | list) or len(prior) != 4:
        raise QueryError(f"{field} must be (mean, strength, degrees, scale matrix), got {prior!r}")
    mean, strength, degrees, scale = prior
    matrix = numbers(field, scale)
    if matrix.shape != (size, size) or not np.all(np.isfinite(matrix)):
        raise QueryError(f"{field} scale must be a matrix of order {size}, got shape {matrix.shape}")
    kappa, nu = (positive(field, x, error=QueryError) for x in (strength, degrees))
    return tuple(vector(f"{field} mean", mean, size).tolist()), kappa, nu, tuple(map(tuple, matrix.tolist()))
