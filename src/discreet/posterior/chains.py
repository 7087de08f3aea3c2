"""A posterior known through Markov chains: arrays (chains, draws, …) by parameter name, and how well they mixed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from discreet.errors import QueryError
from discreet.inference.convergence import Mixing, mixing, worst
from discreet.inference.diagnostics import FEWEST_DRAWS, bulk_ess, split_rhat
from discreet.numerics.arrays import Array
from discreet.posterior.base import Posterior
from discreet.posterior.exports.datatree import Axes, Exported
from discreet.posterior.record_laws import RecordLaw
from discreet.posterior.summary import labels

__all__ = ["ChainsPosterior"]

Answers = dict[str, Any]  # a float for a number, an array for a vector or matrix


@dataclass(frozen=True, eq=False)
class ChainsPosterior(Posterior):
    """Draws of several chains from one posterior; every answer is an average over them.

    Parameters
    ----------
    chains
        Arrays (chains, draws, …) by parameter name.
    axes
        For parameters that are vectors or matrices: {dimension: labels}, in the order of the axes after the draws.
    title
        What the posterior is of, in words.
    record
        How new records are drawn given the parameters; without it there are no predictions.
    """

    chains: Mapping[str, Array]
    axes: Axes = field(default_factory=dict)
    title: str = "posterior"
    record: RecordLaw | None = None

    _no_density = "must not be asked: chains give draws of the posterior, no density"
    _no_evidence = "must not be asked: chains do not know the normaliser"

    def __post_init__(self) -> None:
        chains = {name: np.asarray(values, dtype=float) for name, values in self.chains.items()}
        if len({values.shape[:2] for values in chains.values()}) != 1 or min(v.ndim for v in chains.values()) < 2:
            raise QueryError("ChainsPosterior.chains must be arrays with the same numbers of chains and draws")
        for name, values in chains.items():
            labelled = tuple(len(labels) for labels in self.axes.get(name, {}).values())
            if values.shape[2:] != labelled:
                raise QueryError(
                    f"ChainsPosterior.axes[{name!r}] must have labels for shape {values.shape[2:]}, got {labelled}"
                )
        object.__setattr__(self, "chains", chains)

    def mean(self) -> Answers:
        """Posterior mean, by parameter."""
        return _plain({name: values.mean(axis=(0, 1)) for name, values in self.chains.items()})

    def sd(self) -> Answers:
        """Posterior standard deviation, by parameter."""
        return _plain({name: values.std(axis=(0, 1)) for name, values in self.chains.items()})

    def sample(self, n: int, rng: np.random.Generator | None = None) -> dict[str, Array]:
        """Joint draws (n, …) taken from the chains at random, with replacement when more are asked for than exist."""
        flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in self.chains.items()}
        count = len(next(iter(flat.values())))
        chosen = np.random.default_rng(rng).choice(count, size=n, replace=n > count)
        return {name: values[chosen] for name, values in flat.items()}

    def rhat(self) -> Answers:
        """Rank-normalised split R-hat, by parameter: near 1 where the chains agree."""
        return dict(self._diagnosed[0])

    def ess(self) -> Answers:
        """Bulk effective sample size, by parameter."""
        return dict(self._diagnosed[1])

    @cached_property
    def mixing(self) -> Mixing:
        """The worst R-hat and effective sample size of all numbers, and whether they are good enough."""
        few = next(iter(self.chains.values())).shape[1] < FEWEST_DRAWS
        return mixing(self.chains) if few else worst(self.chains, *self._diagnosed)

    def labels(self, name: str) -> list[str]:
        """The names of a parameter's coordinates, in order."""
        return labels(name, self.axes.get(name, {}))

    def _law(self) -> RecordLaw:
        return super()._law() if self.record is None else self.record

    def _title(self) -> str:
        return self.title

    def _axes(self) -> Axes:
        return {name: self.axes.get(name, {}) for name in self.chains}

    def _quantiles(self, orders: Array) -> list[Answers]:
        found = {name: np.quantile(values, orders, axis=(0, 1)) for name, values in self.chains.items()}
        return [_plain({name: values[i] for name, values in found.items()}) for i in range(len(orders))]

    def _exported(self, draws: int | None, rng: np.random.Generator) -> Exported:
        if draws is not None:
            return super()._exported(draws, rng)
        shape = next(iter(self.chains.values())).shape[:2]
        flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in self.chains.items()}
        records = self._records_given(flat, rng)
        by_chain = {name: cells.reshape(*shape, *cells.shape[1:]) for name, cells in records.items()}
        return Exported(self.chains, self._axes(), by_chain)

    @cached_property
    def _diagnosed(self) -> tuple[Answers, Answers]:
        """R-hat and effective sample size, once for all who ask."""
        rhat, ess = ({name: of(values) for name, values in self.chains.items()} for of in (split_rhat, bulk_ess))
        return _plain(rhat), _plain(ess)

    def _columns(self) -> dict[str, Answers]:
        return {**super()._columns(), "rhat": self.rhat(), "ess": self.ess()}


def _plain(answers: Mapping[str, Any]) -> Answers:
    """Floats for numbers, arrays for the rest."""
    return {name: float(a) if np.ndim(a) == 0 else np.asarray(a) for name, a in answers.items()}
