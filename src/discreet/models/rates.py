"""What both models of a rate share: a Gamma prior, read on the log scale where posteriors are computed."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.models.base import prior_number
from discreet.posterior import CurvePosterior, Link, Scalar, curve_posterior
from discreet.samplers.fourier import NoisySum
from discreet.samplers.record_laws import RecordLaw

__all__ = ["gamma_curve", "gamma_pair", "gamma_plug_in", "rate_population"]

Array = NDArray[np.float64]
LOG = Link("log")


def gamma_pair(field: str, prior: Any) -> tuple[float, float]:
    """A prior (shape, rate)."""
    if not isinstance(prior, tuple | list) or len(prior) != 2:
        raise QueryError(f"{field} must be a pair (shape, rate), got {prior!r}")
    shape, rate = (prior_number(field, value) for value in prior)
    return shape, rate


def gamma_curve(prior: tuple[float, float], released: NoisySum) -> CurvePosterior:
    """The exact posterior of a rate given a noisy sum of clamped records."""
    mean, sd = _log_moments(prior)
    log_prior = _LogGamma(*prior)
    return curve_posterior("rate", log_prior, released.log_likelihood, LOG, mean, sd, released.record)


def gamma_plug_in(parameters: tuple[float, float], record: RecordLaw) -> CurvePosterior:
    """Gamma(shape, rate): the posterior that takes a noisy sum at face value."""
    mean, sd = _log_moments(parameters)
    return curve_posterior("rate", _LogGamma(*parameters), np.zeros_like, LOG, mean, sd, record)


def rate_population(prior: tuple[float, float], record: RecordLaw) -> Scalar:
    """The rate on the log scale, on which groups are pooled."""
    return Scalar("rate", "log", *_log_moments(prior), record=record)


class _LogGamma:
    """Log-density of log rate under a Gamma law."""

    def __init__(self, shape: float, rate: float) -> None:
        from scipy.special import gammaln

        self.shape, self.rate = shape, rate
        self.constant = shape * np.log(rate) - float(gammaln(shape))

    def __call__(self, eta: Array) -> Array:
        return np.asarray(self.shape * eta - self.rate * np.exp(np.minimum(eta, 700.0)) + self.constant)


def _log_moments(parameters: tuple[float, float]) -> tuple[float, float]:
    from scipy.special import digamma, polygamma

    shape, rate = parameters
    return float(digamma(shape) - np.log(rate)), float(np.sqrt(polygamma(1, shape)))
