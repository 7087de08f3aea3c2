"""Expectations of a smooth weight of a sum: the likelihood of one parameter when only draws given the sum are known.

    E[g(S) | θ] = Σ_S P(S | θ) g(S)        S a sum of n clamped records, g(S) the density of what was drawn given S

Parseval turns the sum into a few frequencies: the transform of one record to the power n, times that of g. As for noisy
sums a tilt keeps the digits wherever θ is: with s = (log g)'(S*) and S* = E[S] under the law tilted by e^{sS}, the
tilted law and the weight g(S) e^{-sS} have their peaks at one place. Every tilt is exact; a good one loses no digits.

log g must be concave, as it is for draws of every exponential family whose parameters are linear in S. The weight is
listed on the grid of S, or on every so many points of it where it is smooth, and the fast Fourier transform of the
list gives its transform at every frequency. Beyond the range of S, where it does not matter, g continues as a Gaussian:
cut off there it would need many frequencies.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.inference.one_sum.clamped_records import ClampedRecord
from discreet.inference.one_sum.concave_weight import LOST, ConcaveWeight
from discreet.inference.one_sum.record_transforms import Transform
from discreet.numerics.arrays import Array

__all__ = ["WeightedSum"]


DIFFERENCE = 1e-3  # step of numerical derivatives of a record's moments, in units of 1 / reach or of the tilt
MOST_STEPS = 200
STEEPEST = 200.0  # a tilt e^{200 v} leaves nothing but the highest value of v
TYPICAL = 0.5  # a tilt is good enough when both peaks are this many deviations apart
BOUND_TILTS = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0])  # in units of 1 / scale; 8 suits a bell
RESOLUTION = 6.0  # points of the list in the width of a bell
SMOOTH = 1e-10  # share of the transform at the highest frequency of the list, below which the list is fine enough
UNSEEN = 1e-13  # share of the transform below which frequencies are left out
MOST_POINTS = 4096
FEW_POINTS = 384  # so few are all listed
NUMBERS_AT_ONCE = 500_000
PARAMETERS_AT_ONCE = 64
SMALLEST = 1e-300


@dataclass(frozen=True)
class WeightedSum:
    """A weight of the sum of `n` records in units of its grid; `log_weight` takes arrays of sums, not only integers."""

    record: ClampedRecord
    n: int
    log_weight: Callable[[Array], Array]

    def log_likelihood(self, theta: ArrayLike) -> Array:
        """Log E[g(S)] at each parameter."""
        parameters = np.asarray(theta, dtype=float)
        if self.n == 0:
            return np.full(parameters.shape, float(self.log_weight(np.zeros(1))[0]))
        flat = parameters.ravel()
        at_once = int(np.clip(NUMBERS_AT_ONCE // (4 * self.record.listed_cells), 1, PARAMETERS_AT_ONCE))
        pieces = [self._log_likelihood(flat[i : i + at_once]) for i in range(0, flat.size, at_once)]
        return np.concatenate([*pieces, np.empty(0)]).reshape(parameters.shape)

    @cached_property
    def _weight(self) -> ConcaveWeight:
        return ConcaveWeight.of(self.log_weight, self._farthest)

    @property
    def _farthest(self) -> float:
        return float(self.n * self.record.value_grid.reach)

    def _log_likelihood(self, theta: Array) -> Array:
        """All parameters at once; those that need a finer list are left for the next round."""
        transform = self.record.at(theta)
        place, tilt, deviation = self._meeting(transform, theta.size)
        log_height = self.n * transform.log_moment(tilt[:, np.newaxis])[:, 0]
        window = self._weight.window(place, tilt)
        above, below = self._ends(transform, tilt, deviation + window[2], log_height)
        result = np.zeros(theta.size)
        left, fineness = np.arange(theta.size), RESOLUTION
        while left.size:
            transform = self.record.at(theta[left])
            listed = _Listed.of(self._weight, tilt[left], window[:, left], fineness)
            rough = listed.rough & (2 * listed.points <= MOST_POINTS)
            if rough.any():
                highest = self.n * transform.log_tilted(tilt[left], (np.pi / listed.stride)[:, np.newaxis]).real[:, 0]
                rough &= (highest > np.log(SMOOTH)) | (np.maximum(above, -below)[left] >= self._farthest)
            done = left[~rough]
            if done.size:
                result[done] = self._log_sums(listed.only(~rough), theta[done], tilt[done], above[done], below[done])
            left, fineness = left[rough], 2.0 * fineness
        return result + log_height

    def _log_sums(self, listed: "_Listed", theta: Array, tilt: Array, above: Array, below: Array) -> Array:
        """Log Σ of the tilted law times the tilted weight; the law lies between `below` and `above`."""
        periods = np.maximum(above - listed.first, listed.last - below) / listed.stride
        counts = np.maximum(periods + 2.0, listed.points)
        result, order = np.empty(theta.size), np.argsort(counts)
        while order.size:  # parameters that need about as many frequencies share an array
            count = _even(counts[order[-1]])
            chosen, order = np.split(order[::-1], [max(1, NUMBERS_AT_ONCE // count)])
            result[chosen] = self._log_sum(listed.only(chosen), theta[chosen], tilt[chosen], count)
            order = order[::-1]
        return result

    def _log_sum(self, listed: "_Listed", theta: Array, tilt: Array, count: int) -> Array:
        """The same with `count` points of the list in a period of the transform."""
        log_peak = listed.log_values.max(axis=1)
        spectrum = np.fft.rfft(np.exp(listed.log_values - log_peak[:, np.newaxis]), count, axis=1)
        seen = np.abs(spectrum) > UNSEEN * np.abs(spectrum[:, :1])
        j = np.arange(np.flatnonzero(seen.any(axis=0))[-1] + 1.0)
        t = 2.0 * np.pi * j / (count * listed.stride[:, np.newaxis])
        waves = np.exp(self.n * self.record.at(theta).log_tilted(tilt, t) - 1j * t * listed.first[:, np.newaxis])
        twice = np.where((j == 0) | (2 * j == count), 1.0, 2.0)
        value = np.sum((waves * spectrum[:, : j.size]).real * twice, axis=1) / count
        return np.asarray(np.log(np.maximum(value, SMALLEST)) + log_peak)

    def _meeting(self, transform: Transform, parameters: int) -> tuple[Array, Array, Array]:
        """Where the tilted law and the tilted weight both have their peaks, the tilt, and the deviation of the law.

        The gap between the two falls in the place: Newton steps inside a shrinking bracket; a rough solution serves.
        """
        low, high = np.full(parameters, -self._farthest), np.full(parameters, self._farthest)
        place = np.clip(self._slopes(transform, np.zeros(parameters))[0], low, high)
        for _ in range(MOST_STEPS):
            slope, curvature = self._weight.slopes(place)
            tilt = np.clip(slope, -STEEPEST, STEEPEST)
            mean, variance = self._slopes(transform, tilt)
            gap = mean - place
            low, high = np.where(gap > 0, place, low), np.where(gap > 0, high, place)
            new = place + gap / (1.0 - variance * curvature)
            short = np.abs(new - place) < 0.5 * (high - low)  # long steps may go back and forth
            new = np.where(short, new, 0.5 * (low + high))
            settled = (np.abs(gap) <= TYPICAL * np.sqrt(variance - 1.0 / curvature)) | (new == place)
            if settled.all():
                break
            place = np.where(settled, place, new)
        return place, tilt, np.sqrt(variance)

    def _slopes(self, transform: Transform, s: Array) -> tuple[Array, Array]:
        """Mean and variance of the tilted sum."""
        step = DIFFERENCE * np.maximum(
            1.0 / self.record.value_grid.reach, np.abs(s)
        )  # steep tilts have long logarithms
        moments = transform.log_moment(s[:, np.newaxis] + step[:, np.newaxis] * np.array([-1.0, 0.0, 1.0]))
        slope = (moments[:, 2] - moments[:, 0]) / (2.0 * step)
        curvature = np.maximum((moments[:, 2] - 2.0 * moments[:, 1] + moments[:, 0]) / step**2, 0.0)
        return np.asarray(self.n * slope), np.asarray(self.n * curvature)

    def _ends(self, transform: Transform, s: Array, scale: Array, log_height: Array) -> tuple[Array, Array]:
        """The sums above and below which the tilted law has nothing, by Chernoff's bound with tilts of order 1 / scale.

        The scale is that of the law and of the weight it meets: finer ends would not matter.
        """
        bounds = []
        for side in (1.0, -1.0):
            u = BOUND_TILTS / np.maximum(scale, 1.0)[:, np.newaxis]
            grown = self.n * transform.log_moment(s[:, np.newaxis] + side * u)
            reached = np.min((grown - log_height[:, np.newaxis] + LOST) / u, axis=1)
            bounds.append(side * np.minimum(reached, self._farthest))
        return bounds[0], bounds[1]


@dataclass(frozen=True)
class _Listed:
    """Tilted log-weights (parameters, points) on the points first, first + stride, … of the grid of S."""

    log_values: Array
    first: Array
    stride: Array

    @classmethod
    def of(cls, weight: ConcaveWeight, tilt: Array, window: Array, fineness: float) -> "_Listed":
        """Points in the window (left end, right end, width of the bell), `fineness` of them in the width."""
        left, right, width = window
        end = weight.farthest
        stride = (
            2.0 * np.maximum(np.floor(0.5 * width / fineness), 1.0) if end > FEW_POINTS else np.full(width.size, 2.0)
        )
        every = stride == 2.0
        left, right = np.where(every, np.maximum(left, -end), left), np.where(every, np.minimum(right, end), right)
        first = end - 2.0 * np.ceil((end - left) / 2.0)
        points = int(np.max(np.ceil((right - first) / stride))) + 1
        sums = first[:, np.newaxis] + stride[:, np.newaxis] * np.arange(points)
        return cls(weight(sums) - tilt[:, np.newaxis] * sums, first, stride)

    @property
    def points(self) -> int:
        """The length of every list."""
        return int(self.log_values.shape[1])

    @property
    def last(self) -> Array:
        """The last point of every list."""
        return self.first + self.stride * (self.points - 1)

    @property
    def rough(self) -> NDArray[np.bool_]:
        """Lists that leave points out and whose transform has not vanished at its highest frequency."""
        values = np.exp(self.log_values - self.log_values.max(axis=1, keepdims=True))
        highest = np.abs(values[:, ::2].sum(axis=1) - values[:, 1::2].sum(axis=1))
        return np.asarray((self.stride > 2.0) & (highest > SMOOTH * values.sum(axis=1)))

    def only(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "_Listed":
        """The lists of some parameters."""
        return _Listed(self.log_values[chosen], self.first[chosen], self.stride[chosen])


def _even(count: float) -> int:
    """A length that the fast Fourier transform likes: a power of two, or three quarters of one."""
    power = 1 << int(np.ceil(np.log2(count)))
    return power * 3 // 4 if power * 3 // 4 >= count and power > 2 else power
