"""Simulated tables whose parameters are spread evenly over the prior: few of them tell what many drawn at random would.

A table is its seed, and so is the noise on it: releases of the same tables at two budgets differ by nothing but the
scale of their noise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.mechanisms import Mechanism
from discreet.models import Model
from discreet.numerics.arrays import Array
from discreet.pipeline import query_of, simulate
from discreet.planning.simulated_runs import (
    Runs,
    expected_squared_error,
    measured,
    public_total,
    true_values,
)
from discreet.release import Release
from discreet.schema import Schema

__all__ = ["SpreadTables"]

CANDIDATES = 8  # tables that are drawn for each that is used
MOST_CELLS = 4 * 10**7  # of all candidates together


@dataclass(frozen=True)
class SpreadTables:
    """Tables of one model and schema, picked among candidates by one parameter."""

    model: Model
    schema: Schema
    mechanism: Mechanism  # at any budget
    runs: int

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that were simulated."""
        return tuple(self._truths)

    def prior(self, name: str, figure: Callable[[Array], Array]) -> float:
        """A figure of the simulated values of a parameter, over its coordinates on average."""
        return float(np.mean(figure(self._truths[name])))

    def seeds(self, name: str) -> list[int]:
        """Every eighth candidate, or as many as there are, in the order of one parameter."""
        values = self._truths[name].reshape(self._candidates, -1)
        place = values[:, 0] if values.shape[1] == 1 else (values**2).mean(axis=1)
        picked = ((np.arange(self.runs) + 0.5) * self._candidates / self.runs).astype(int)
        return [int(seed) for seed in np.argsort(place, kind="stable")[picked]]

    def released(self, mechanism: Mechanism, seeds: list[int]) -> Runs:
        """What the mechanism would give on these tables; of noisy statistics, with expected squared errors."""
        query = query_of(self.model, mechanism, self.schema)
        error = expected_squared_error if mechanism.laws(query) else None
        return measured(self.model, query, (self._release(mechanism, seed) for seed in seeds), error)

    def _release(self, mechanism: Mechanism, seed: int) -> Release:
        query = query_of(self.model, mechanism, self.schema)
        how: dict[str, Any] = {"n": public_total(query), "schema": self.schema}
        return simulate(self.model, None, mechanism, runs=1, seed=seed, **how)[0]

    @cached_property
    def _candidates(self) -> int:
        """As many as a public amount of work allows; where releases are chains, no more than are used."""
        query = query_of(self.model, self.mechanism, self.schema)
        cells = max(query.largest_total, 1) * max(len(query.columns), 1)
        afforded = 0 if self.mechanism.work(query) else MOST_CELLS // cells
        return max(self.runs, min(CANDIDATES * self.runs, afforded))

    @cached_property
    def _truths(self) -> dict[str, Array]:
        found = [true_values(self.model, self._release(self.mechanism, seed)) for seed in range(self._candidates)]
        return {name: np.array([truth[name] for truth in found]) for name in found[0]}
