"""A concave log-weight of a sum: tabulated once, continued beyond its range, with its slopes and its width.

Between its ends the log-weight is a piecewise polynomial of degree 15 whose panels are halved until it is exact: laws
of draws can be dear to evaluate, and a posterior asks for them a hundred thousand times. Beyond each end, u away,

    c₁ u + c₂ u² + (c₃ u³ + c₄ u⁴) e^{-(u / faded)⁴},      c from the derivatives at the end

continues it smoothly and falls to nothing: a weight that is cut off has a transform with a long tail.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.numerics.arrays import Array

__all__ = ["LOST", "ConcaveWeight"]

Weight = Callable[[Array], Array]

LOST = 32.0  # nats: what is smaller than e^-32 = 1e-14 of the result is dropped
LOWEST = -1e18  # stands for a weight that underflows
DEGREE = 15
NODES = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
TO_COEFFICIENTS = np.linalg.inv(np.polynomial.chebyshev.chebvander(NODES, DEGREE))
DEEPEST = 24  # halvings of a panel
EXACT, DIGITS = 1e-11, 1e-14  # error of a panel, absolute and relative to its values
NOISE, HELPED = 1e-3, 4.0  # a panel below the first whose error no longer falls by the second holds rounding errors
FLATTEST = 1e3  # ranges: a weight whose width exceeds this is flat


@dataclass(frozen=True)
class ConcaveWeight:
    """The log-weight between -farthest and farthest with two derivatives, and its continuation."""

    value: "_Panels"
    slope: "_Panels"
    curvature: "_Panels"
    farthest: float
    ends: Array  # c₁, c₂, c₃, c₄ and `faded` beyond the lower and the upper end

    @classmethod
    def of(cls, log_weight: Weight, farthest: float) -> "ConcaveWeight":
        """Tabulate a log-weight that takes arrays of any sums in its range."""
        value = _Panels.of(log_weight, farthest)
        slope = value.derivative()
        curvature = slope.derivative()
        third = curvature.derivative()
        orders, ends = (slope, curvature, third, third.derivative()), []
        for side, panel in ((-1.0, np.diff(value.edges[:2])[0]), (1.0, np.diff(value.edges[-2:])[0])):
            one, two, three, four = (float(order(np.array([side * farthest]))[0]) for order in orders)
            two = min(two, _flattest(farthest))
            ends.append([side * one, two / 2.0, side * three / 6.0, four / 24.0, min((-two) ** -0.5, panel / 2.0)])
        return cls(value, slope, curvature, farthest, np.array(ends))

    def __call__(self, sums: Array) -> Array:
        """Log g anywhere."""
        inside = self.value(np.clip(sums, -self.farthest, self.farthest))
        beyond = np.abs(sums) > self.farthest
        if beyond.any():
            u = np.abs(sums[beyond]) - self.farthest
            one, two, three, four, faded = self.ends[(sums[beyond] > 0).astype(np.int64)].T
            near = np.exp(-(np.minimum(u / faded, 5.0) ** 4))
            inside[beyond] += u * (one + u * (two + u * near * (three + u * four)))
        return inside

    def slopes(self, sums: Array) -> tuple[Array, Array]:
        """First and second derivative in the range; the second below 0."""
        return self.slope(sums), np.minimum(self.curvature(sums), _flattest(self.farthest))

    def window(self, place: Array, tilt: Array) -> Array:
        """Left end, right end and width of the tilted bells whose peaks are at `place`."""
        _, curvature = self.slopes(place)
        width, ends = np.sqrt(-1.0 / curvature), []
        floor = self(place) - tilt * place - LOST
        for side in (-1.0, 1.0):
            distance = side * np.maximum(4.0 * width, 2.0)
            while (inside := self(place + distance) - tilt * (place + distance) > floor).any():
                distance = np.where(inside, 1.5 * distance, distance)
            ends.append(place + distance)
        return np.stack([*ends, width])


@dataclass(frozen=True)
class _Panels:
    """Chebyshev coefficients (DEGREE + 1, panels) between the edges (panels + 1,)."""

    edges: Array
    coefficients: Array

    @classmethod
    def of(cls, function: Weight, farthest: float) -> "_Panels":
        left, half, before, done = np.array([-farthest]), farthest, np.array([np.inf]), []
        for depth in range(DEEPEST + 1):
            values = np.maximum(function(left[:, np.newaxis] + half * (1.0 + NODES)), LOWEST)
            coefficients = values @ TO_COEFFICIENTS.T
            limit = EXACT + DIGITS * np.abs(values).max(axis=1)
            error = np.abs(coefficients[:, -3:]).max(axis=1)
            # laws of draws far from 0 are rounded more coarsely than the limit: halving would never end
            settled = (error < NOISE) & (error > before / HELPED)
            exact = (error < limit) | settled | (depth == DEEPEST)
            done += list(zip(left[exact], coefficients[exact], strict=True))
            left, half = np.ravel(left[~exact, np.newaxis] + half * np.array([0.0, 1.0])), 0.5 * half
            before = np.repeat(error[~exact], 2)
            if not left.size:
                break
        done.sort(key=lambda panel: panel[0])
        return cls(np.array([start for start, _ in done] + [farthest]), np.array([panel for _, panel in done]).T)

    def derivative(self) -> "_Panels":
        """The derivative, panel by panel."""
        falling = np.polynomial.chebyshev.chebder(self.coefficients) * (2.0 / np.diff(self.edges))
        return _Panels(self.edges, falling)

    def __call__(self, x: Array) -> Array:
        """The function, by Clenshaw's recurrence."""
        panel = np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, self.edges.size - 2)
        start, end = self.edges[panel], self.edges[panel + 1]
        u = (2.0 * x - start - end) / (end - start)
        above, beyond = np.zeros_like(u), np.zeros_like(u)
        for row in self.coefficients[:0:-1]:
            above, beyond = row[panel] + 2.0 * u * above - beyond, above
        return np.asarray(self.coefficients[0][panel] + u * above - beyond)


def _flattest(farthest: float) -> float:
    """The curvature of a weight that is flat."""
    return -1.0 / (FLATTEST * farthest) ** 2
