"""Where a posterior came from: the public facts of its release, which go with every summary and every export.

Nothing is computed with them. A posterior that was made by hand has none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.numerics.arrays import Array

__all__ = ["PriorDraws", "Provenance"]

PriorDraws = Callable[[int, np.random.Generator], Mapping[str, Array]]  # by parameter, (draws, …)


@dataclass(frozen=True)
class Provenance:
    """The release that a posterior reads, as plain data.

    Parameters
    ----------
    guarantee
        In words; `certificate` is the same as data.
    recipe
        What was asked, of which dataset.
    entry
        Of the ledger; "" where nothing was paid.
    reading
        How the release is read: "noise-aware", "plug-in", "joint" or "draws".
    private
        False for a simulated release, which promises nothing.
    prior
        Draws parameters from the prior alone, as the release was read.
    """

    guarantee: str
    certificate: Mapping[str, Any] = field(repr=False)
    recipe: Mapping[str, Any] = field(repr=False)
    entry: str
    reading: str
    private: bool = True
    prior: PriorDraws | None = field(default=None, repr=False, compare=False)

    def facts(self) -> dict[str, Any]:
        """Everything but the prior, by name."""
        promised = {} if self.private else {"simulated": "of no private table: the guarantee is of no release"}
        return {
            "reading": self.reading,
            "guarantee": self.guarantee,
            "certificate": dict(self.certificate),
            "recipe": dict(self.recipe),
            "entry": self.entry,
            **promised,
        }
