"""What a model is: a prior and a likelihood on declared columns, and the posterior its released statistics lead to."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.noise import NoiseLaw
from discreet.posterior import Draws, GroupedPosterior, Likelihood, Posterior, RecordLaw, Scalar, pooled_posterior
from discreet.posterior.given_draws import LogDraws
from discreet.posterior.records.declared_records import DeclaredRecords, LevelCells
from discreet.queries.losses.base import Query
from discreet.queries.statistics import Statistics
from discreet.schema import Schema

__all__ = [
    "Kind",
    "Laws",
    "Model",
    "Progress",
    "Simulated",
    "StatisticsModel",
    "Value",
    "check_robust",
    "checked_prior",
    "column_names",
    "dirichlet_prior",
    "number",
    "pair",
    "prior_number",
]

SMALLEST_PRIOR, LARGEST_PRIOR = 1e-6, 1e12

Value = Mapping[str, Any]
Kind = Literal["noise-aware", "plug-in", "joint"]
Laws = Mapping[str, NoiseLaw]  # of the noise on each released statistic
Progress = Callable[[int], None] | None  # called with the number of states of chains done since the last call
Simulated = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]


class Model(ABC):
    """The socket between a schema and a posterior. Every method is a pure function of public values.

    What a release was made of decides which of its `given_…` methods a mechanism calls to read it: `given_statistics`,
    `given_draws`, `given_chain`, `given_coefficients`. With `by`, statistics have the groups on their first axis.
    """

    by: str | None = None  # the column whose every level gets its own posterior

    @abstractmethod
    def query(self, schema: Schema) -> Query:
        """What the model asks of the rows, with its sensitivities."""

    @abstractmethod
    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Parameters drawn from the prior, and n coded rows drawn given them."""

    def implied_schema(self) -> Schema | None:
        """The columns as far as the model itself says what they are; None where they must be declared."""
        return None

    def estimands(self, truth: Mapping[str, Any]) -> Mapping[str, Any]:
        """Of simulated parameters those that a plan compares with the posterior's."""
        return truth

    def from_prior(self, schema: Schema, draws: int, rng: np.random.Generator) -> list[Mapping[str, Any]]:
        """Parameters of one table, or of one group of it, from the prior alone; none where none is declared."""
        return [self.estimands(self.simulate(schema, 0, rng)[0]) for _ in range(draws)]

    def implausible(self, schema: Schema) -> tuple[str, ...]:
        """What the declared bounds and the prior make implausible together, in words: no row is looked at."""
        return ()

    def prior_of_a_count(self, query: Any) -> tuple[float, float] | None:
        """The Beta prior, where all that is asked is how many of a public number of rows are ones."""
        return None

    def reading_work(self, query: Any) -> int:
        """The public number of hidden cells that chains of the posterior go through; 0 where nothing takes long."""
        return 0


class StatisticsModel(Model):
    """What models of statistics inherit: how a release of any kind is read, and what public records add.

    A model writes `posterior`, `plug_in` and `strengthened`; a model of one parameter also `population`, `likelihood`
    and `known_from`, and one that says how a record is drawn `record_law` and `record_columns`.
    """

    @abstractmethod
    def query(self, schema: Schema) -> Statistics:
        """What the model asks of the rows, with its sensitivities."""

    @abstractmethod
    def posterior(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> Posterior:
        """The posterior given released statistics (of one group) and the law of their noise."""

    @abstractmethod
    def plug_in(self, query: Statistics, value: Value) -> Posterior:
        """Foulds's posterior: project the noisy statistics and pretend they are exact. Over-confident."""

    def joint(self, query: Statistics, value: Value, laws: Laws, progress: Progress = None) -> Posterior:
        """The posterior given all statistics together, where `posterior` reads them in parts; refused elsewhere."""
        raise QueryError(
            f'Release.posterior kind must be "noise-aware" or "plug-in" for {type(self).__name__}, got "joint"'
        )

    def strengthened(self, query: Statistics, value: Value) -> Self:
        """The same model with its prior strengthened by the exact statistics of public records."""
        raise NotImplementedError

    def with_prior(self, prior: Any) -> Self:
        """The same model with another prior, by which what was released is read; a second stage is not read then."""
        unread = {"robust": None} if getattr(self, "robust", None) else {}
        return replace(self, prior=prior, **unread)  # type: ignore[type-var]  # models are dataclasses

    def population(self, schema: Schema) -> Scalar | None:
        """One parameter on the scale on which groups are normal, and what the prior says of it there."""
        return None

    def likelihood(self, query: Statistics, value: Value, laws: Laws) -> Likelihood:
        """Log-probability of one group's release, up to a constant, as a function of the parameter."""
        raise NotImplementedError

    def known_from(self, query: Statistics, log_draws: LogDraws) -> Any:
        """The posterior of one parameter given draws; `log_draws` is their log-probability at each exact statistic."""
        return None

    def record_law(self, schema: Schema) -> RecordLaw | None:
        """How a record is drawn given the parameters by name, so that released draws of them can predict."""
        return None

    def record_columns(self, schema: Schema) -> DeclaredRecords | None:
        """What the columns are called that the law of a record draws; None where there is no such law."""
        return None

    def reads_products(self, query: Statistics) -> bool:
        """Whether the posterior asks of a noise its log-density alone, cell by cell: it may be any function then."""
        return False

    def updated(self, public: Any) -> Self:
        """The same model with its prior strengthened by the records of a public dataset, which cost nothing."""
        if not hasattr(public, "source"):
            raise QueryError(f"updated must get a public dataset, as dc.open returns it, got a {type(public).__name__}")
        query = replace(self, by=None).query(public.schema)  # type: ignore[type-var]  # models are dataclasses
        return self.strengthened(query, public.source.statistics(query))

    def given_statistics(
        self,
        query: Statistics,
        value: Value,
        laws: Laws,
        *,
        kind: Kind = "noise-aware",
        pooling: Literal["partial"] | None = None,
        progress: Progress = None,
    ) -> Posterior:
        """The posterior of the table, or of every group, which with pooling learn from each other."""
        if pooling is not None and (pooling != "partial" or not query.groups or kind != "noise-aware"):
            raise QueryError(
                'Release.posterior pooling must be "partial", of a noise-aware release with by=, '
                f"got pooling={pooling!r}, kind={kind!r}, by={query.by!r}"
            )

        columns = self.record_columns(query.schema)

        def one(value: Value) -> Posterior:
            """Of the table, or of one group of it."""
            if kind == "plug-in":
                return self.plug_in(query, value).of_columns(columns)
            read = self.joint if kind == "joint" else self.posterior
            return read(query, value, laws, progress).of_columns(columns)

        if query.by is None:
            return one(value)
        groups = LevelCells.of(query.schema, query.by)
        values = {level: {name: array[g] for name, array in value.items()} for g, level in enumerate(query.groups)}
        if pooling is None:
            return GroupedPosterior(query.by, {level: one(own) for level, own in values.items()}, cells=groups)
        population = self.population(query.schema)
        if population is None:
            raise QueryError(f"Release.posterior pooling must have a model of one parameter, got {type(self).__name__}")
        likelihoods = {level: self.likelihood(query, own, laws) for level, own in values.items()}
        return pooled_posterior(query.by, likelihoods, population, groups).of_columns(columns)

    def given_draws(self, query: Statistics, value: Value, note: str, log_draws: LogDraws | None) -> Draws:
        """Released draws, and for one parameter what their law says of it; a private number of rows leaves it open."""
        known = None if log_draws is None or query.total is None else self.known_from(query, log_draws)
        law, columns = self.record_law(query.schema), self.record_columns(query.schema)
        return Draws(value, query.draw_levels, note, known, law, declared=columns)


def checked_prior(field: str, prior: Any) -> float | tuple[float, ...]:
    """The prior as floats, one number or a tuple, so that 1 and 1.0 are the same request."""
    if isinstance(prior, list | tuple):
        return tuple(prior_number(field, value) for value in prior)
    return prior_number(field, prior)


def pair(field: str, prior: Any, names: str) -> tuple[Any, Any]:
    """A prior of two numbers, which are checked elsewhere."""
    if not isinstance(prior, tuple | list) or len(prior) != 2:
        raise QueryError(f"{field} must be a pair {names}, got {prior!r}")
    return tuple(prior)


def prior_number(field: str, value: Any) -> float:
    """A parameter of a prior: above 0, and within what double precision can update."""
    number_found = positive(field, value, error=QueryError)
    if not SMALLEST_PRIOR <= number_found <= LARGEST_PRIOR:
        raise QueryError(f"{field} must be from {SMALLEST_PRIOR:g} to {LARGEST_PRIOR:g}, got {value!r}")
    return number_found


def dirichlet_prior(field: str, prior: float | tuple[float, ...], cells: int) -> tuple[float, ...]:
    """A symmetric prior from one number, or one number per level."""
    values = prior if isinstance(prior, tuple) else (prior,) * cells
    if len(values) != cells:
        raise QueryError(f"{field} must be one number or one per level ({cells}), got {len(values)}")
    return tuple(prior_number(field, value) for value in values)


def check_robust(kind: str, robust: Any, prior: object) -> None:
    """None or True: False would be another spelling of the same request, and with a prior it would be paid in vain."""
    if robust is not None and robust is not True:
        raise QueryError(f"{kind}.robust must be True or None, got {robust!r}")
    if robust and prior is not None:
        raise QueryError(
            f"{kind}.robust must be None where {kind}.prior is given, got True: the widths of a conjugate prior are "
            "those of normal rows, and what a second stage measures does not enter them"
        )


def number(field: str, value: Any) -> float:
    """A finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not np.isfinite(value):
        raise QueryError(f"{field} must be a finite number, got {value!r}")
    return float(value)


def column_names(field: str, columns: Any) -> tuple[str, ...]:
    """At least one name, each once."""
    names = (columns,) if isinstance(columns, str) or not isinstance(columns, Iterable) else tuple(columns)
    if not names or len(set(names)) != len(names) or not all(isinstance(name, str) for name in names):
        raise QueryError(f"{field} must be the names of different columns, got {list(names)!r}")
    return names
