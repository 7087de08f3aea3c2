"""Exact sums over all compositions: the joint law of independent integer cells given their total.

The weights p_j(k) of the cells, tilted by e^{tilt·k} and normalised, are convolved one after the other. The partial
sums

    F_1 = p_1,   F_j = F_{j-1} * p_j        (F_j(N) = weight of all ways in which the first j cells add up to N)

give the weight of every total, and backwards an exact draw of the cells given a total: k_K with probability
proportional to p_K(k) F_{K-1}(N - k), then k_{K-1} given what is left, and so on. The tilt changes nothing in these
conditional laws; it puts the wanted total where F is large, so that the absolute rounding error of the FFT (about
1e-16) is a relative one too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from discreet.errors import QueryError
from discreet.inference.counts.noisy_counts import NEGLIGIBLE, Cells, CountWindow, tilt_to
from discreet.numerics.arrays import Array, Integers

__all__ = ["Convolution", "Law"]


FLOOR = 1e-16  # entries below this share of the largest one are rounding error of the FFT
DIRECT = 200_000  # products of two vectors up to which plain summation is as quick as the FFT


@dataclass(frozen=True)
class Law:
    """Weights of the integers offset, offset + 1, …"""

    offset: int
    weights: Array

    @property
    def support(self) -> Integers:
        """The integers that have a weight."""
        return np.arange(self.offset, self.offset + self.weights.size)

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        share = self.weights / self.weights.sum()
        steps = np.arange(share.size)
        mean = float(share @ steps)
        return self.offset + mean, float(share @ (steps - mean) ** 2)

    def __mul__(self, other: "Law") -> "Law":
        return _trim(self.offset + other.offset, _convolve(self.weights, other.weights))

    def upto(self, highest: int) -> "Law":
        """Without the values above `highest`."""
        return Law(self.offset, self.weights[: max(highest - self.offset + 1, 1)])


@dataclass(frozen=True)
class Convolution:
    """Cells under a tilt and their partial sums; `log_scale` undoes tilt and normalisation at the total `base`."""

    cells: tuple[Law, ...]
    sums: tuple[Law, ...]
    tilt: float
    base: int
    log_scale: float

    @classmethod
    def build(cls, cells: Cells, total: float, highest: int) -> "Convolution":
        """The convolution tilted so that the cells add up to `total` on average; totals above `highest` are dropped."""
        tilt, window = tilt_to(cells, total)
        log_weights = window.tilted(tilt)
        peaks = log_weights.max(axis=1)
        masses = np.exp(log_weights - peaks[:, None]).sum(axis=1)
        laws = tuple(_cell(window, j, log_weights[j] - peaks[j], float(masses[j])) for j in range(len(peaks)))
        sums = [laws[0]]
        for law in laws[1:]:
            sums.append((sums[-1] * law).upto(highest))
        return cls(laws, tuple(sums), tilt, int(window.low.sum()), float(np.sum(peaks + np.log(masses))))

    def log_totals(self) -> tuple[Integers, Array]:
        """The totals that can be told from rounding error, and their log-weights, untilted."""
        law = self.sums[-1]
        positive = law.weights > 0
        totals = law.support[positive]
        return totals, np.log(law.weights[positive]) + self.log_scale - self.tilt * (totals - self.base)

    def sample(self, totals: Integers, rng: np.random.Generator) -> Integers:
        """One exact draw of all cells for each of the given totals: an array (totals, cells)."""
        last = self.sums[-1]
        inside = (totals >= last.offset) & (totals < last.offset + last.weights.size)
        if not np.all(inside & (last.weights[np.where(inside, totals - last.offset, 0)] > 0)):
            raise QueryError("Convolution.sample totals must be among those of Convolution.log_totals")
        moments = np.array([law.moments() for law in self.cells])
        variances = np.cumsum(moments[:, 1])
        gain = np.divide(moments[:, 1], variances, out=np.zeros_like(variances), where=variances > 0)
        counts = np.empty((len(totals), len(self.cells)), dtype=np.int64)
        uniforms = rng.random(counts.shape)
        guesses = np.stack([moments[:, 0] - gain * np.cumsum(moments[:, 0]), gain], axis=1)
        _kernel()(totals.astype(np.int64), uniforms, *_flat(self.cells), *_flat(self.sums), guesses, counts)
        return counts

    def marginals(self, total: int) -> tuple[Law, ...]:
        """The exact law of every cell given the total, from the sums before it and the sums after it."""
        after: list[Law] = [Law(0, np.ones(1))]
        for law in self.cells[:0:-1]:
            after.append((after[-1] * law).upto(total))
        before = [Law(0, np.ones(1)), *self.sums[:-1]]
        return tuple(
            _given(law, left * right, total)
            for law, left, right in zip(self.cells, before, reversed(after), strict=True)
        )


def _cell(window: CountWindow, j: int, log_weights: Array, mass: float) -> Law:
    kept = np.flatnonzero(log_weights > -NEGLIGIBLE)
    return Law(int(window.low[j] + kept[0]), np.exp(log_weights[kept[0] : kept[-1] + 1]) / mass)


def _given(cell: Law, others: Law, total: int) -> Law:
    """P(cell = k | cell + others = total)."""
    wanted = total - cell.support - others.offset
    inside = (wanted >= 0) & (wanted < others.weights.size)
    weights = np.where(inside, cell.weights * others.weights[np.where(inside, wanted, 0)], 0.0)
    return _trim(cell.offset, weights / weights.sum())


def _convolve(p: Array, q: Array) -> Array:
    if p.size * q.size <= DIRECT:
        return np.convolve(p, q)
    from scipy.fft import irfft, next_fast_len, rfft

    size = p.size + q.size - 1
    padded = next_fast_len(size, real=True)
    result = np.asarray(irfft(rfft(p, padded) * rfft(q, padded), padded)[:size])
    return np.where(result < FLOOR * result.max(), 0.0, result)


def _trim(offset: int, weights: Array) -> Law:
    """Without negligible ends."""
    kept = np.flatnonzero(weights > np.exp(-NEGLIGIBLE) * weights.max())
    return Law(offset + int(kept[0]), weights[kept[0] : kept[-1] + 1])


def _flat(laws: Sequence[Law]) -> tuple[Array, Integers, Integers]:
    """All weights end to end, where each law starts, and which integer that is."""
    sizes = [law.weights.size for law in laws]
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return np.concatenate([law.weights for law in laws]), start, np.array([law.offset for law in laws], dtype=np.int64)


@cache
def _kernel() -> Callable[..., None]:
    """Compiled on first use: importing the compiler takes longer than most draws."""
    from numba import njit

    compiled: Callable[..., None] = njit(cache=True)(_draw_backwards)
    return compiled


def _draw_backwards(
    totals: Any,
    uniforms: Any,
    cell_weights: Any,
    cell_start: Any,
    cell_offset: Any,
    sum_weights: Any,
    sum_start: Any,
    sum_offset: Any,
    guesses: Any,
    counts: Any,
) -> None:
    """Inverse CDF, visiting the values outwards from a guess: any fixed order is exact, this one is short."""
    last = len(cell_offset) - 1
    for i in range(len(totals)):
        rest = totals[i]
        for j in range(last, 0, -1):
            cell = cell_start[j] - cell_offset[j]  # position of k is cell + k
            before = sum_start[j - 1] - sum_offset[j - 1]  # position of a partial sum is before + sum
            low = max(cell_offset[j], rest - (sum_start[j] - 1 - before))
            high = min(cell_start[j + 1] - 1 - cell, rest - sum_offset[j - 1])
            mass = sum_weights[sum_start[j] + rest - sum_offset[j]]
            if mass < 1e-9:  # the FFT's rounding may be felt: add up the same products that are visited below
                mass = 0.0
                for k in range(low, high + 1):
                    mass += cell_weights[cell + k] * sum_weights[before + rest - k]
            left = uniforms[i, j] * mass
            up = min(max(round(guesses[j, 0] + guesses[j, 1] * rest), low), high)
            down = up - 1
            chosen = up
            while up <= high or down >= low:
                if up <= high:
                    weight = cell_weights[cell + up] * sum_weights[before + rest - up]
                    if weight > 0.0:
                        chosen = up
                        left -= weight
                        if left < 0.0:
                            break
                    up += 1
                if down >= low:
                    weight = cell_weights[cell + down] * sum_weights[before + rest - down]
                    if weight > 0.0:
                        chosen = down
                        left -= weight
                        if left < 0.0:
                            break
                    down -= 1
            counts[i, j] = chosen
            rest -= chosen
        counts[i, 0] = rest
