"""One posterior sample: a draw of the tempered posterior on a truncated parameter space. Proof: posterior_sample.md.

    theta ~ p(theta, X)^{1/T} restricted to {theta_j ≥ a0},   T = max(1, 2C / epsilon),   C = log((1 - (K-1) a0) / a0)

is epsilon-bounded-range, hence epsilon-DP and epsilon²/8-zCDP per draw  [Foulds et al. 2016, Thm 2; DDR2020]. The joint
density is tempered in the probabilities themselves: the exponents of the Dirichlet become (count + prior - 1)/T.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import QueryError
from discreet.families import Dirichlet
from discreet.guarantee import Basis, BoundedRange, Guarantee, Repeated
from discreet.guarantee.basis import positive
from discreet.mechanisms.base import check_draws, check_label
from discreet.query import Counts, Statistics
from discreet.randomness import NoiseSource
from discreet.schema import Record
from discreet.sources import Dataset

__all__ = ["PosteriorSample"]

Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class PosteriorSample:
    """Exact draws of the tempered posterior.

    Parameters
    ----------
    epsilon
        Cost of *each* draw.
    truncation
        The declared parameter space: every probability is at least this. It is part of the model and public.
    draws
        Number of independent draws; k draws cost k times.
    grid
        Released values are rounded to multiples of this public number.
    label
        A different label asks for an independent second release, which is paid.
    """

    epsilon: float
    truncation: float
    draws: int = 1
    grid: float = 2.0**-32
    label: str = ""

    def __post_init__(self) -> None:
        for name, limit in (("epsilon", math.inf), ("truncation", 0.5), ("grid", 1.0)):
            number = positive(f"PosteriorSample.{name}", getattr(self, name), below=limit)
            object.__setattr__(self, name, number)  # 1 and 1.0 are the same request
        check_draws("PosteriorSample", self.draws)
        check_label("PosteriorSample", self.label)

    def temperature(self, query: Statistics) -> float:
        """T = max(1, 2C / epsilon), rounded up: a hotter posterior is the more private one."""
        return max(1.0, 2.0 * self._log_ratio(query) / self.epsilon * (1 + 1e-14))

    def note(self, query: Statistics) -> str:
        """What was drawn, in words."""
        return f"draws of the posterior at temperature {self.temperature(query):.4g}"

    def guarantee(self, query: Statistics) -> Guarantee:
        """BoundedRange(2C / T) per draw: epsilon, or the smaller 2C when the posterior is private enough untempered."""
        schema, family = query.schema, _family(query)
        if schema.relation != "replace-one" or not isinstance(schema.unit, Record):
            got = f"{schema.relation} of a {schema.unit}"
            raise QueryError(f"PosteriorSample must have records that are replaced (replace-one), got {got}")
        if query.by is not None:
            raise QueryError(f"PosteriorSample must have a model without groups, got by={query.by!r}")
        if not np.all(self._prior_part(query) > 0):
            raise QueryError("PosteriorSample must have a prior that is not negligible beside 1, got one that vanishes")
        loss = min(self.epsilon, 2.0 * self._log_ratio(query) * (1 + 1e-14))
        cells = len(family.prior)
        space = f"{cells} probabilities ≥ {self.truncation:g}"
        theorem = f"exponential mechanism on {space} (posterior_sample.md, Theorem 1)"
        exact = "inverse CDF" if cells == 2 else "corrected accept-reject"
        sampler = (
            f"exact draw by {exact} from a ChaCha20 generator keyed by the operating system, in double precision "
            f"(the residual rounding error is not charged), rounded to multiples of {self.grid:g}"
        )
        one = BoundedRange(loss, Basis(schema.relation, str(schema.unit), theorem, sampler))
        return one if self.draws == 1 else Repeated(one, self.draws)

    def shapes(self, query: Statistics) -> dict[str, tuple[int, ...]]:
        """One row per draw; vectors in the order of the declared levels."""
        family = _family(query)
        return {family.parameter: (self.draws,) if family.coordinate is not None else (self.draws, len(family.prior))}

    def apply(self, noise: NoiseSource, query: Statistics, dataset: Dataset) -> dict[str, np.ndarray[Any, Any]]:
        """Count once, temper, draw exactly, round to the public grid."""
        from discreet.samplers.truncated import truncated_dirichlet

        family, table = _family(query), _table(query)
        counts = dataset.source.statistics(replace(query, statistics=(table,)))[table.name]
        alpha = np.asarray(counts, dtype=float) / self.temperature(query) + self._prior_part(query)
        draws = truncated_dirichlet(alpha, self.truncation, self.draws, noise.generator())
        rounded = np.round(draws / self.grid) * self.grid
        return {family.parameter: rounded if family.coordinate is None else rounded[:, family.coordinate]}

    def beta_laws(self, query: Statistics) -> tuple[Array, Array, Array]:
        """Parameters and log-normaliser of the law that is drawn from, for every count k = 0..n of the one level."""
        from scipy.special import betaln

        from discreet.samplers.truncated import log_mass

        k = np.arange(query.largest_total + 1, dtype=float)
        base, temperature = self._prior_part(query), self.temperature(query)
        a, b = k / temperature + base[1], (query.largest_total - k) / temperature + base[0]
        return a, b, betaln(a, b) + log_mass(a, b, self.truncation, 1.0 - self.truncation)

    def _log_ratio(self, query: Statistics) -> float:
        """C = sup |log theta_i - log theta_j| over the declared space (F-OPS)."""
        cells = len(_family(query).prior)
        if cells * Fraction(self.truncation) >= 1:
            limit = f"below 1/{cells} for {cells} levels"
            raise QueryError(f"PosteriorSample.truncation must be {limit}, got {self.truncation!r}")
        # log of (1 - (K-1) a0)/a0, written as 1 + (1 - K a0)/a0 in rationals: no cancellation where a0 is near 1/K
        a0 = Fraction(self.truncation)
        return math.log1p(float((1 - cells * a0) / a0))

    def _prior_part(self, query: Statistics) -> Array:
        """(prior - 1)/T + 1: the Dirichlet parameters of an empty table."""
        return np.asarray((np.asarray(_family(query).prior) - 1.0) / self.temperature(query) + 1.0)


def _family(query: Statistics) -> Dirichlet:
    if not isinstance(query.family, Dirichlet):
        raise QueryError("PosteriorSample must have a model with one Dirichlet or Beta parameter, got another query")
    return query.family


def _table(query: Statistics) -> Counts:
    """The full table of counts: a draw needs every cell, also where a noisy release would keep a single one."""
    (table,) = query.statistics
    assert isinstance(table, Counts)
    return replace(table, cell=None)
