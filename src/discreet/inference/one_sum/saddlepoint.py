"""Tilted laws of a noisy sum: the tilt that makes a value typical, and bounds on where the tilted law ends.

The noisy sum Y = S + Z has K(s) = log E e^{sY} = A(s) + log E e^{sZ}, A(s) = log Σ_N w_N e^{N κ(s)}, where κ belongs
to one record and w_N weighs the number of records. The tilted law e^{sy - K(s)} P(Y = y) has mean K'(s), and by
Chernoff's bound it has less than e^-L beyond y = (K(s + u) - K(s) + L) / u, for every u > 0.
"""

from dataclasses import dataclass

import numpy as np

from discreet.inference.one_sum.record_transforms import Transform
from discreet.inference.one_sum.size_nodes import SizeWindow
from discreet.noise import DiscreteNoise
from discreet.numerics.arrays import Array

__all__ = ["LOST", "TiltedSum"]


LOST = 32.0  # nats: what is smaller than e^-32 = 1e-14 of the result is dropped
DIFFERENCE = 1e-3  # step of numerical derivatives, in units of 1 / reach
MOST_STEPS = 200
TYPICAL = 0.5  # a tilt is good enough when the mean is this many deviations from the wanted value
BOUND_TILTS = np.array([4.0, 8.0, 16.0, 40.0])  # in units of 1 / deviation; the second suits a bell


@dataclass(frozen=True)
class TiltedSum:
    """The law of a noisy sum at several parameters; arrays are (parameters,) or (parameters, tilts)."""

    transform: Transform
    parameters: int
    window: SizeWindow
    law: DiscreteNoise
    reach: float

    def log_sum(self, s: Array) -> Array:
        """A(s), of the sum without its noise."""
        return self.window.log_sum(self.transform.log_moment(s))

    def log_total(self, s: Array) -> Array:
        """K(s), of the sum with its noise."""
        return np.asarray(self.log_sum(s) + self.law.log_moment(s))

    def ends(self) -> tuple[Array, Array]:
        """Where the sum, without noise, ends under the steepest tilts that Laplace noise allows.

        Beyond them the density of the noisy sum is its exponential tail and nothing else.
        """
        bounds = []
        for side in (-1.0, 1.0):
            s = np.full(self.parameters, side / self.law.width)
            _, variance = self._sum_slopes(s)
            steps = BOUND_TILTS / np.sqrt(variance + 1.0)[:, np.newaxis]
            grown = self.log_sum(np.concatenate([s[:, np.newaxis], s[:, np.newaxis] + side * steps], axis=1))
            bounds.append(side * np.min((grown[:, 1:] - grown[:, :1] + LOST) / steps, axis=1))
        return bounds[0], bounds[1]

    def saddlepoint(self, y: float) -> tuple[Array, Array, Array]:
        """The tilt s under which y is typical, the deviation there, and K(s) - sy, a bound on the log-probability.

        Newton steps inside a shrinking bracket; a rough solution serves.
        """
        limit = self.law.largest_tilt(abs(y) + self.window.high * self.reach)
        low, high = np.full(self.parameters, -limit), np.full(self.parameters, limit)
        s, sd = np.zeros(self.parameters), np.ones(self.parameters)
        for _ in range(MOST_STEPS):
            moments, noise = self._sum_slopes(s), self.law.slopes(s)
            gap, variance = moments[0] + noise[0] - y, moments[1] + noise[1]
            sd = np.sqrt(variance)
            low, high = np.where(gap < 0, s, low), np.where(gap < 0, high, s)
            new = s - gap / variance
            new = np.where((new > low) & (new < high), new, 0.5 * (low + high))
            settled = (np.abs(gap) <= TYPICAL * sd) | (new == s)
            if settled.all():
                break
            s = np.where(settled, s, new)
        return s, sd, self.log_total(s[:, np.newaxis])[:, 0] - s * y

    def alias_distance(self, y: float, s: Array, sd: Array) -> Array:
        """How far from y copies of the tilted law must be for their noise and sum to be negligible at y."""
        column, steps = s[:, np.newaxis], BOUND_TILTS / sd[:, np.newaxis]
        distance = np.full(s.shape, 2.0)
        for side in (-1.0, 1.0):
            room = self.law.largest_tilt(np.inf) - side * column
            u = np.minimum(steps, 0.9 * room)
            grown = self.log_total(np.concatenate([column, column + side * u], axis=1))
            distance = np.maximum(distance, np.min((grown[:, 1:] - grown[:, :1] + LOST) / u, axis=1) - side * y)
        return distance

    def _sum_slopes(self, s: Array) -> tuple[Array, Array]:
        """Mean and variance of the tilted sum without its noise."""
        step = DIFFERENCE / self.reach
        moments = self.transform.log_moment(s[:, np.newaxis] + step * np.array([-1.0, 0.0, 1.0]))
        slope = (moments[:, 2] - moments[:, 0]) / (2.0 * step)
        curvature = np.maximum((moments[:, 2] - 2.0 * moments[:, 1] + moments[:, 0]) / step**2, 0.0)
        sizes, spread = self.window.moments(moments[:, 1])
        return np.asarray(sizes * slope), np.asarray(sizes * curvature + spread * slope**2)
