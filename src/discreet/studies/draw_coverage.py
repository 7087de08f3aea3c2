"""Do 90% intervals from one private draw of a probability cover 90%? The honest ones do, a naive band does not.

The truth comes from the prior, the rows from the truth, the draw from the mechanism. Two intervals are made of it:

    honest   the posterior of the truth given the draw, the unseen count summed out: what `posterior().interval()` says
    naive    the Beta law with the mechanism's own concentration and its mean at the draw (cut to the declared space)

The naive band is what the spread of many draws would look like. It holds the noise of the draw once; but the draw is
already off by that noise, by the sampling of the rows, and by the pull of the prior or of the temperature.
"""

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from discreet.mechanisms import ConjugateSample, PosteriorSample
from discreet.models import BetaBernoulli
from discreet.numerics.arrays import Array
from discreet.pipeline import simulate
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Schema

__all__ = ["DrawCoverage", "draw_coverage", "naive_band"]


@dataclass(frozen=True)
class DrawCoverage:
    """Shares of simulated truths inside the honest and inside the naive interval."""

    honest: float
    naive: float
    runs: int

    @property
    def error(self) -> float:
        """Two standard errors of a coverage near 90%."""
        return 2.0 * math.sqrt(0.09 / self.runs)

    def __str__(self) -> str:
        return f"honest {self.honest:.3f}, naive {self.naive:.3f}, each ± {self.error:.3f}"


def draw_coverage(
    mechanism: ConjugateSample | PosteriorSample,
    *,
    prior: tuple[float, float],
    n: int,
    runs: int,
    seed: int,
    level: float = 0.9,
) -> DrawCoverage:
    """Coverage of both intervals from one draw of `mechanism`, simulated over a Beta prior."""
    model, schema = BetaBernoulli("x", prior=prior), Schema({"x": Binary()})
    truths, draws, honest = np.empty(runs), np.empty(runs), np.empty((runs, 2))
    for i, run in enumerate(simulate(model, None, mechanism, runs=runs, seed=seed, n=n, schema=schema)):
        assert run.truth is not None
        truths[i], draws[i] = run.truth["probability"], run.value["probability"][0]
        honest[i] = run.posterior().interval(level)
    query = model.query(schema.with_n(n))
    low, high = naive_band(draws, *_concentration(mechanism, query, prior), level)
    return DrawCoverage(
        honest=float(np.mean((honest[:, 0] <= truths) & (truths <= honest[:, 1]))),
        naive=float(np.mean((low <= truths) & (truths <= high))),
        runs=runs,
    )


def naive_band(
    draws: ArrayLike, concentration: float, space: tuple[float, float], level: float = 0.9
) -> tuple[Array, Array]:
    """Equal-tailed quantiles of Beta(s d, s (1 - d)) within `space`, for every draw d and one concentration s."""
    from scipy.special import betainc, betaincinv

    mean = np.clip(np.asarray(draws, dtype=float), 1e-9, 1.0 - 1e-9)
    a, b = concentration * mean, concentration * (1.0 - mean)
    below, above = (betainc(a, b, end) for end in space)
    tails = (below + q * (above - below) for q in (0.5 - 0.5 * level, 0.5 + 0.5 * level))
    low, high = (np.asarray(betaincinv(a, b, tail)) for tail in tails)
    return low, high


def _concentration(
    mechanism: ConjugateSample | PosteriorSample, query: Statistics, prior: tuple[float, float]
) -> tuple[float, tuple[float, float]]:
    """A + B of the Beta law that is drawn from, the same for every count, and the interval it is cut to."""
    n = query.largest_total
    if mechanism.is_strengthened:  # no space is declared
        r, m = cast(ConjugateSample, mechanism).fractions(query)
        return sum(prior) / m + r * n, (0.0, 1.0)
    cut = cast(PosteriorSample, mechanism)
    lower = cast(float, cut.truncation)
    return (n + sum(prior) - 2.0) / cut.temperature(query) + 2.0, (lower, 1.0 - lower)
