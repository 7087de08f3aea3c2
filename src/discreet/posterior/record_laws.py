"""How a new record follows from the parameters of a model: what predictions are drawn from, and nothing else.

A number in [0, 1] may be a probability, a rate or a mean: only the model knows, so only the model predicts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.inference.counts.simplex import draw_codes
from discreet.numerics.arrays import Array

__all__ = ["BernoulliRecord", "LevelRecord", "OneParameter", "RecordLaw"]


class RecordLaw(Protocol):
    """How new records follow from parameters: an array where there is one of them, arrays by name otherwise."""

    def draw(self, parameters: Any, rng: np.random.Generator) -> Any:
        """One record for each entry along the first axis of the parameters."""


@dataclass(frozen=True)
class BernoulliRecord:
    """New codes 0 and 1, given their probability."""

    def draw(self, parameters: Array, rng: np.random.Generator) -> NDArray[np.int64]:
        """One code for every probability."""
        return (rng.random(parameters.shape) < parameters).astype(np.int64)


@dataclass(frozen=True)
class LevelRecord:
    """New codes of levels, given the probabilities of all of them."""

    def draw(self, parameters: Array, rng: np.random.Generator) -> NDArray[np.int64]:
        """One code for every vector of probabilities."""
        return draw_codes(parameters, rng)


@dataclass(frozen=True)
class OneParameter:
    """The law of a record that depends on one parameter, by its name."""

    parameter: str
    record: RecordLaw

    def draw(self, parameters: Mapping[str, Array], rng: np.random.Generator) -> Any:
        """One record for each parameter."""
        return self.record.draw(parameters[self.parameter], rng)
