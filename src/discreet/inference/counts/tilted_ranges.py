"""The weight of every total over a wide range, put together from convolutions with different tilts.

One tilted convolution knows the weights of totals near the one it was tilted to; farther than about eight deviations
they drown in the rounding of the FFT. Where nothing but the noisy cells themselves says what the total is, its
posterior can be wider than that: then each part of the range is served by a convolution tilted into it.
"""

from dataclasses import dataclass

import numpy as np

from discreet.inference.counts.convolution import Convolution, Law
from discreet.inference.counts.noisy_counts import Cells
from discreet.numerics.arrays import Array, Integers

__all__ = ["TiltedRanges"]


TRUSTED = 1e-8  # share of a part's largest weight above which its weights have eight correct digits
MOST_PARTS = 300


@dataclass(frozen=True)
class TiltedRanges:
    """Convolutions of the same cells; part i serves the totals from edges[i] up to, but not including, edges[i + 1]."""

    parts: tuple[Convolution, ...]
    edges: Integers

    @classmethod
    def around(cls, cells: Cells, total: float, highest: int) -> "TiltedRanges":
        """A single convolution, tilted to `total`."""
        return cls((Convolution.build(cells, total, highest),), np.array([0, highest + 1]))

    @classmethod
    def over(cls, cells: Cells, low: int, high: int, highest: int) -> "TiltedRanges":
        """As many convolutions as it takes to know every total from low to high to eight digits."""
        parts: list[Convolution] = []
        edges: list[int] = []
        reached, target = low, float(low)
        while reached <= high and len(parts) < MOST_PARTS:
            part = Convolution.build(cells, target, highest)
            first, last = _trusted(part)
            if first > reached and target > reached:  # left a gap: come closer
                target = reached + 0.5 * (target - reached) if target - reached > 1.0 else float(reached)
                continue
            if parts and last < reached:
                break  # no part can be tilted any further
            parts.append(part)
            edges.append(reached)
            target, reached = last + 0.9 * max(last - target, 1.0), last + 1
        return cls(tuple(parts), np.array([*edges, max(high, reached - 1) + 1]))

    def log_totals(self) -> tuple[Integers, Array]:
        """The totals that are served, and their log-weights."""
        parts = [part.log_totals() for part in self.parts]
        kept = [(t >= a) & (t < b) for (t, _), a, b in zip(parts, self.edges[:-1], self.edges[1:], strict=True)]
        totals = np.concatenate([t[keep] for (t, _), keep in zip(parts, kept, strict=True)])
        return totals, np.concatenate([w[keep] for (_, w), keep in zip(parts, kept, strict=True)])

    def is_reliable(self, totals: Integers, log_share: Array) -> bool:
        """Whether every total is known well enough for its posterior weight, given relative to the largest one.

        Rounding errs by about 1e-16 of a part's largest weight: either eight digits are right, or the error stays
        below 1e-12 of the posterior.
        """
        known, _ = self.log_totals()
        if not np.all(np.isin(totals, known)):
            return False
        for part, low, high in zip(self.parts, self.edges[:-1], self.edges[1:], strict=True):
            served = (totals >= low) & (totals < high)
            law = part.sums[-1]
            log_known = np.log(law.weights[totals[served] - law.offset] / law.weights.max())
            if np.any((log_known < np.log(TRUSTED)) & (log_share[served] - log_known > np.log(1e4))):
                return False
        return True

    def marginals(self, total: int) -> tuple[Law, ...]:
        """The exact law of every cell given the total."""
        return self.parts[int(np.searchsorted(self.edges, total, side="right")) - 1].marginals(total)

    def sample(self, totals: Integers, rng: np.random.Generator) -> Integers:
        """One exact draw of all cells for each of the given totals."""
        counts = np.empty((len(totals), len(self.parts[0].cells)), dtype=np.int64)
        for part, low, high in zip(self.parts, self.edges[:-1], self.edges[1:], strict=True):
            served = (totals >= low) & (totals < high)
            if served.any():
                counts[served] = part.sample(totals[served], rng)
        return counts


def _trusted(part: Convolution) -> tuple[int, int]:
    """The first and last total that the part knows to eight digits."""
    law = part.sums[-1]
    known = law.support[law.weights > TRUSTED * law.weights.max()]
    return int(known[0]), int(known[-1])
