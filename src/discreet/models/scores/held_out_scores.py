"""What a public score is worth: AUC, log loss and calibration, from noisy counts of label × score bin.

One table of 2B cells: a row is in one of them, L1 = 2 under replace-one. `dc.score` makes the bins from a released
posterior, in a column that it adds; a table that holds bins of its own, scored elsewhere, is asked in the same way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import QueryError
from discreet.models.base import (
    Laws,
    Progress,
    Simulated,
    StatisticsModel,
    Value,
    checked_prior,
    dirichlet_prior,
    number,
)
from discreet.posterior import DirichletPosterior, dirichlet_from_counts
from discreet.posterior.records.held_out_answers import HeldOutPosterior, of_score
from discreet.queries.counts_and_sums import Counts, level_column
from discreet.queries.statistics import Statistics
from discreet.schema import Schema

__all__ = ["HeldOutScores"]


@dataclass(frozen=True)
class HeldOutScores(StatisticsModel):
    """AUC, log loss and calibration of a score whose bins are a column.

    Parameters
    ----------
    target
        A column of two levels; the score is for the second.
    score
        The column of the bins, its levels from the lowest to the highest.
    probabilities
        For each bin the public probability of the second level that it stands for, rising; without it, evenly spread.
    prior
        Dirichlet, of the cells: one number, or one per cell, those of the first label first. Without it, every label
        has the weight of one row, spread over the bins.
    scorer
        The public name of what scored, which makes two scores two requests.
    """

    target: str
    score: str = "score"
    probabilities: tuple[float, ...] | None = None
    prior: float | tuple[float, ...] | None = None
    scorer: str = ""
    by: str | None = None

    def __post_init__(self) -> None:
        if self.prior is not None:
            object.__setattr__(self, "prior", checked_prior("HeldOutScores.prior", self.prior))
        if self.probabilities is not None:
            found = tuple(number("HeldOutScores.probabilities", p) for p in self.probabilities)
            if list(found) != sorted(set(found)) or not all(0.0 < p < 1.0 for p in found):
                raise QueryError(f"HeldOutScores.probabilities must rise between 0 and 1, got {list(found)}")
            object.__setattr__(self, "probabilities", found)
        if not isinstance(self.scorer, str) or len(self.scorer) > 200:
            raise QueryError("HeldOutScores.scorer must be a text of at most 200 characters, got another")

    def query(self, schema: Schema) -> Statistics:
        """The counts of label × bin, jointly."""
        labels, bins = (len(level_column(schema, name).levels) for name in (self.target, self.score))
        if labels != 2:
            raise QueryError(f"HeldOutScores.target must be a column of two levels, got {self.target!r}, of {labels}")
        if bins < 2 or (self.probabilities is not None and len(self.probabilities) != bins):
            raise QueryError(
                f"HeldOutScores.probabilities must be one for each of {bins} bins, two at least, got others"
            )
        self._alpha(bins)
        return Statistics(schema, (Counts.over(schema, "counts", self.target, self.score),)).grouped(self.by)

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> HeldOutPosterior:
        """Exact draws: the unseen counts are summed out."""
        counts = np.asarray(value["counts"], dtype=float).ravel()
        alpha = self._alpha(counts.size // 2)
        table = dirichlet_from_counts(counts, query.sizes, alpha, laws["counts"], self._cells(query))
        return self._read(query, table)

    def plug_in(self, query: Statistics, value: Value) -> HeldOutPosterior:
        """Clip the noisy counts at zero and take them at face value."""
        counts = np.maximum(np.asarray(value["counts"], dtype=float), 0.0).ravel()
        return self._read(query, DirichletPosterior(counts + self._alpha(counts.size // 2), self._cells(query)))

    def reads_products(self, query: Statistics) -> bool:
        """Not of two axes at once."""
        return False

    def strengthened(self, query: Statistics, value: Value) -> "HeldOutScores":
        """The same model with the counts of public rows added to its prior."""
        counts = np.asarray(value["counts"], dtype=float).ravel()
        return replace(self, prior=tuple((counts + self._alpha(counts.size // 2)).tolist()))

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """A table of probabilities from the prior, then n rows."""
        bins = len(level_column(schema, self.score).levels)
        joint = rng.dirichlet(self._alpha(bins))
        cells = rng.choice(2 * bins, size=n, p=joint)
        truth: Mapping[str, Any] = of_score(joint.reshape(2, bins), self._stand_for(bins))
        return dict(truth), {self.target: cells // bins, self.score: cells % bins}

    def _read(self, query: Statistics, table: Any) -> HeldOutPosterior:
        bins = level_column(query.schema, self.score).levels
        return HeldOutPosterior(table, self._stand_for(len(bins)), tuple(bins))

    def _cells(self, query: Statistics) -> tuple[str, ...]:
        labels, bins = (level_column(query.schema, name).levels for name in (self.target, self.score))
        return tuple(f"{label}, {each}" for label in labels for each in bins)

    def _stand_for(self, bins: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        spread = (np.arange(bins) + 0.5) / bins
        return spread if self.probabilities is None else np.array(self.probabilities)

    def _alpha(self, bins: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        prior = 1.0 / bins if self.prior is None else self.prior
        return np.array(dirichlet_prior("HeldOutScores.prior", prior, 2 * bins))
