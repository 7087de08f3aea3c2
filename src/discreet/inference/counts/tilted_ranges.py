"""The weight of every total over a wide range, patched together from chains with different tilts.

One tilted chain knows the weights of totals near the one it was tilted to; farther than about eight deviations they
drown in the rounding of the FFT. Where nothing but the noisy cells themselves says what the total is, its posterior
can be wider than that: then each part of the range is served by a chain tilted into it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.counts.convolution import Chain, Law
from discreet.inference.counts.noisy_counts import Cells

__all__ = ["Patchwork"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

TRUSTED = 1e-8  # share of a chain's largest weight above which its weights have eight correct digits
MOST_CHAINS = 300


@dataclass(frozen=True)
class Patchwork:
    """Chains over the same cells; chain i serves the totals from edges[i] up to, but not including, edges[i + 1]."""

    chains: tuple[Chain, ...]
    edges: Integers

    @classmethod
    def around(cls, cells: Cells, total: float, highest: int) -> "Patchwork":
        """A single chain, tilted to `total`."""
        return cls((Chain.build(cells, total, highest),), np.array([0, highest + 1]))

    @classmethod
    def over(cls, cells: Cells, low: int, high: int, highest: int) -> "Patchwork":
        """As many chains as it takes to know every total from low to high to eight digits."""
        chains: list[Chain] = []
        edges: list[int] = []
        reached, target = low, float(low)
        while reached <= high and len(chains) < MOST_CHAINS:
            chain = Chain.build(cells, target, highest)
            first, last = _trusted(chain)
            if first > reached and target > reached:  # left a gap: come closer
                target = reached + 0.5 * (target - reached) if target - reached > 1.0 else float(reached)
                continue
            if chains and last < reached:
                break  # no chain can be tilted any further
            chains.append(chain)
            edges.append(reached)
            target, reached = last + 0.9 * max(last - target, 1.0), last + 1
        return cls(tuple(chains), np.array([*edges, max(high, reached - 1) + 1]))

    def log_totals(self) -> tuple[Integers, Array]:
        """The totals that are served, and their log-weights."""
        parts = [chain.log_totals() for chain in self.chains]
        kept = [(t >= a) & (t < b) for (t, _), a, b in zip(parts, self.edges[:-1], self.edges[1:], strict=True)]
        totals = np.concatenate([t[keep] for (t, _), keep in zip(parts, kept, strict=True)])
        return totals, np.concatenate([w[keep] for (_, w), keep in zip(parts, kept, strict=True)])

    def is_reliable(self, totals: Integers, log_share: Array) -> bool:
        """Whether every total is known well enough for its posterior weight, given relative to the largest one.

        Rounding errs by about 1e-16 of a chain's largest weight: either eight digits are right, or the error stays
        below 1e-12 of the posterior.
        """
        known, _ = self.log_totals()
        if not np.all(np.isin(totals, known)):
            return False
        for chain, low, high in zip(self.chains, self.edges[:-1], self.edges[1:], strict=True):
            served = (totals >= low) & (totals < high)
            law = chain.sums[-1]
            log_known = np.log(law.weights[totals[served] - law.offset] / law.weights.max())
            if np.any((log_known < np.log(TRUSTED)) & (log_share[served] - log_known > np.log(1e4))):
                return False
        return True

    def marginals(self, total: int) -> tuple[Law, ...]:
        """The exact law of every cell given the total."""
        return self.chains[int(np.searchsorted(self.edges, total, side="right")) - 1].marginals(total)

    def sample(self, totals: Integers, rng: np.random.Generator) -> Integers:
        """One exact draw of all cells for each of the given totals."""
        counts = np.empty((len(totals), len(self.chains[0].cells)), dtype=np.int64)
        for chain, low, high in zip(self.chains, self.edges[:-1], self.edges[1:], strict=True):
            served = (totals >= low) & (totals < high)
            if served.any():
                counts[served] = chain.sample(totals[served], rng)
        return counts


def _trusted(chain: Chain) -> tuple[int, int]:
    """The first and last total that the chain knows to eight digits."""
    law = chain.sums[-1]
    known = law.support[law.weights > TRUSTED * law.weights.max()]
    return int(known[0]), int(known[-1])
