"""A smooth positive function of one number, known by its log at spreading nodes, and its averages over normal laws.

    t_k = c + 8 w sinh(k / 16)        w/2 apart around the peak c, a sixteenth of the distance to c apart further out

where w is the width of the sharpest bend. The trapezoid rule on such nodes converges faster than any power, for the
function itself and for its product with a normal law of at least 1.5 spacings. A narrower normal law sees an almost
straight piece of the function and is summed on nodes of its own, down to a deviation of 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.numerics.arrays import Array

__all__ = ["DEPTH", "SinhCurve", "trace", "uniform_weights"]


DEPTH = 30.0  # nats below the peak at which a density is cut: e^-30 = 1e-13
DEEP = 1000.0
HIGHEST = 50.0  # of logarithms between nodes over the largest at one: no interpolation that is right comes near
SUPPORT = 100.0  # nats below the peak at which a node adds nothing to an average
SCAN = 17  # points of one look while the peak is searched
FLAT = 1e-10
STRAIGHT = 0.02  # nats by which the log may bend between three points of the last look
STEP = 1.0 / 16.0
WIDTHS = 8.0
WIDE = 1.5  # spacings
TAIL = 8.0  # deviations
FINE = 8  # pieces of a cell for distribution functions and draws
DRAWS_AT_ONCE = 1024
PAIRS_AT_ONCE = 8192
MOST_NODES = 4096  # a function that needs more has a jump, which no number of nodes resolves

NORMAL_NODES = np.linspace(-12.0, 12.0, 49)
LOG_NORMAL = -0.5 * NORMAL_NODES**2 - 0.5 * np.log(2.0 * np.pi) + np.log(0.5)


@dataclass(frozen=True)
class SinhCurve:
    """A function by its log at increasing nodes; `weights` are those of the trapezoid rule."""

    nodes: Array
    weights: Array
    log_values: Array

    @property
    def log_mass(self) -> float:
        """Log of the integral."""
        return float(_log_sum(self.log_values + np.log(self.weights)))

    def at(self, x: ArrayLike) -> Array:
        """Log of the function at any points; -inf outside the nodes."""
        points = np.asarray(x, dtype=float)
        inside = (points >= self.nodes[0]) & (points <= self.nodes[-1])
        return np.asarray(np.where(inside, self._spline(np.where(inside, points, self.nodes[0])), -np.inf))

    def blurred(self, centres: Array, sd: Array) -> Array:
        """Log of ∫ f(t) N(t; centre, sd²) dt for pairs of one shape; sd may be 0."""
        centres, sd = np.broadcast_arrays(centres, sd)
        flat = np.ravel(centres), np.ravel(sd)
        starts = range(0, centres.size, PAIRS_AT_ONCE)
        parts = [self._blurred(*(values[start : start + PAIRS_AT_ONCE] for values in flat)) for start in starts]
        return np.concatenate([np.empty(0), *parts]).reshape(centres.shape)

    def draw_blurred(self, centres: Array, sd: Array, rng: np.random.Generator) -> Array:
        """One draw of t from the density ∝ f(t) N(t; centre, sd²) for each pair."""
        result = np.empty(centres.shape)
        narrow, _ = self._narrow(centres, sd)
        fine = self._fine_support
        for which, is_narrow in ((np.flatnonzero(narrow), True), (np.flatnonzero(~narrow), False)):
            for start in range(0, which.size, DRAWS_AT_ONCE):
                some = which[start : start + DRAWS_AT_ONCE]
                c, s = centres[some][:, np.newaxis], sd[some][:, np.newaxis]
                z = np.broadcast_to(_subdivided(NORMAL_NODES, FINE // 2), (some.size, 48 * FINE // 2 + 1))
                if not is_narrow:
                    z = (fine[0] - c) / s
                log_values = (self.at(c + s * z) if is_narrow else fine[1]) - 0.5 * z**2
                result[some] = c[:, 0] + s[:, 0] * _draw_cells(z, log_values, rng)
        return result

    def cdf(self, x: ArrayLike) -> Array:
        """Share of the integral to the left of each point."""
        cumulative, total = self._cumulative
        inside = np.clip(np.asarray(x, dtype=float), self.nodes[0], self.nodes[-1])
        return np.asarray(np.clip(cumulative(inside) / total, 0.0, 1.0))

    def quantiles(self, q: Array) -> Array:
        """Points with given shares of the integral to their left: Newton steps from the tabulated inverse."""
        cumulative, total = self._cumulative
        table = _subdivided(self.nodes, FINE)
        shares = np.maximum.accumulate(cumulative(table)) / total
        x = np.interp(q, shares, table)
        for _ in range(4):
            slope = np.exp(self.at(x) - self.log_values.max()) / total
            x = np.clip(x + (q - cumulative(x) / total) / np.maximum(slope, 1e-300), self.nodes[0], self.nodes[-1])
        return np.asarray(x)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Independent draws with this density."""
        table = _subdivided(self.nodes, FINE)
        return np.interp(rng.random(n), self.cdf(table), table)

    def average(self, f: Callable[[Array], Array]) -> float:
        """Average of a function under this density; neither need vanish at the ends."""
        from scipy.interpolate import CubicSpline

        fine = _subdivided(self.nodes, FINE)
        values = np.exp(self.at(fine) - self.log_values.max())
        whole = CubicSpline(fine, np.stack([values, values * f(fine)], axis=1)).integrate(fine[0], fine[-1])
        return float(whole[1] / whole[0])

    def _blurred(self, centres: Array, sd: Array) -> Array:
        result = np.empty(centres.shape)
        narrow, log_products = self._narrow(centres, sd)
        result[narrow] = _log_sum(log_products)
        nodes, log_terms = self._support
        c, s = centres[~narrow][:, np.newaxis], sd[~narrow][:, np.newaxis]
        result[~narrow] = _log_sum(log_terms - 0.5 * ((nodes - c) / s) ** 2) - np.log(s[:, 0] * np.sqrt(2.0 * np.pi))
        return result

    def _narrow(self, centres: Array, sd: Array) -> tuple[NDArray[np.bool_], Array]:
        """Which normal laws need nodes of their own, and the logs of their products with the function there.

        Where the function pulls so hard that the product lies in the normal law's far tail, it is near the function's
        own peak, and the function's nodes see it.
        """
        narrow = np.asarray(sd < WIDE * np.interp(centres, self.nodes, self.weights))
        points = centres[narrow][:, np.newaxis] + sd[narrow][:, np.newaxis] * NORMAL_NODES
        log_products = self.at(points) + LOG_NORMAL
        inside = np.isfinite(log_products).any(axis=1) & (sd[narrow] >= WIDE * self.weights.min())
        seen = ~inside | (np.abs(NORMAL_NODES[log_products.argmax(axis=1)]) <= TAIL)
        narrow[narrow] = seen
        return narrow, log_products[seen]

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import PPoly, make_interp_spline

        spline = make_interp_spline(self.nodes, self.log_values, k=5)
        return PPoly.from_spline((spline.t, spline.c, spline.k))  # faster to evaluate

    @cached_property
    def _support(self) -> tuple[Array, Array]:
        kept = self.log_values > self.log_values.max() - SUPPORT
        return self.nodes[kept], self.log_values[kept] + np.log(self.weights[kept])

    @cached_property
    def _fine_support(self) -> tuple[Array, Array]:
        kept = np.flatnonzero(self.log_values > self.log_values.max() - SUPPORT)
        fine = _subdivided(self.nodes[max(kept[0] - 1, 0) : kept[-1] + 2], FINE // 2)
        return fine, self.at(fine)

    @cached_property
    def _cumulative(self) -> tuple[Any, float]:
        from scipy.interpolate import CubicSpline

        fine = _subdivided(self.nodes, FINE)
        above = np.minimum(self.at(fine) - self.log_values.max(), HIGHEST)
        cumulative = CubicSpline(fine, np.exp(above)).antiderivative()
        return cumulative, float(cumulative(fine[-1]))


def trace(
    log_f: Callable[[Array], Array], low: float, high: float, widest: float, tolerance: float = 1e-6
) -> SinhCurve:
    """Nodes for a function on [low, high] whose width is at most `widest`; halved until its integral stands still.

    Halving at least squares the error, so what is left is far below `tolerance`.
    """
    centre, width = _sharpest(log_f, low, high)
    unit, step = WIDTHS * min(width, widest), STEP
    known = np.empty(0), np.empty(0)  # of the step before, whose nodes are every other one of these
    while True:
        first, last = (np.arcsinh((end - centre) / unit) / step for end in (low, high))
        u = np.arange(np.ceil(first - 1e-9), np.floor(last + 1e-9) + 1.0) * step
        nodes = centre + unit * np.sinh(u)
        new = ~np.isin(u, known[0])
        values = np.empty(u.size)
        values[~new], values[new] = known[1], log_f(nodes[new])
        known = u, values
        curve = SinhCurve(nodes, unit * np.cosh(u) * step, _softened(values))
        # a function may be flat far out, where the step is large: what is near tells whether it is resolved
        near = np.exp(-0.5 * (16.0 * (nodes - centre) / (high - low)) ** 2)
        terms = near * np.exp(curve.log_values - curve.log_values.max()) * curve.weights
        if abs(terms.sum() - 2.0 * terms[::2].sum()) <= tolerance * terms.sum() or 2 * nodes.size > MOST_NODES:
            return curve
        step *= 0.5


def uniform_weights(nodes: Array) -> Array:
    """Trapezoid weights of evenly spaced nodes along the last axis."""
    weights = np.repeat(nodes[..., 1:2] - nodes[..., :1], nodes.shape[-1], axis=-1)
    weights[..., [0, -1]] *= 0.5
    return weights


def _sharpest(log_f: Callable[[Array], Array], low: float, high: float) -> tuple[float, float]:
    """Where the function bends most, each bend weighed by the height of the function there, and the width of that bend.

    Look closer at the part above e^-30 of the peak, then at the bend alone until it is resolved.
    """
    smallest, middle, highest = 1e-9 * (high - low), 0.5 * (low + high), -np.inf
    while True:
        x = np.linspace(low, high, SCAN)
        values = _softened(log_f(x))
        highest = max(highest, float(values.max()))  # of all looks: a bend far below the peak is seen by nobody
        kept = np.flatnonzero(values > values.max() - DEPTH)
        first, last = max(kept[0] - 1, 0), min(kept[-1] + 1, SCAN - 1)
        bends = -np.diff(values, 2) * np.exp(values[1:-1] - highest)
        top, bend = int(bends.argmax()) + 1, float(bends.max())
        if last - first > SCAN // 2:
            if bend < STRAIGHT:
                return (float(x[top]), float((x[1] - x[0]) / np.sqrt(bend))) if bend > FLAT else (middle, np.inf)
            first, last = max(top - 3, 0), min(top + 3, SCAN - 1)
        if x[last] - x[first] < smallest:  # a jump or an edge, which no look resolves
            return float(x[top]), smallest
        low, high = x[first], x[last]


def _softened(values: Array) -> Array:
    """More than e^1000 below the peak a function falls slowly: nothing sees it there, and splines stay calm."""
    top = values.max()
    drop = np.minimum(top - values, 1e300)
    return np.asarray(top - np.where(drop > DEEP, DEEP * (1.0 + np.log(np.maximum(drop, DEEP) / DEEP)), drop))


def _draw_cells(z: Array, log_values: Array, rng: np.random.Generator) -> Array:
    """For each line of nodes: a cell by its trapezoid mass, a uniform point in it."""
    values = np.exp(log_values - log_values.max(axis=1, keepdims=True))
    masses = np.cumsum((values[:, 1:] + values[:, :-1]) * np.diff(z, axis=1), axis=1)
    goal = rng.random((len(z), 1)) * masses[:, -1:]
    cell = np.minimum((masses < goal).sum(axis=1), masses.shape[1] - 1)
    line = np.arange(len(z))
    return np.asarray(z[line, cell] + rng.random(len(z)) * (z[line, cell + 1] - z[line, cell]))


def _subdivided(nodes: Array, pieces: int) -> Array:
    return np.interp(np.arange((nodes.size - 1) * pieces + 1) / pieces, np.arange(nodes.size), nodes)


def _log_sum(log_terms: Array) -> Array:
    """Log of the sum over the last axis; -inf where every term is."""
    top = np.maximum(log_terms.max(axis=-1, initial=-np.inf), -1e300)
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(np.exp(log_terms - top[..., np.newaxis]).sum(axis=-1)))
