"""Cells: nonnegative integer counts that nobody saw, each with a weight for every value it may have.

A released count y = k + noise weighs its true value k with the probability of the noise and with what the model says
about k before the total is known:

    Polya(alpha)         Γ(k + alpha) / (k! Γ(alpha))     the probability of the cell is unknown, its prior is Dirichlet
    Multinomial(log θ)   θ^k / k!                         the probability of the cell is given

Only a window of values matters. It depends on the tilt e^{tilt·k} under which a set of cells is made to add up to a
wanted total, so windows are grown until both ends are negligible under the tilt.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from discreet.noise import NoiseLaw
from discreet.noise.laws import plausible
from discreet.numerics.arrays import Array, Integers
from discreet.numerics.gamma_functions import log_polya

__all__ = ["Cells", "CountWindow", "KnownCells", "Multinomial", "NoisyCells", "Polya", "tilt_to"]


NEGLIGIBLE = 45.0  # nats: e^-45 is far below the rounding error of a sum that starts at 1


@dataclass(frozen=True)
class CountWindow:
    """Log-weights of every cell (rows) at low, low + 1, …; -inf where a value is impossible.

    `complete` says that no value outside the window is possible, `highest` is the largest possible one.
    """

    low: Integers
    log_weights: Array
    highest: int
    complete: bool = False

    def tilted(self, tilt: float) -> Array:
        """Log-weights of k, times e^{tilt (k - low)}."""
        return np.asarray(self.log_weights + tilt * np.arange(self.log_weights.shape[1]))

    def moments(self, tilt: float) -> tuple[Array, Array]:
        """Mean and variance of every cell under the tilt."""
        log_weights = self.tilted(tilt)
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        steps = np.arange(weights.shape[1])
        mean = weights @ steps
        return self.low + mean, np.asarray(np.maximum(weights @ steps**2 - mean**2, 0.0))

    def settled(self, tilt: float) -> bool:
        """Whether every cell is negligible at both ends under the tilt, or cannot go further."""
        log_weights = self.tilted(tilt)
        fall = log_weights.max(axis=1)[:, None] - log_weights[:, [0, -1]]
        open_ended = np.stack([self.low > 0, self.low + log_weights.shape[1] - 1 < self.highest], axis=1)
        return self.complete or not bool(np.any(open_ended & (fall < NEGLIGIBLE)))


class Cells(Protocol):
    """Anything that can show the weights of its cells on windows of growing radius."""

    @property
    def radius(self) -> int:
        """A radius to start from."""

    def window(self, radius: int) -> CountWindow:
        """The window of that radius around the likely values."""


@dataclass(frozen=True)
class Polya:
    """Unknown cell probabilities with a Dirichlet(alpha) prior."""

    alpha: Array

    @property
    def concentration(self) -> float:
        """A = Σ alpha."""
        return float(self.alpha.sum())

    def log_weight(self, k: Array) -> Array:
        """Log of Γ(k + alpha) / (k! Γ(alpha)), one row per cell."""
        return log_polya(k, self.alpha[:, None])


@dataclass(frozen=True)
class Multinomial:
    """Given cell probabilities."""

    log_theta: Array
    concentration: ClassVar[None] = None

    def log_weight(self, k: Array) -> Array:
        """Log of θ^k / k!, one row per cell."""
        from scipy.special import gammaln

        return np.asarray(k * self.log_theta[:, None] - gammaln(k + 1.0))


CountPrior = Multinomial | Polya


@dataclass(frozen=True)
class NoisyCells:
    """Counts between 0 and `highest` of which `released` = count + noise is known."""

    released: Array
    law: NoiseLaw
    prior: CountPrior
    highest: int

    @property
    def radius(self) -> int:
        """Where the noise alone is negligible, with room for the prior."""
        return int(np.ceil(min(self.law.reach(60.0), 2.0**40))) + 8

    def window(self, radius: int) -> CountWindow:
        """`radius` values on each side of the released count, moved inside 0..highest."""
        width = min(2 * radius + 1, self.highest + 1)
        released = plausible(self.released, self.law, self.highest)
        centre = np.clip(np.round(released), 0, self.highest).astype(np.int64)
        low = np.clip(centre - radius, 0, self.highest + 1 - width)
        k = (low[:, None] + np.arange(width)).astype(float)
        log_weights = self.prior.log_weight(k) + self.law.log_density(released[:, None] - k)
        return CountWindow(low, log_weights, self.highest, complete=width == self.highest + 1)


@dataclass(frozen=True)
class KnownCells:
    """Cells whose weights are already known everywhere they matter."""

    weights: CountWindow

    @property
    def radius(self) -> int:
        """Unused: the window is complete."""
        return 1

    def window(self, radius: int) -> CountWindow:
        """The given weights, whatever the radius."""
        return self.weights


def tilt_to(cells: Cells, total: float) -> tuple[float, CountWindow]:
    """The tilt under which the independent cells add up to `total` on average, and a window wide enough for it."""
    radius, tilt = cells.radius, 0.0
    while True:
        window = cells.window(radius)
        tilt = _solve_tilt(window, total, tilt)
        if window.settled(tilt):
            return tilt, window
        radius *= 2


def _solve_tilt(window: CountWindow, total: float, start: float) -> float:
    """Newton's method on the increasing mean, kept inside a bracket; a tenth of a deviation is near enough."""
    possible = np.isfinite(window.log_weights)
    least = float(np.sum(window.low + possible.argmax(axis=1)))
    most = float(np.sum(window.low + possible.shape[1] - 1 - possible[:, ::-1].argmax(axis=1)))
    if most == least:
        return 0.0
    margin = min(0.01, 0.25 * (most - least))  # at the very ends the tilt would be infinite
    wanted = float(np.clip(total, least + margin, most - margin))
    tilt, lower, upper = start, -np.inf, np.inf
    for _ in range(500):
        means, variances = window.moments(tilt)
        gap, variance = wanted - float(means.sum()), float(variances.sum())
        if abs(gap) <= max(0.1 * np.sqrt(variance), 1e-3):
            break
        lower, upper = (tilt, upper) if gap > 0 else (lower, tilt)
        step = float(np.clip(gap / max(variance, 1e-300), -1e12, 1e12))
        if np.isfinite(lower) and np.isfinite(upper):
            tilt = tilt + step if lower < tilt + step < upper else 0.5 * (lower + upper)
        else:  # no bracket yet: doubling steps cannot run away, Newton's can
            largest = 2.0 * abs(tilt) + 1.0 / np.sqrt(max(variance, 1e-6))
            tilt += float(np.clip(step, -largest, largest))
    return tilt
