"""What is known beforehand about a number of records: public, or private with a declared prior.

KnownSize     n itself, public
UniformSizes  every total from 0 to the public bound alike
NormalSizes   a declared guess: normal weights around `mean` with deviation `sd`, on 0..highest
ShareSizes    the size of one of G groups whose shares are uniform on the simplex, within a whole of known prior:
              given the whole N, P(k) = C(N - k + G - 2, G - 2) / C(N + G - 1, G - 1)
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["KnownSize", "NormalSizes", "ShareSizes", "Sizes", "UniformSizes"]

Array = NDArray[np.float64]

NODES = 800  # totals at which a private whole is averaged over


@dataclass(frozen=True)
class KnownSize:
    """A public number of records."""

    highest: int

    @property
    def lowest(self) -> int:
        """The same number."""
        return self.highest

    def log_weight(self, totals: ArrayLike) -> Array:
        """0 at the public number, -inf elsewhere."""
        return np.asarray(np.where(np.asarray(totals) == self.highest, 0.0, -np.inf))

    def sample(self, rng: np.random.Generator) -> int:
        """The public number."""
        return self.highest


@dataclass(frozen=True)
class UniformSizes:
    """Every total from 0 to `highest` alike."""

    highest: int
    lowest: int = field(default=0, init=False)

    def log_weight(self, totals: ArrayLike) -> Array:
        """Log-probability of each total."""
        return _inside(totals, self.highest, np.full(np.shape(totals), -np.log(self.highest + 1.0)))

    def sample(self, rng: np.random.Generator) -> int:
        """One total."""
        return int(rng.integers(self.highest + 1))


@dataclass(frozen=True)
class NormalSizes:
    """Normal weights on the integers 0..highest."""

    mean: float
    sd: float
    highest: int
    lowest: int = field(default=0, init=False)

    def log_weight(self, totals: ArrayLike) -> Array:
        """Log-probability of each total."""
        log_weights = -0.5 * ((np.asarray(totals, dtype=float) - self.mean) / self.sd) ** 2 - self._log_mass
        return _inside(totals, self.highest, log_weights)

    def sample(self, rng: np.random.Generator) -> int:
        """One total: a rounded normal inside the bounds, weighed by its cell's own probability."""
        low, high = self.window
        totals = np.unique(np.round(np.linspace(low, high, min(NODES * 100, high - low + 1))))
        weights = np.exp(self.log_weight(totals) - self.log_weight(totals).max())
        return int(rng.choice(totals, p=weights / weights.sum()))

    @property
    def window(self) -> tuple[int, int]:
        """The totals that can matter: forty deviations around the mean, within the bounds."""
        centre = min(max(self.mean, 0.0), float(self.highest))
        low, high = (int(np.clip(centre + side * 40.0 * self.sd, 0, self.highest)) for side in (-1, 1))
        return low, high

    @cached_property
    def _log_mass(self) -> float:
        """Log of the sum of the weights: term by term, or by the integral where the terms are very many."""
        from scipy.special import ndtr

        low, high = self.window
        if high - low > 100_000:  # the deviation is then in the thousands, and sum and integral agree to every digit
            ends = (np.array([low - 0.5, high + 0.5]) - self.mean) / self.sd
            inside = float(np.diff(ndtr(ends if self.mean < low else -ends[::-1]))[0])
            return float(np.log(max(inside, 1e-300)) + np.log(self.sd * np.sqrt(2.0 * np.pi)))
        exponents = -0.5 * ((np.arange(low, high + 1) - self.mean) / self.sd) ** 2
        return float(exponents.max() + np.log(np.exp(exponents - exponents.max()).sum()))


@dataclass(frozen=True)
class ShareSizes:
    """The size of one of `groups` groups; the shares of the groups are uniform on the simplex."""

    whole: "KnownSize | UniformSizes | NormalSizes"
    groups: int
    lowest: int = field(default=0, init=False)

    @property
    def highest(self) -> int:
        """A group may hold everybody."""
        return self.whole.highest

    def log_weight(self, totals: ArrayLike) -> Array:
        """Log-probability of each size, averaged over a private whole."""
        from scipy.special import gammaln, logsumexp

        k = np.asarray(totals, dtype=float)
        if self.groups == 1:
            return self.whole.log_weight(k)
        wholes, log_prior = self._wholes
        rest = wholes - k[..., np.newaxis]
        g = float(self.groups)
        log_terms = np.where(
            rest >= 0, gammaln(np.maximum(rest, 0.0) + g - 1.0) - gammaln(np.maximum(rest, 0.0) + 1.0), -np.inf
        )
        log_terms += log_prior + np.log(g - 1.0) - (gammaln(wholes + g) - gammaln(wholes + 1.0))
        with np.errstate(divide="ignore"):
            return _inside(totals, self.highest, logsumexp(log_terms, axis=-1))

    def sample(self, rng: np.random.Generator) -> int:
        """One size: the whole, then a share of it."""
        whole = self.whole.sample(rng)
        return whole if self.groups == 1 else int(rng.binomial(whole, rng.beta(1.0, self.groups - 1.0)))

    @cached_property
    def _wholes(self) -> tuple[Array, Array]:
        """Totals that stand for all wholes, and the log-probability of what each stands for.

        Every small whole stands for itself; larger ones are spread evenly in the logarithm (a uniform whole) or over
        the window that matters (a guess).
        """
        if isinstance(self.whole, NormalSizes):
            low, high = self.whole.window
            wholes = np.unique(np.round(np.linspace(low, high, min(NODES, high - low + 1))))
        else:
            low, high = self.whole.lowest, self.whole.highest
            wholes = np.unique(np.round(np.geomspace(low + 1.0, high + 1.0, NODES)) - 1.0)
        edges = np.concatenate([[low - 0.5], 0.5 * (wholes[1:] + wholes[:-1]), [high + 0.5]])
        log_prior = self.whole.log_weight(wholes) + np.log(np.diff(edges))
        peak = log_prior.max()
        return wholes, np.asarray(log_prior - peak - np.log(np.exp(log_prior - peak).sum()))


Sizes = KnownSize | NormalSizes | ShareSizes | UniformSizes


def _inside(totals: ArrayLike, highest: int, log_weights: Array) -> Array:
    k = np.asarray(totals)
    return np.asarray(np.where((k >= 0) & (k <= highest), log_weights, -np.inf))
