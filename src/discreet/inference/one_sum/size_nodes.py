"""The number of records behind a sum: every size that matters with its weight, thinned where weights are smooth.

    Σ_N w_N z^N,     w_N = P(N) f(y_n - N)

runs over a window of sizes around the peak of w. Long windows are cut into panels of equal length that break where
the noise density has its kink, and each panel's sum is replaced by a Gauss rule for sums over consecutive integers
(the nodes of the discrete Chebyshev polynomials), exact for polynomials up to degree 47.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.inference.one_sum.record_transforms import layout, power_sums
from discreet.noise import DiscreteNoise
from discreet.numerics.arrays import Array
from discreet.schema.row_counts import NormalSizes, Sizes

__all__ = ["Block", "SizeWeights", "SizeWindow"]

ComplexArray = NDArray[np.complex128]

NEGLIGIBLE = 45.0  # nats below the peak at which the window of sizes ends
DIRECT = 2048  # windows up to this length are summed size by size
CUTS = 4.0 ** np.arange(2.0, 24.0)
RULE = 24  # nodes of the Gauss rule in one panel
GROWTH = 1.25  # from one length of panels to the next
KEPT = 128  # layouts of windows that are kept: hundreds of likelihoods ask for the same
TURNS = 10.0  # half the phase that z^N may turn within a panel; the rule is then exact to 1e-13


@dataclass(frozen=True)
class Block:
    """Sizes base + panel · stride + offset with log-weights (panels, offsets)."""

    base: float
    stride: float
    offsets: Array
    log_weights: Array

    @property
    def sizes(self) -> Array:
        """All sizes of the block, in the order of the flattened weights."""
        panels = self.stride * np.arange(self.log_weights.shape[0])
        return np.asarray(self.base + panels[:, np.newaxis] + self.offsets)

    def power_sum(self, log_tilt: Array, log_total: Array, log_z: ComplexArray) -> ComplexArray:
        """Σ w_N e^{N log_tilt - log_total} z^N for one tilt in each row of log z."""
        exponents = self.log_weights + self.sizes * log_tilt[:, np.newaxis, np.newaxis]
        coefficients = np.exp(exponents - log_total[:, np.newaxis, np.newaxis])
        return np.asarray(np.exp(self.base * log_z) * power_sums(coefficients, self.offsets, self.stride, log_z))


@dataclass(frozen=True)
class SizeWeights:
    """Log-weights of the sizes: their prior and, where a noisy size was released, its likelihood."""

    prior: Sizes
    released: float | None = None
    law: DiscreteNoise | None = None

    def __call__(self, sizes: Array) -> Array:
        """Log-weight of every size."""
        weights = self.prior.log_weight(sizes)
        if self.released is None or self.law is None:
            return weights
        return np.asarray(weights + self.law.log_density(self.released - sizes))

    def windows(self, needed: float) -> "tuple[SizeWindow, ...]":
        """The sizes that matter, cut where they grow by a factor of four, likeliest first.

        `needed` is a size that the sum itself asks for. Few records need high frequencies and many need a long range;
        in one window they would need both.
        """
        whole, peak = self._window(needed)
        cuts = CUTS[(whole.low < CUTS) & (whole.high > CUTS)]
        lows, highs = np.append(whole.low, cuts + 1.0), np.append(cuts, whole.high)
        windows = [SizeWindow(self, float(low), float(high)) for low, high in zip(lows, highs, strict=True)]
        return tuple(sorted(windows, key=lambda window: max(window.low - peak, peak - window.high)))

    def _window(self, needed: float) -> "tuple[SizeWindow, float]":
        """The whole window, and the likeliest size in it."""
        low, high = float(self.prior.lowest), float(self.prior.highest)
        if low == high:
            return SizeWindow(self, low, high), low
        peak = self._peak(low, high)
        top = float(self(np.array([peak]))[0])
        steps = np.append(0.0, 2.0 ** np.arange(0.0, 1.0 + np.ceil(np.log2(high - low + 2.0)), 0.25)).round()
        ends = []
        for side in (-1.0, 1.0):
            reached = np.clip(peak + side * steps, low, high)
            ends.append(reached[min(int(np.sum(self(reached) > top - NEGLIGIBLE)), reached.size - 1)])
        return SizeWindow(self, ends[0], float(np.clip(needed, ends[1], high))), peak

    def _peak(self, low: float, high: float) -> float:
        """The likeliest size: the weights have one peak, so a bracket around the best of a grid shrinks onto it."""
        hints = [self.released] if self.released is not None else []
        hints += [self.prior.mean] if isinstance(self.prior, NormalSizes) else []
        best = low
        while True:
            grid = np.unique(np.round(np.append(np.linspace(low, high, 65), np.clip(hints, low, high))))
            place = int(np.argmax(self(grid)))
            best = float(grid[place])
            if high - low <= 64:
                return best
            low, high = float(grid[max(place - 1, 0)]), float(grid[min(place + 1, grid.size - 1)])


@dataclass(frozen=True)
class SizeWindow:
    """The sizes from `low` to `high`."""

    weights: SizeWeights
    low: float
    high: float

    def blocks(self, turn: float, direct: int = DIRECT) -> tuple[Block, ...]:
        """The sizes, thinned if there are more than `direct`; z^N turns by at most `turn` radians from N to N + 1."""
        count, length = int(self.high - self.low) + 1, self._panel(turn)
        if count <= direct or length < 2 * RULE:
            return _listed(self)
        return _thinned(self, length)

    def log_sum(self, log_tilt: Array) -> Array:
        """Log Σ w_N e^{N log_tilt}."""
        peak, weights = self._tilted(log_tilt)
        return np.asarray(peak + np.log(weights.sum(axis=-1)))

    def moments(self, log_tilt: Array) -> tuple[Array, Array]:
        """Mean and variance of N under the weights w_N e^{N log_tilt}."""
        sizes, weights = self._nodes[0], self._tilted(log_tilt)[1]
        weights /= weights.sum(axis=-1, keepdims=True)
        mean = weights @ sizes
        return np.asarray(mean), np.asarray(np.sum(weights * (sizes - mean[..., np.newaxis]) ** 2, axis=-1))

    def _tilted(self, log_tilt: Array) -> tuple[Array, Array]:
        """Tilted weights of the nodes relative to their peak, and the logarithm of the peak."""
        sizes, log_weights = self._nodes
        exponents = log_weights + sizes * log_tilt[..., np.newaxis]
        peak = exponents.max(axis=-1)
        return peak, np.exp(exponents - peak[..., np.newaxis])

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        blocks = self.blocks(0.0, direct=4 * RULE)
        sizes = np.concatenate([block.sizes.ravel() for block in blocks])
        log_weights = np.concatenate([block.log_weights.ravel() for block in blocks])
        kept = log_weights > log_weights.max() - 4.0 * NEGLIGIBLE
        return sizes[kept], log_weights[kept]

    def _panel(self, turn: float) -> int:
        smooth = 2.0**20 if self.weights.law is None else self.weights.law.reach(1.0) * 4.0
        if isinstance(self.weights.prior, NormalSizes):
            smooth = min(smooth, 2.0 * self.weights.prior.sd)
        longest = min(smooth, 2.0 * TURNS / max(turn, 1e-12))
        return int(GROWTH ** np.floor(np.log(max(longest, 1.0)) / np.log(GROWTH)))  # few lengths: each is laid out once


@lru_cache(maxsize=KEPT)
def _thinned(window: SizeWindow, length: int) -> tuple[Block, ...]:
    """Panels of this length, and what is left of the window on either side of them."""
    low, high, weights = window.low, window.high, window.weights
    kink = low if weights.released is None else float(np.clip(weights.released, low, high))
    first = kink - length * np.floor((kink - low) / length)
    panels = int((high + 1.0 - first) // length)
    offsets, log_rule = _gauss_rule(length)
    nodes = first + length * np.arange(panels)[:, np.newaxis] + offsets
    blocks = [Block(first, float(length), offsets, weights(nodes) + log_rule)] if panels else []
    if first > low:
        blocks.append(_direct(weights, low, first - 1.0))
    if first + panels * length <= high:
        blocks.append(_direct(weights, first + panels * length, high))
    return tuple(blocks)


@lru_cache(maxsize=KEPT)
def _listed(window: SizeWindow) -> tuple[Block, ...]:
    """Every size."""
    return (_direct(window.weights, window.low, window.high),)


def _direct(weights: SizeWeights, low: float, high: float) -> Block:
    panels, offsets = layout(int(high - low) + 1)
    sizes = low + np.arange(float(panels * offsets)).reshape(panels, offsets)
    log_weights = np.where(sizes <= high, weights(np.minimum(sizes, high)), -np.inf)
    return Block(low, float(offsets), np.arange(float(offsets)), log_weights)


@lru_cache(maxsize=64)
def _gauss_rule(length: int) -> tuple[Array, Array]:
    """Nodes and log-weights that sum polynomials of degree below 48 over 0, 1, …, length - 1."""
    k = np.arange(1.0, RULE)
    off_diagonal = 0.5 * k * np.sqrt((length**2 - k**2) / (4.0 * k**2 - 1.0))
    nodes, vectors = np.linalg.eigh(np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1))
    return nodes + 0.5 * (length - 1.0), np.log(length * vectors[0] ** 2)
