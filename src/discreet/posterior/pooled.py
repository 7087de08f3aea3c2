"""Partial pooling: groups that learn from each other. Free post-processing of a release with `by`.

Each group has one parameter theta with an unconstrained coordinate eta; the coordinates of the groups are normal around
a population whose centre and spread are learned with them (`inference.groups.population`). The centre has the model's
own prior; the spread is half-normal with the prior's deviation, at most 1 on a log or logit scale.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.inference.groups.population import Hyperprior, Population, fit_population
from discreet.inference.groups.sinh_quadrature import SinhCurve, trace
from discreet.numerics.arrays import Array
from discreet.numerics.link import Link
from discreet.posterior.base import Posterior
from discreet.posterior.exports.datatree import DEFAULT_DRAWS, Exported
from discreet.posterior.exports.pictured import pooled_quantity
from discreet.posterior.groups import group_dimension
from discreet.posterior.record_laws import RecordLaw
from discreet.posterior.records.declared_records import LevelCells, stacked
from discreet.posterior.summary import SUMMARY_LEVEL, Summary, describe, tails
from discreet.report.quantities import Quantity

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Likelihood", "PooledPosterior", "Scalar", "pooled_posterior"]

Likelihood = Callable[[Array], Array]

FAR = 40.0  # a mean on its own scale may lie many prior deviations away; a log or logit may not


@dataclass(frozen=True)
class Scalar:
    """One parameter: its name, its unconstrained coordinate eta, and the mean and deviation of eta under the prior.

    `ends` are those of the interval that a logit maps; `record` draws new records where predictions are wanted.
    """

    parameter: str
    link: Literal["identity", "log", "logit"]
    mean: float
    sd: float
    ends: tuple[float, float] = (0.0, 1.0)
    record: RecordLaw | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and 0.0 < self.sd < np.inf):
            raise QueryError(f"Scalar.sd must be above 0 and finite, got {self.sd!r} around {self.mean!r}")
        Link(self.link, *self.ends)  # refuses unknown kinds and ends in the wrong order

    @property
    def hyperprior(self) -> Hyperprior:
        """What is believed beforehand of the population."""
        return Hyperprior(self.mean, self.sd, self.sd if self.link == "identity" else min(self.sd, 1.0))

    def theta(self, eta: ArrayLike) -> Array:
        """The parameter at each coordinate, strictly inside its range."""
        link = Link(self.link, *self.ends)
        theta = link.to_theta(np.clip(np.asarray(eta, dtype=float), -link.farthest, link.farthest))
        if self.link != "logit":
            return theta
        low, high = self.ends
        return np.asarray(np.clip(theta, np.nextafter(low, high), np.nextafter(high, low)))

    def eta(self, theta: ArrayLike) -> Array:
        """The coordinate of each parameter."""
        return Link(self.link, *self.ends).to_eta(np.asarray(theta, dtype=float))


@dataclass(frozen=True)
class PooledPosterior(Posterior):
    """The joint posterior of all groups and of their population; every answer is by level.

    Quantiles and intervals are exact to about seven digits where likelihoods are smooth; where noise leaves corners and
    flat tails, probabilities may be off by up to 1%, and where it may be more a warning says so. Mean and sd are those
    of the law cut at the reach of the quadrature: on a log scale a group about which next to nothing was released has
    no finite ones.
    """

    by: str
    levels: tuple[str, ...]
    scalar: Scalar
    population: Population
    curves: Mapping[str, SinhCurve]
    cells: LevelCells | None = field(default=None, kw_only=True, repr=False, compare=False)  # of the groups

    _no_density = "must be asked of one group: use the posterior without pooling"

    def mean(self) -> dict[str, float]:
        """Posterior mean of every group."""
        return {level: _moments(curve, self.scalar.theta)[0] for level, curve in self.curves.items()}

    def sd(self) -> dict[str, float]:
        """Posterior standard deviation of every group."""
        return {level: _moments(curve, self.scalar.theta)[1] for level, curve in self.curves.items()}

    def cdf(self, x: Mapping[str, ArrayLike]) -> dict[str, Array]:
        """P(theta ≤ x) of the groups that are asked for."""
        return {level: self.curves[level].cdf(self.scalar.eta(points)) for level, points in x.items()}

    def sample(self, n: int, rng: np.random.Generator | None = None) -> dict[str, Array]:
        """Joint draws: the population, then every group given it."""
        return self._draw(n, np.random.default_rng(rng))[2]

    def _simulated(self, n: int, rng: np.random.Generator) -> dict[str, Any]:
        """New records of every group, n of each, each an independent draw from the posterior predictive law."""
        law = self._law()
        return {level: self._as_declared(law.draw(theta, rng)) for level, theta in self.sample(n, rng).items()}

    def quantities(self, level: float = SUMMARY_LEVEL) -> tuple[Quantity, ...]:
        """The parameter of all groups side by side."""
        return (pooled_quantity(self, self.scalar.parameter, level),)

    def log_evidence(self) -> float:
        """Log-probability of all groups' releases under the hierarchy."""
        return self.population.log_evidence

    def _summary(self) -> Summary:
        """Mean, deviation and 90% interval of "level: parameter", of the population's centre and of its spread.

        The centre is on the parameter's scale, the spread on that of its coordinate (log or logit).
        """
        names = [f"{level}: {self.scalar.parameter}" for level in self.levels] + ["population mean"]
        curves = [*self.curves.values(), self.population.centre]
        moments = [_moments(curve, self.scalar.theta) for curve in curves]
        ends = [self.scalar.theta(curve.quantiles(tails(SUMMARY_LEVEL))) for curve in curves]
        spread = self.population.spread
        moments.append(_moments(spread, self.population.tau_at))
        ends.append(self.population.tau_at(spread.quantiles(tails(SUMMARY_LEVEL))))
        columns = zip(("mean", "sd", "lower", "upper"), [*zip(*moments, strict=True), *np.transpose(ends)], strict=True)
        return describe([*names, "population spread"], dict(columns))

    def _law(self) -> RecordLaw:
        if self.scalar.record is None:
            raise QueryError(f"PooledPosterior.simulate must know the law of a record given {self.scalar.parameter}")
        return self.scalar.record

    def _table(self, parameters: Any, n: int, rng: np.random.Generator) -> "pa.Table":
        """N records of every group, the group in a column of its own."""
        made = {level: super(PooledPosterior, self)._table(theta, n, rng) for level, theta in parameters.items()}
        return stacked(self.by, made, self.cells, rng)

    def _title(self) -> str:
        return f"partially pooled posterior of {len(self.levels)} groups by {self.by}"

    def _quantiles(self, orders: Array) -> list[dict[str, float]]:
        found = {level: self.scalar.theta(curve.quantiles(orders)) for level, curve in self.curves.items()}
        return [{level: float(values[i]) for level, values in found.items()} for i in range(orders.size)]

    def _exported(self, draws: int | None, rng: np.random.Generator) -> Exported:
        """Joint draws, groups on the first dimension after the draws."""
        m, tau, groups = self._draw(DEFAULT_DRAWS if draws is None else draws, rng)
        arrays = self._arrays(m, tau, np.stack(list(groups.values()), axis=1))
        records: dict[str, list[NDArray[Any]]] = {}
        for theta in groups.values():
            for name, cells in self._records_given(theta, rng).items():
                records.setdefault(name, []).append(cells)
        dimension = {group_dimension(self.by, {*arrays, *records}): self.levels}
        stacks = {name: np.stack(cells, axis=1) for name, cells in records.items()}
        return Exported.one_chain(arrays, {self.scalar.parameter: dimension}, stacks, dict.fromkeys(records, dimension))

    def _from_prior(self, draws: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Of the hierarchy, which is not the prior of one group alone; for a release that is known, as elsewhere."""
        if self.provenance is None:
            return {}
        prior = self.scalar.hyperprior
        m = rng.normal(prior.mean, prior.sd, draws)
        tau = np.abs(rng.normal(0.0, prior.spread, draws))
        eta = m[:, np.newaxis] + tau[:, np.newaxis] * rng.standard_normal((draws, len(self.levels)))
        return self._arrays(m, tau, self.scalar.theta(eta))

    def _arrays(self, m: Array, tau: Array, groups: Array) -> dict[str, NDArray[Any]]:
        return {self.scalar.parameter: groups, "population_mean": self.scalar.theta(m), "population_spread": tau}

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array, dict[str, Array]]:
        m, tau = self.population.sample(n, rng)
        groups = zip(self.levels, self.population.groups, strict=True)
        return m, tau, {level: self.scalar.theta(curve.draw_blurred(m, tau, rng)) for level, curve in groups}


def pooled_posterior(
    by: str, likelihoods: Mapping[str, Likelihood], scalar: Scalar, cells: LevelCells | None = None
) -> PooledPosterior:
    """The hierarchical posterior, given the log-likelihood of each group's release as a function of its parameter.

    A likelihood takes an array of parameters; a constant added to it is added to the log evidence, nothing else.
    """
    if not likelihoods:
        raise QueryError("pooled_posterior.likelihoods must have at least one group, got none")
    prior = scalar.hyperprior
    # with tau ~ half-normal(s), eta has tails like e^{-|eta - mean| / s}: this leaves out less than 1e-8 of the prior
    reach = (7.0 * prior.sd + 20.0 * prior.spread) * (FAR if scalar.link == "identity" else 1.0)
    curves = tuple(
        trace(_log_likelihood(level, likelihood, scalar), prior.mean - reach, prior.mean + reach, prior.sd)
        for level, likelihood in likelihoods.items()
    )
    population = fit_population(curves, prior)
    groups = {level: population.group(g) for g, level in enumerate(likelihoods)}
    return PooledPosterior(by, tuple(likelihoods), scalar, population, groups, cells=cells)


def _log_likelihood(level: str, likelihood: Likelihood, scalar: Scalar) -> Callable[[Array], Array]:
    """The log-likelihood as a function of eta; where it overflows or is impossible, -inf."""

    def of_eta(eta: Array) -> Array:
        with np.errstate(all="ignore"):
            values = np.asarray(likelihood(scalar.theta(eta)), dtype=float)
        if values.shape != eta.shape or not np.any(np.isfinite(values)):
            raise QueryError(f"pooled_posterior.likelihoods[{level!r}] must be one log-density for each parameter")
        return np.where(np.isfinite(values), values, -np.inf)

    return of_eta


def _moments(curve: SinhCurve, f: Callable[[Array], Array]) -> tuple[float, float]:
    """Mean and deviation of f(x) when x has the density of the curve."""
    mean = curve.average(f)
    return mean, float(np.sqrt(curve.average(lambda x: (f(x) - mean) ** 2)))
