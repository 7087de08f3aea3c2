"""Posterior of one scalar parameter as a curve on a uniform grid of an unconstrained coordinate eta.

    p(eta | y) ∝ p(eta) p(y | theta(eta))

A smooth density that vanishes at both ends of a uniform grid is integrated by the plain trapezoid rule with an error
that falls faster than any power of the spacing, and its Fourier interpolation is as accurate: moments come from the
grid, the CDF from the integral of the interpolation. Densities are evaluated anew wherever they are asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.numerics.arrays import Array
from discreet.numerics.link import Link
from discreet.numerics.smooth_distribution import SmoothDistribution
from discreet.posterior.base import Posterior
from discreet.posterior.exports.datatree import Axes
from discreet.posterior.record_laws import RecordLaw

__all__ = ["CurvePosterior", "curve_posterior"]

Curve = Callable[[Array], Array]

NEGLIGIBLE = 36.0  # nats below the peak at which the curve ends
FIRST_SCAN = 0.6 * np.sinh(np.linspace(-3.3, 3.3, 15))  # in units of the spread, dense at the centre
RESOLVED = 3.0  # nats between neighbouring points at which a peak is seen
OUTWARD = np.array([0.25, 0.5, 1.0, 2.0])  # further points, in units of the range so far
FIRST_GRID, LARGEST_GRID = 48, 2**17
SMOOTH = 1e-7  # change under halving the spacing; the finer rule then errs by about its square
# a change so small, and no third of the one before, is the likelihood's own error, which no grid takes away
OWN_ERROR, LESS, ENOUGH = 2e-6, 1.0 / 3.0, 6144  # on so many points, and not before


@dataclass(frozen=True)
class CurvePosterior(Posterior):
    """A posterior density on the uniform grid `eta`; `log_prior` and `log_likelihood` hold its two factors there.

    `prior` and `likelihood` are the functions behind them, of eta and of theta; `record` draws new records; `estimand`
    says in words what the parameter is, where its name alone does not.
    """

    parameter: str
    link: Link
    eta: Array
    log_prior: Array
    log_likelihood: Array
    prior: Curve
    likelihood: Curve
    record: RecordLaw | None = None
    estimand: str = ""

    @cached_property
    def theta(self) -> Array:
        """The parameter on the grid."""
        return self.link.to_theta(self.eta)

    @cached_property
    def weights(self) -> Array:
        """Posterior probability of each node of the grid."""
        curve = np.exp(self.log_prior + self.log_likelihood - np.max(self.log_prior + self.log_likelihood))
        return np.asarray(curve / curve.sum())

    def likelihood_at(self, theta: ArrayLike) -> Array:
        """Log-likelihood at any parameters, for example under another prior."""
        return self.likelihood(np.asarray(theta, dtype=float))

    def mean(self) -> float:
        """Posterior mean."""
        return float(self.weights @ self.theta)

    def sd(self) -> float:
        """Posterior standard deviation."""
        return float(np.sqrt(self.weights @ (self.theta - self.mean()) ** 2))

    def cdf(self, x: ArrayLike) -> Array:
        """P(theta ≤ x)."""
        return self._distribution.cdf(self.link.to_eta(np.asarray(x, dtype=float)))

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Array:
        """Independent draws, by the inverse of the CDF."""
        return self._inverse(np.random.default_rng(rng).random(n))

    def log_density(self, x: ArrayLike) -> Array:
        """Log posterior density at each x; -inf outside the parameter's range."""
        theta = np.asarray(x, dtype=float)
        eta = self.link.to_eta(theta)
        inside = np.isfinite(eta)
        result = np.full(theta.shape, -np.inf)
        eta = eta[inside]
        log_joint = self.prior(eta) + self.likelihood(theta[inside])
        result[inside] = log_joint - self.log_evidence() - self.link.log_slope(eta)
        return result

    def log_evidence(self) -> float:
        """Log-probability of the release under the model."""
        log_joint = self.log_prior + self.log_likelihood
        peak = float(log_joint.max())
        return peak + float(np.log(np.sum(np.exp(log_joint - peak)) * (self.eta[1] - self.eta[0])))

    def _exact_density(self) -> Callable[[Array], Array]:
        return lambda x: np.exp(self.log_density(x))

    def _law(self) -> RecordLaw:
        return super()._law() if self.record is None else self.record

    def _title(self) -> str:
        return f"posterior of {self.estimand or self.parameter}"

    def _axes(self) -> Axes:
        return {self.parameter: {}}

    def _quantiles(self, orders: Array) -> list[float]:
        return list(map(float, self._inverse(orders)))

    def _inverse(self, orders: Array) -> Array:
        return self.link.to_theta(self._distribution.quantiles(orders))

    @cached_property
    def _distribution(self) -> SmoothDistribution:
        return SmoothDistribution.of(self.eta, self.weights)


def curve_posterior(
    parameter: str,
    log_prior: Curve,
    log_likelihood: Curve,
    link: Link,
    centre: float,
    spread: float,
    record: RecordLaw | None = None,
    finest: int = LARGEST_GRID,
) -> CurvePosterior:
    """The posterior on a grid that covers all that matters, its errors below 1e-9 or those of the likelihood itself.

    Parameters
    ----------
    log_prior
        Normalised log prior density of eta, at an array of eta.
    log_likelihood
        Log-likelihood at an array of theta.
    centre, spread
        Where to look first, in eta: a rough place and scale of the prior or of the posterior.
    finest
        The largest number of grid points: fewer for curves with corners, whose error falls with their square only.
    """
    if not (np.isfinite(centre) and np.isfinite(spread) and spread > 0):
        raise QueryError(f"curve_posterior.spread must be above 0 around a finite centre, got {spread!r} at {centre!r}")

    def log_joint(eta: Array) -> Array:
        values = log_prior(eta) + log_likelihood(link.to_theta(eta))
        return np.asarray(np.where(np.isnan(values), -np.inf, values))

    low, high = _range(log_joint, link, centre, spread)
    count = FIRST_GRID
    eta = np.linspace(low, high, count + 1)
    priors, likelihoods = log_prior(eta), log_likelihood(link.to_theta(eta))
    before = np.inf
    while True:
        coarse, fine = (_moments(link, eta[::step], (priors + likelihoods)[::step]) for step in (2, 1))
        change = float(np.max(np.abs(coarse - fine) / np.array([1.0, fine[2], fine[2]])))
        stuck = count >= ENOUGH and LESS * before < change < OWN_ERROR
        if change < SMOOTH or stuck or count >= finest:
            return CurvePosterior(parameter, link, eta, priors, likelihoods, log_prior, log_likelihood, record)
        between, before = 0.5 * (eta[1:] + eta[:-1]), change
        count *= 2
        eta = np.linspace(low, high, count + 1)
        priors = _interleave(priors, log_prior(between))
        likelihoods = _interleave(likelihoods, log_likelihood(link.to_theta(between)))


def _range(log_joint: Curve, link: Link, centre: float, spread: float) -> tuple[float, float]:
    """The interval outside of which the joint density, and its second moment, are negligible."""
    limit = link.farthest
    eta = np.unique(np.clip(np.clip(centre, -limit, limit) + spread * FIRST_SCAN, -limit, limit))
    values = log_joint(eta)
    while True:
        matter = _matters(link, eta, values)
        first, last = int(np.argmax(matter)), eta.size - 1 - int(np.argmax(matter[::-1]))
        width = eta[-1] - eta[0]
        new = [eta[0] - width * OUTWARD] if first == 0 and eta[0] > -limit else []
        new += [eta[-1] + width * OUTWARD] if last == eta.size - 1 and eta[-1] < limit else []
        best = int(np.argmax(values))
        around = slice(max(best - 1, 0), min(best + 2, eta.size))
        seen = values[best] - values[around].min() < RESOLVED
        if not seen and np.ptp(eta[around]) > 1e-13 * (1.0 + abs(eta[best])):
            new.append(np.linspace(eta[around][0], eta[around][-1], 11))
        low, high = eta[max(first - 1, 0)], eta[min(last + 1, eta.size - 1)]
        if seen:  # the curve ends somewhere between two points: look there while the gap is wide
            gaps = [(low, eta[first]), (eta[last], high)]
            new += [np.linspace(a, b, 5) for a, b in gaps if b - a > 0.15 * (high - low)]
        if not new:
            return float(low), float(high)
        added = np.setdiff1d(np.clip(np.concatenate(new), -limit, limit), eta)
        if not added.size:
            return float(low), float(high)
        order = np.argsort(np.append(eta, added))
        eta, values = np.append(eta, added)[order], np.append(values, log_joint(added))[order]


def _matters(link: Link, eta: Array, values: Array) -> NDArray[np.bool_]:
    """Points where the density or its second moment is within e^-36 of its peak."""
    if not np.any(np.isfinite(values)):
        raise QueryError("curve_posterior.log_likelihood must be finite somewhere in the prior's range, got none")
    weighted = values + 2.0 * eta if link.kind == "log" else values
    return np.asarray((values > values.max() - NEGLIGIBLE) | (weighted > weighted.max() - NEGLIGIBLE))


def _moments(link: Link, eta: Array, log_joint: Array) -> Array:
    """Log-mass, mean and deviation of theta by the trapezoid rule."""
    peak = log_joint.max()
    weights, theta = np.exp(log_joint - peak), link.to_theta(eta)
    total = weights.sum()
    mean = weights @ theta / total
    return np.array([peak + np.log(total * (eta[1] - eta[0])), mean, np.sqrt(weights @ (theta - mean) ** 2 / total)])


def _interleave(old: Array, new: Array) -> Array:
    merged = np.empty(old.size + new.size)
    merged[::2], merged[1::2] = old, new
    return merged
