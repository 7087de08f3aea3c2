"""How sure predictions may be, where no second moments tell how far margins really spread.

There the filter takes features for uncorrelated, of equal variance. Correlated ones, such as pixels, have margins that
spread two to five times as far as it believes, in few directions: its predictions are too timid where noise is strong,
and too sure where it is weak. Two released numbers tell by how much. With x the features' part of a margin at the last
points v, b the intercept's, and S the deviation of x,

    v·g  = n E w (f(b + x) - f(b' + c x)) x       the slope c that log-odds have on x: 1 if predictions are right
    v·g0 = n E w0 (f(0) - f(b' + c x)) x          g0 the first score, at the point 0: together they tell S

with b' such that the average target stays what it is. The noise of g is fresh, that of g0 is in v, as is the chance in
the targets themselves: both are taken off as the filter's gains say. So c has a posterior, on a grid with that of S.
Predictions are averaged over it, of whole margins times c: which level is the likelier one stays what it was. The
constants were chosen on simulated tables of correlated features.

It is for means that are symmetric around the margin 0: of labels, of shares and of places between bounds. An average
of exponential means over c is above all of what is the most in doubt: counts were predicted better by it or worse.
"""

from dataclasses import dataclass

import numpy as np

from discreet.inference.scores.score_posterior import ScoreEvidence
from discreet.numerics.arrays import Array
from discreet.queries.scores import ScoreLink

__all__ = ["MarginSlopes", "margin_slopes"]

NODES, RAW_WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
WEIGHTS = RAW_WEIGHTS / RAW_WEIGHTS.sum()
SLOPES = np.geomspace(0.1, 8.0, 45)
SPREADS = np.geomspace(0.5, 8.0, 25)  # S, over what uncorrelated features would give
DEVIATION = 0.4  # of log c, before anything is known
FEWEST = 10  # steps
ROUNDS = 8  # of Newton's method


@dataclass(frozen=True)
class MarginSlopes:
    """Margins times each of `slopes` count `weights`."""

    slopes: Array
    weights: Array


def margin_slopes(evidence: ScoreEvidence) -> MarginSlopes | None:
    """What the last half of the scores says of the slope; None where second moments make it unnecessary."""
    terms, held, size = evidence.terms, evidence.walk.filter, max(evidence.totals.size, 1.0)
    known = terms.moments_sd is not None or not terms.numbers
    if known or not _is_symmetric(terms.link) or terms.steps < FEWEST or terms.counts_only(size):
        return None
    turn, late, noise = evidence.walk.turned_axes, terms.steps // 2, terms.scores_sd**2
    points, scores = evidence.points @ turn, evidence.scores @ turn
    x, average = points[-late:, 1:], points[-late:, 1:].mean(axis=0)
    energy = held.scales[1:] ** 2 * held.variances[1:]
    believed = np.sqrt(max(float((x**2 @ energy).mean()), 1e-12))
    found = float((x * scores[-late:, 1:]).sum()) / late
    found_noise = noise * float((x**2).sum()) / late**2
    first = -float(scores[0, 1:] @ average)
    first_noise = noise * float(average @ average)
    kept = np.divide(held.averaged[0] * held.known, held.pull, out=np.zeros(len(held.pull)), where=held.pull != 0.0)
    kept = np.clip(kept, 0.0, 1.0)[1:]
    share = (2.0 / (terms.steps + 1.0)) ** terms.fading(size)  # what is left of the first step
    echo = share * float(kept @ (held.curvature(np.zeros(len(held.known))) / held.known)[1:])
    chance = size * float(kept @ (energy / held.curve[1:]))

    link, spread, slope = terms.link, believed * SPREADS[:, np.newaxis], SLOPES[np.newaxis, :]
    margins = NODES[:, np.newaxis, np.newaxis] * spread
    centre = float(points[-late:, 0].mean() * held.scales[0])
    mean, start = link.mean(centre + margins), link.mean(np.zeros(1))
    moved = _moved(evidence, centre, margins, slope)
    aimed = link.mean(moved + slope * margins)
    w, w0 = link.weight(mean, 1.0 / terms.headroom), link.weight(start, 1.0 / terms.headroom)
    varied = link.variance(moved + slope * margins)
    signal = size * _expected(w0 * (aimed - start) * margins)
    gaps = (
        found + chance * _expected(w**2 * varied) - size * _expected(w * (mean - aimed) * margins),
        first - echo - chance * _expected(w * w0 * varied) - signal,
    )
    variances = (
        found_noise + size * _expected(w**2 * varied * margins**2),
        first_noise + size * _expected(w0**2 * varied * margins**2),
    )
    log_weight = -0.5 * (np.log(slope) / DEVIATION) ** 2
    for gap, variance in zip(gaps, variances, strict=True):
        log_weight = log_weight - 0.5 * (gap**2 / variance + np.log(variance))
    weight = np.exp(log_weight - log_weight.max())
    by_slope = weight.sum(axis=0)
    return MarginSlopes(SLOPES, by_slope / by_slope.sum())


def _is_symmetric(link: ScoreLink) -> bool:
    """Whether the mean at a margin and at its negative add up to the whole range."""
    return bool(np.allclose(link.mean(NODES) + link.mean(-NODES), 1.0))


def _moved(evidence: ScoreEvidence, centre: float, margins: Array, slope: Array) -> Array:
    """The intercepts b', (spreads, slopes), under which the average target is what it is at b, by Newton's method."""
    link = evidence.terms.link
    aim, found = _expected(link.mean(centre + margins)), np.full((len(SPREADS), len(SLOPES)), centre)
    for _ in range(ROUNDS):
        short = aim - _expected(link.mean(found + slope * margins))
        found = found + np.clip(short / np.maximum(_expected(link.slope(found + slope * margins)), 1e-3), -2.0, 2.0)
    return np.asarray(found)


def _expected(values: Array) -> Array:
    """Over normal margins."""
    return np.asarray(np.tensordot(WEIGHTS, values, (0, 0)))
