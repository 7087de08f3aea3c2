"""What a model is: a prior and a likelihood on declared columns, and the posterior its released statistics lead to."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.noise import NoiseLaw
from discreet.posterior import CurvePosterior, Likelihood, Posterior, RecordLaw, Scalar
from discreet.queries.losses.base import Query
from discreet.queries.statistics import Statistics
from discreet.schema import Schema
from discreet.sources import Dataset

__all__ = [
    "GivenDraws",
    "Model",
    "Poolable",
    "PredictsRecords",
    "Progress",
    "Simulated",
    "Value",
    "checked_prior",
    "column_names",
    "dirichlet_prior",
    "number",
    "prior_number",
    "public_statistics",
]

SMALLEST_PRIOR, LARGEST_PRIOR = 1e-6, 1e12

Value = Mapping[str, Any]
Progress = Callable[[int], None]  # called with the number of states of chains done since the last call
Simulated = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]


class Model(Protocol):
    """The socket between a schema and a posterior. Every method is a pure function of public values.

    With `by`, statistics have the groups on their first axis; posteriors and simulations are about one group.
    """

    @property
    def by(self) -> str | None:
        """The column whose every level gets its own posterior."""

    def query(self, schema: Schema) -> Query:
        """What the model asks of the rows, with its sensitivities."""

    def posterior(
        self,
        query: Any,
        value: Value,
        laws: Mapping[str, NoiseLaw],
        progress: Progress | None = None,
    ) -> Posterior:
        """The posterior given released statistics and the law of their noise; chains report what they have done."""

    def plug_in(self, query: Any, value: Value) -> Posterior:
        """Foulds's posterior: project the noisy statistics and pretend they are exact. Over-confident."""

    def updated(self, public: Dataset) -> Self:
        """The same model with its prior strengthened by the records of a public dataset, which cost nothing."""

    def implied_schema(self) -> Schema | None:
        """The columns as far as the model itself says what they are; None where levels must be declared."""

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Parameters drawn from the prior, and n coded rows drawn given them."""


@runtime_checkable
class Poolable(Protocol):
    """A model of one parameter, whose groups can be taken as draws from one population."""

    def population(self, schema: Schema) -> Scalar:
        """The parameter on the scale on which groups are normal, and what the prior says of it there."""

    def likelihood(self, query: Statistics, value: Value, laws: Mapping[str, NoiseLaw]) -> Likelihood:
        """Log-probability of one group's release, up to a constant, as a function of the parameter."""


@runtime_checkable
class GivenDraws(Protocol):
    """A model of one parameter whose released draws say how much is known of it."""

    def given_draws(self, query: Statistics, log_draws: Callable[[Any], Any]) -> CurvePosterior:
        """The posterior given draws; `log_draws` is their log-probability at each value of the exact sum."""


@runtime_checkable
class PredictsRecords(Protocol):
    """A model that says how a record is drawn given its parameters, so that released draws of them can predict."""

    def record_law(self, schema: Schema) -> RecordLaw:
        """New records of the declared columns, given the parameters by name."""


def checked_prior(field: str, prior: Any) -> float | tuple[float, ...]:
    """The prior as floats, one number or a tuple, so that 1 and 1.0 are the same request."""
    if isinstance(prior, list | tuple):
        return tuple(prior_number(field, value) for value in prior)
    return prior_number(field, prior)


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


def public_statistics(model: Model, public: Dataset) -> tuple[Statistics, dict[str, Any]]:
    """The exact answers of a dataset that anybody may see: nothing protects its records here."""
    if not isinstance(public, Dataset):
        raise QueryError(f"updated must get a public dataset, as dc.open returns it, got a {type(public).__name__}")
    query = model.query(public.schema)
    assert isinstance(query, Statistics)  # models with a loss have no conjugate prior
    return query, public.source.statistics(query)
