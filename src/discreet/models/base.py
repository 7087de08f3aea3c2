"""What a model is: a prior and a likelihood on declared columns, and the posterior its released statistics lead to."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from discreet.errors import QueryError
from discreet.guarantee.basis import positive
from discreet.noise import NoiseLaw
from discreet.posterior import Posterior
from discreet.query import Statistics
from discreet.schema import Schema

__all__ = ["Model", "Simulated", "Value", "checked_prior", "dirichlet_prior"]

Value = Mapping[str, Any]
Simulated = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]


class Model(Protocol):
    """The socket between a schema and a posterior. Every method is a pure function of public values."""

    def query(self, schema: Schema) -> Statistics:
        """What the model asks of the rows, with its sensitivities."""

    def posterior(self, query: Statistics, value: Value, laws: Mapping[str, NoiseLaw]) -> Posterior:
        """The posterior given released statistics and the law of the noise in them: exact, noise-aware."""

    def plug_in(self, query: Statistics, value: Value) -> Posterior:
        """Foulds's posterior: project the noisy statistics and pretend they are exact. Over-confident."""

    def implied_schema(self) -> Schema | None:
        """The columns as far as the model itself says what they are; None where levels must be declared."""

    def simulate(self, schema: Schema, n: int, rng: np.random.Generator) -> Simulated:
        """Parameters drawn from the prior, and n coded rows drawn given them."""


def checked_prior(field: str, prior: Any) -> float | tuple[float, ...]:
    """The prior as floats, one number or a tuple, so that 1 and 1.0 are the same request."""
    if isinstance(prior, list | tuple):
        return tuple(positive(field, value, error=QueryError) for value in prior)
    return positive(field, prior, error=QueryError)


def dirichlet_prior(field: str, prior: float | tuple[float, ...], cells: int) -> tuple[float, ...]:
    """A symmetric prior from one number, or one number per level."""
    values = prior if isinstance(prior, tuple) else (prior,) * cells
    if len(values) != cells:
        raise QueryError(f"{field} must be one number or one per level ({cells}), got {len(values)}")
    return tuple(positive(field, value, error=QueryError) for value in values)
