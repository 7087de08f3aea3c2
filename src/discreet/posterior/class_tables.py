"""Naive Bayes given only noisy tables of class × level, one for each feature.

π ~ Dirichlet(class prior), θ_{d,c} ~ Dirichlet(feature prior) for feature d in class c; a row has class c with
probability π_c and, independently, level l of feature d with probability θ_{d,c,l}. All tables count the same rows,
so they share their class totals; `inference.counts.shared_totals` sums over everything unseen and draws it exactly:

    p(π, θ | y) = Σ_{N, k} P(N, k | y) Dirichlet(π; N + alpha) Π_{d,c} Dirichlet(θ_{d,c}; k_{d,c} + beta_d)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from discreet.checks import check_released
from discreet.errors import QueryError
from discreet.inference.counts.compositions import Total
from discreet.inference.counts.noisy_counts import Multinomial, NoisyCells, Polya
from discreet.inference.counts.shared_totals import SharedTotals
from discreet.inference.counts.simplex import concentrations, dirichlet_draws, log_dirichlet, moments_given
from discreet.noise import NoiseLaw
from discreet.posterior.class_answers import Array, Arrays, NaiveBayesAnswers
from discreet.schema.columns import LevelColumn
from discreet.schema.row_counts import Sizes

__all__ = ["NaiveBayesPosterior", "naive_bayes_from_tables"]

STORED_DRAWS = 20_000
PREDICTION_DRAWS = 4_000  # of the stored draws; their average has an error far below the width of any posterior


@dataclass(frozen=True)
class NaiveBayesPosterior(NaiveBayesAnswers):
    """The exact noise-aware posterior of "class" (classes,) and of one array (classes, levels) for each feature.

    Mean, sd, quantile and interval come from 20,000 independent exact draws made from a fixed public seed (mean and
    sd after averaging over the probabilities given the counts, which leaves an error below 0.7% of the sd).
    """

    shared: SharedTotals
    released: Mapping[str, Array]
    laws: Mapping[str, NoiseLaw]
    class_prior: Array
    feature_priors: Mapping[str, Array]
    total: Total

    def mean(self) -> Arrays:
        """Posterior mean of every probability, by parameter."""
        return {name: moments_given(alpha)[0] for name, alpha in self._stored_parameters.items()}

    def sd(self) -> Arrays:
        """Posterior standard deviation of every probability, by parameter."""
        return {name: moments_given(alpha)[1] for name, alpha in self._stored_parameters.items()}

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Arrays:
        """Independent exact draws: "class" (n, classes), each feature (n, classes, levels)."""
        rng = np.random.default_rng(rng)
        return {name: dirichlet_draws(alpha, rng) for name, alpha in self._parameters(n, rng).items()}

    def log_density(self, x: Mapping[str, ArrayLike]) -> float:
        """Joint log-density at one value of all parameters: the same sum over counts with the probabilities given."""
        point = {name: np.asarray(values, dtype=float) for name, values in x.items()}
        log_prior = float(log_dirichlet(point["class"], self.class_prior))
        log_prior += sum(float(log_dirichlet(point[name], prior).sum()) for name, prior in self.feature_priors.items())
        if log_prior == -np.inf:
            return log_prior
        cells = [
            [
                NoisyCells(row, self.laws[name], Multinomial(np.log(theta)), self.total.highest)
                for row, theta in zip(self.released[name], point[name], strict=True)
            ]
            for name in self.feature_levels
        ]
        total = Total(self.total.sizes, None)
        return (
            log_prior
            + SharedTotals.build(cells, Multinomial(np.log(point["class"])), total).log_evidence
            - self.log_evidence()
        )

    def log_evidence(self) -> float:
        """Log-probability (density, for continuous noise) of all released tables under the model."""
        return self.shared.log_evidence

    def _log_probabilities(self) -> Arrays:
        chosen = {name: alpha[:PREDICTION_DRAWS] for name, alpha in self._stored_parameters.items()}
        return {name: np.log(alpha / alpha.sum(axis=-1, keepdims=True)) for name, alpha in chosen.items()}

    def _title(self) -> str:
        return f"naive Bayes posterior of {len(self.class_levels)} classes"

    def _quantiles(self, orders: Array) -> list[Arrays]:
        return [
            {name: np.asarray(np.quantile(values, q, axis=0)) for name, values in self._stored.items()} for q in orders
        ]

    def _parameters(self, n: int, rng: np.random.Generator) -> Arrays:
        """Dirichlet concentrations given n independent draws of all counts."""
        totals, counts = self.shared.sample(n, rng)
        tables = zip(self.feature_priors.items(), counts, strict=True)
        return {"class": totals + self.class_prior, **{name: table + prior for (name, prior), table in tables}}

    @cached_property
    def _stored_parameters(self) -> Arrays:
        return self._parameters(STORED_DRAWS, np.random.default_rng(0))

    @cached_property
    def _stored(self) -> Arrays:
        rng = np.random.default_rng(1)
        return {name: dirichlet_draws(alpha, rng) for name, alpha in self._stored_parameters.items()}


def naive_bayes_from_tables(
    tables: Mapping[str, ArrayLike],
    sizes: Sizes,
    class_prior: ArrayLike,
    feature_priors: Mapping[str, ArrayLike],
    laws: Mapping[str, NoiseLaw],
    class_levels: Sequence[str],
    feature_levels: Mapping[str, Sequence[str]],
    columns: Mapping[str, LevelColumn] | None = None,
) -> NaiveBayesPosterior:
    """Posterior given one noisy table (classes, levels) per feature; `sizes` is what is known of n.

    `columns` declare what cells of new records mean; without them only the levels themselves mean something.
    """
    if not feature_levels or "class" in feature_levels or set(tables) != set(feature_levels):
        raise QueryError(
            f'naive_bayes_from_tables.tables must be one for each feature, none named "class", got {sorted(tables)}'
        )
    features = {name: tuple(levels) for name, levels in feature_levels.items()}
    released = {name: np.asarray(tables[name], dtype=float) for name in features}
    for name, levels in features.items():
        check_released(f"naive_bayes_from_tables.tables[{name!r}]", released[name])
        if released[name].shape != (len(class_levels), len(levels)):
            raise QueryError(
                f"naive_bayes_from_tables.tables[{name!r}] must be classes × levels, got {released[name].shape}"
            )
    alpha = concentrations("naive_bayes_from_tables.class_prior", class_prior, len(class_levels))
    priors = {
        name: _by_class(f"naive_bayes_from_tables.feature_priors[{name!r}]", feature_priors[name], table.shape)
        for name, table in released.items()
    }
    total = Total(sizes, float(alpha.sum()))
    cells = [
        [NoisyCells(y, laws[d], Polya(prior), total.highest) for y, prior in zip(released[d], priors[d], strict=True)]
        for d in features
    ]
    shared = SharedTotals.build(cells, Polya(alpha), total)
    facts = (tuple(class_levels), features, shared, released, laws, alpha, priors, total)
    return NaiveBayesPosterior(*facts, columns=columns or {})


def _by_class(field: str, prior: ArrayLike, shape: tuple[int, ...]) -> Array:
    """One number for all, one for each level, or a table (classes, levels)."""
    classes, levels = shape
    rows = np.asarray(prior, dtype=float)
    rows = rows if rows.ndim == 2 else np.array([rows] * classes)
    if len(rows) != classes:
        raise QueryError(f"{field} must have one row for each of {classes} classes, got {len(rows)}")
    return np.array([concentrations(field, row, levels) for row in rows])
