"""When chains have run long enough: R-hat at most 1.01 and 400 effective draws for every number that is reported.

    draw `first` states, look, and go on to as many as this look says are missing, and a tenth more, but at most twice
    as many before the next look, until they mixed or `most` draws a chain were made

Effective draws grow with the draws, and R-hat - 1 falls as one over them: that is how many are missing, once chains
have forgotten where they began. All draws are kept, since the kernel is the same before and after a look and each of
them is worth something. Only where the newer half mixed by itself and the whole did not, the older half still remembers
where the chains began: it is counted as warm-up. `most` is public, a number of the code: nothing private decides how
long a chain may run.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.inference.diagnostics import FEWEST_DRAWS, bulk_ess, split_rhat

__all__ = ["LARGEST_RHAT", "SMALLEST_ESS", "Mixing", "mixing", "until_mixed", "worst"]

LARGEST_RHAT = 1.01  # [Vehtari et al. 2021]
SMALLEST_ESS = 400
MARGIN, FARTHEST = 1.1, 2.0  # what a look says is missing is itself uncertain: a little more, and never far ahead


@dataclass(frozen=True)
class Mixing:
    """The largest R-hat and the smallest effective sample size of all numbers."""

    rhat: float
    ess: float

    @property
    def converged(self) -> bool:
        """Whether both are good enough for every interval."""
        return self.rhat <= LARGEST_RHAT and self.ess >= SMALLEST_ESS

    @property
    def missing(self) -> float:
        """How many times as many draws as these would be good enough; above 1 where they did not converge."""
        if not self.ess:
            return FARTHEST
        return max(SMALLEST_ESS / self.ess, (self.rhat - 1.0) / (LARGEST_RHAT - 1.0))

    @property
    def words(self) -> str:
        """One sentence."""
        if self.converged:
            return f"the chains converged: R-hat up to {self.rhat:.3f}, effective sample size from {self.ess:.0f}"
        return (
            f"the chains have not converged: R-hat up to {self.rhat:.3f}, effective sample size from {self.ess:.0f}; "
            "intervals may be wrong"
        )


def mixing(chains: Mapping[str, NDArray[Any]]) -> Mixing:
    """The worst of all numbers in arrays (chains, draws, …); what never moves, like a public size, counts as converged.

    Fewer than 4 draws say nothing, so they have not converged.
    """
    if min(np.shape(values)[1] for values in chains.values()) < FEWEST_DRAWS:
        return Mixing(np.inf, 0.0)
    moving = {name: values for name, values in chains.items() if _moves(values).any()}
    return worst(
        moving,
        {name: split_rhat(values) for name, values in moving.items()},
        {name: bulk_ess(values) for name, values in moving.items()},
    )


def worst(chains: Mapping[str, NDArray[Any]], rhat: Mapping[str, ArrayLike], ess: Mapping[str, ArrayLike]) -> Mixing:
    """The same from diagnostics that are already known, by name."""
    moves = {name: _moves(values) for name, values in chains.items()}
    return Mixing(
        max((float(np.max(np.asarray(rhat[name])[some])) for name, some in moves.items() if some.any()), default=1.0),
        min((float(np.min(np.asarray(ess[name])[some])) for name, some in moves.items() if some.any()), default=np.inf),
    )


def until_mixed(
    more: Callable[[int], Mapping[str, NDArray[Any]]],
    first: int,
    most: int,
    reported: Callable[[Mapping[str, NDArray[Any]]], Mapping[str, NDArray[Any]]] = dict,
) -> dict[str, NDArray[Any]]:
    """Draws (chains, draws, …) by name that have mixed, or as many as the cap allows.

    Parameters
    ----------
    more
        Continues all chains and returns their next so many draws by name.
    first, most
        Draws of each chain before the first look, and at most.
    reported
        What users see of the draws, where that is not the draws themselves; it is what must mix.
    """
    drawn = dict(more(min(first, most)))
    made = min(first, most)
    found = mixing(reported(drawn))
    while made < most and not found.converged:
        further = min(math.ceil(made * (min(MARGIN * found.missing, FARTHEST) - 1.0)), most - made)
        newer = more(further)
        drawn = {name: np.concatenate([values, newer[name]], axis=1) for name, values in drawn.items()}
        made += further
        found = mixing(reported(drawn))
        if not found.converged and made >= 2 * first:
            half = {name: values[:, made // 2 :] for name, values in drawn.items()}
            if mixing(reported(half)).converged:
                return half
    return drawn


def _moves(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which numbers are not the same in all draws."""
    chains = np.asarray(values)
    return np.asarray(np.any(chains != chains[:1, :1], axis=(0, 1)))
