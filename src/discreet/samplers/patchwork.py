"""The weight of every total over a wide range, patched together from chains with different tilts.

One tilted chain knows the weights of totals near the one it was tilted to; farther than about eight deviations they
drown in the rounding of the FFT. Where nothing but the noisy cells themselves says what the total is, its posterior
can be wider than that: then each part of the range is served by a chain tilted into it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.cells import Cells
from discreet.samplers.chain import Chain

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

    def trusts(self, low: int, high: int) -> bool:
        """Whether every total from low to high is known to eight digits."""
        if len(self.chains) == 1:
            first, last = _trusted(self.chains[0])
            return first <= low and high <= last
        return bool(self.edges[0] <= low and high < self.edges[-1])

    def log_reliability(self, totals: Integers) -> Array:
        """Log-share of the largest weight in its chain; times 1e16 it bounds the relative precision of a total."""
        parts = []
        for chain, low, high in zip(self.chains, self.edges[:-1], self.edges[1:], strict=True):
            weights = chain.sums[-1].weights[totals[(totals >= low) & (totals < high)] - chain.sums[-1].offset]
            parts.append(np.log(weights) - np.log(chain.sums[-1].weights.max()))
        return np.concatenate(parts)

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
