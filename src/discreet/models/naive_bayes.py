"""Naive Bayes on categorical features: class ~ Categorical(pi), feature_d | class c ~ Categorical(theta_{c,d}).

One joint release of the D tables class × feature: a row is in one cell of each, so L1 = 2D and L2 = √(2D) under
replace-one. The class counts are not released on their own: they are the row sums that all tables share, and the exact
posterior uses that.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.models.base import Laws, Progress, Simulated, StatisticsModel, Value, checked_prior, dirichlet_prior
from discreet.posterior import (
    NaiveBayesPlugIn,
    NaiveBayesPosterior,
    NetworkRecords,
    naive_bayes_from_tables,
    plug_in_from_tables,
)
from discreet.posterior.records.declared_records import DeclaredRecords, LevelCells
from discreet.queries.counts_and_sums import Counts
from discreet.queries.families import ConditionalTable, DirichletTables
from discreet.queries.features import Features
from discreet.queries.losses import Logistic
from discreet.queries.losses.base import Target
from discreet.queries.statistics import Statistics
from discreet.schema import LevelColumn, Schema

__all__ = ["NaiveBayes"]


@dataclass(frozen=True)
class NaiveBayes(StatisticsModel):
    """Class probabilities and class-conditional feature probabilities.

    Parameters
    ----------
    target
        The class column.
    features
        The feature columns; each has its own table, named after it.
    prior
        Dirichlet prior of the classes: one number, or one per class.
    feature_prior
        Symmetric Dirichlet prior of every feature given every class.
    """

    target: str
    features: tuple[str, ...]
    prior: float | tuple[float, ...] = 1.0
    feature_prior: float | Mapping[str, tuple[tuple[float, ...], ...]] = 1.0
    by: str | None = None

    def __post_init__(self) -> None:
        features = (self.features,) if isinstance(self.features, str) else tuple(self.features)
        if not features:
            raise QueryError("NaiveBayes.features must name at least one column, got none")
        if len(set(features)) != len(features) or self.target in features:
            raise QueryError(f"NaiveBayes.features must be different columns, not the target, got {list(features)!r}")
        if "class" in features:  # the name under which posteriors list the class probabilities
            raise QueryError('NaiveBayes.features must not be named "class", got a column of that name')
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "prior", checked_prior("NaiveBayes.prior", self.prior))
        object.__setattr__(self, "feature_prior", self._checked(self.feature_prior))

    def __hash__(self) -> int:
        return hash((self.target, self.features, self.prior, self.by))

    def query(self, schema: Schema) -> Statistics:
        """All tables class × feature, released together."""
        facts = self._facts(schema)  # refuses priors that do not fit the levels
        tables = tuple(Counts.over(schema, feature, self.target, feature) for feature in self.features)
        priors = {"class": facts["class_prior"], **facts["feature_priors"]}
        counted = {"class": self.features[0]}  # the class counts are the row sums of any table
        family = DirichletTables(
            tuple(
                ConditionalTable(name, counted.get(name, name), prior.shape, tuple(prior.ravel().tolist()))
                for name, prior in priors.items()
            )
        )
        return Statistics(schema, tables, family).grouped(self.by)

    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> NaiveBayesPosterior:
        """Exact independent draws: the tables are independent given the class counts, which form a lattice."""
        return naive_bayes_from_tables(
            tables={name: np.asarray(value[name], dtype=float) for name in self.features},
            sizes=query.sizes,
            laws={name: laws[name] for name in self.features},
            columns=self._columns(query.schema),
            **self._facts(query.schema),
        )

    def plug_in(self, query: Statistics, value: Value) -> NaiveBayesPlugIn:
        """Clip the noisy tables at zero and update the priors with them; class counts are averaged over the tables."""
        tables = {name: np.asarray(value[name], dtype=float) for name in self.features}
        return plug_in_from_tables(tables=tables, columns=self._columns(query.schema), **self._facts(query.schema))

    def margin_query(self, schema: Schema) -> Logistic:
        """Log-odds of two classes are a sum over features: what a public score reads, levels alone."""
        if self.by is not None or len(self._levels(schema, self.target)) != 2:
            raise QueryError("score posterior must be of NaiveBayes with two classes and without groups, got others")
        views = {name: self._column(schema, name) for name in self.features}
        seen = schema.seen_as({name: view for name, view in views.items() if view is not schema.column(name)})
        features = Features((), self.features, tuple(view.levels for view in views.values()))
        return Logistic(seen, features, Target(self.target, labels=(0.0, 1.0)), None, math.inf)

    def strengthened(self, query: Statistics, value: Value) -> "NaiveBayes":
        """The same model with the tables of a public dataset added to its priors."""
        facts = self._facts(query.schema)
        tables = {name: np.asarray(value[name], dtype=float) for name in self.features}
        classes = facts["class_prior"] + tables[self.features[0]].sum(axis=1)
        rows = {name: facts["feature_priors"][name] + table for name, table in tables.items()}
        return replace(
            self,
            prior=tuple(classes.tolist()),
            feature_prior={name: tuple(map(tuple, table.tolist())) for name, table in rows.items()},
        )

    def record_law(self, schema: Schema) -> NetworkRecords:
        """Codes of "class" and of the features given it."""
        return NetworkRecords({"class": (), **dict.fromkeys(self.features, ("class",))})

    def record_columns(self, schema: Schema) -> DeclaredRecords:
        """Target and features; the law draws the target under the name of the class."""
        features = {name: LevelCells.of(schema, name) for name in self.features}
        return DeclaredRecords({"class": LevelCells.of(schema, self.target), **features})

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Parameters from their priors, then n rows."""
        facts = self._facts(schema)
        classes = rng.dirichlet(facts["class_prior"])
        truth: dict[str, Any] = {"class": classes}
        labels = rng.choice(classes.size, size=n, p=classes)
        rows = {self.target: labels}
        for name in self.features:
            cells = len(facts["feature_levels"][name])
            theta = np.array([rng.dirichlet(row) for row in facts["feature_priors"][name]])
            truth[name] = theta
            # inverse CDF row by row: the first level whose cumulative probability passes a uniform
            rows[name] = np.minimum((rng.random((n, 1)) > theta.cumsum(1)[labels]).sum(1), cells - 1)
        return truth, rows

    def _facts(self, schema: Schema) -> dict[str, Any]:
        """What the posterior needs besides the tables; all public."""
        classes = self._levels(schema, self.target)
        features = {name: self._levels(schema, name) for name in self.features}
        return {
            "class_prior": np.asarray(dirichlet_prior("NaiveBayes.prior", self.prior, len(classes))),
            "feature_priors": {
                name: self._rows(name, (len(classes), len(levels))) for name, levels in features.items()
            },
            "class_levels": classes,
            "feature_levels": features,
        }

    def _rows(self, name: str, shape: tuple[int, int]) -> NDArray[np.float64]:
        """The concentrations of one feature, (classes, levels)."""
        if not isinstance(self.feature_prior, Mapping):
            return np.full(shape, self.feature_prior)
        rows = np.asarray(self.feature_prior[name], dtype=float)
        if rows.shape != shape:
            raise QueryError(f"NaiveBayes.feature_prior[{name!r}] must be a table {shape}, got {rows.shape}")
        return rows

    def _checked(self, prior: Any) -> Any:
        """One number for all levels, or a table (classes, levels) for every feature."""
        if not isinstance(prior, Mapping):
            return positive("NaiveBayes.feature_prior", prior, error=QueryError)
        if set(prior) != set(self.features):
            raise QueryError(f"NaiveBayes.feature_prior must name exactly the features, got {sorted(prior)}")
        return {
            name: tuple(
                tuple(positive("NaiveBayes.feature_prior", x, error=QueryError) for x in row) for row in prior[name]
            )
            for name in self.features
        }

    def _levels(self, schema: Schema, name: str) -> tuple[str, ...]:
        return self._column(schema, name).levels

    def _columns(self, schema: Schema) -> dict[str, LevelColumn]:
        return {name: self._column(schema, name) for name in self.features}

    def _column(self, schema: Schema, name: str) -> LevelColumn:
        column = schema.column(name)
        if column.as_levels is None:
            got = f"{name!r}, a {type(column).__name__} without cut="
            raise QueryError(
                f"NaiveBayes columns must be categorical, got {got}: declare its ranges, as in cut=[18, 65]"
            )
        return column.as_levels
