"""Exact draws from Beta laws cut to an interval and from Dirichlet laws cut to {theta_j ≥ lower}.

A Dirichlet is drawn by rejection. The cells are divided into a *remainder*, m cells drawn together, and the others,
drawn apart and independently of each other:

1. each cell apart is a Gamma(alpha_j, rate) given that it is at least `lower`;
2. the remainder's total R is what they leave of 1. With r = R - m·shift it is kept with probability w(r) / max w,
   w(r) = r^(A-1) e^(-rate·r), A the sum of the remainder's alphas, or not at all if it is below m·lower;
3. the remainder's cells are shift + r v, v a Dirichlet draw of their alphas; if one is below `lower`, all is dropped.

*This is exact.* The proposal's density times w is Π_apart x_j^(alpha_j-1) e^(-rate·x_j) · r^(A-1) e^(-rate·r) times
the Dirichlet density Π v_j^(alpha_j-1). The exponentials multiply to a constant, because the cells add up to 1, and
r^(A-m) Π v_j^(alpha_j-1) = Π (theta_j - shift)^(alpha_j-1), where r^(m-1) is the Jacobian. That is the Dirichlet's own
density if shift = 0, and also if shift = lower and every alpha of the remainder is 1: those are the two kinds of
remainder. With all cells in the remainder the first kind is plain rejection of Dirichlet draws; the second draws a
uniform law on the cut simplex without any rejection.

Any division and any rate > 0 are exact; good ones are fast. The rate makes the expected cells add up to 1, cells that
truncation hardly touches go to the remainder, and about sqrt(variance of the remainder / variance of all) of the
proposals pass step 2: at worst of order K^-1/2. Alphas far below 1 with a tiny `lower` can be worse; so some proposals
are made first, only counted and then thrown away, and if too few of them pass, the sequential scheme of
`truncated_sequence` is used instead. As no value of a draw that is returned has a part in that choice, each of them has
the exact law whatever is chosen.

Share of proposals accepted, and time as a multiple of numpy's for the Dirichlet without truncation:

| case | accepted | time |
|---|---|---|
| K = 30, alpha = 1, lower = 1/300 | 1.00 | 2 |
| K = 30, alpha = 1, …, 30, lower = 1/300 | 0.97 | 2 |
| K = 30, alpha = 1000, …, 30000, lower = 1/300 | 1.00 | 2 |
| ten cells of alpha = 1 and one of 1e9, lower = 0.01 | 1.00 | 2 |
| 29 cells of 3e5, below the bound, and one of 1e9, lower = 1/300 | 1.00 | 5 |
| K = 30, alpha = 1.5, lower = 1/300 | 0.38 | 4 |
| K = 30, alpha = 0.5, lower = 1/300 | 0.06 | 20 to 30 |
| K = 20, alpha = 2, lower = 0.04 | 0.09 | 40 |
| K = 30, alpha = 0.1, lower = 0.001 (sequential) | | 150 |
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.mechanisms.draws.truncated_beta import log_mass, truncated_beta, truncated_beta_draws
from discreet.mechanisms.draws.truncated_sequence import sequential_draws, sequential_plan
from discreet.mechanisms.draws.two_tangents import FallingLaw, conditioned, falling_steps
from discreet.numerics.arrays import Array

__all__ = ["log_mass", "truncated_beta", "truncated_beta_draws", "truncated_dirichlet"]


PILOTS = 500
SMALLEST_SHARE = 0.01  # a sequential proposal takes about a hundred times as long
LARGEST_BATCH = 2**14
TINY = float(np.finfo(float).tiny)


def truncated_dirichlet(alpha: ArrayLike, lower: float, size: int, noise: np.random.Generator) -> Array:
    """`size` independent draws of Dirichlet(alpha) given that every coordinate is at least `lower`."""
    alpha = np.asarray(alpha, dtype=float)
    cells = alpha.size
    if alpha.ndim != 1 or cells < 2 or not np.all((alpha > 0) & np.isfinite(alpha)):
        raise QueryError("truncated_dirichlet.alpha must be at least two positive numbers")
    if not 0.0 <= lower < 1.0 / cells:
        raise QueryError(f"truncated_dirichlet.lower must be at least 0 and below 1/{cells}, got {lower!r}")
    if cells == 2:
        first = truncated_beta_draws(float(alpha[0]), float(alpha[1]), lower, 1.0 - lower, size, noise)
        return np.maximum(np.stack([first, 1.0 - first], axis=1), lower)
    division = divide(alpha, lower)
    share = len(accepted(division, PILOTS, noise)) / PILOTS
    if share >= SMALLEST_SHARE:
        return conditioned(lambda batch: accepted(division, batch, noise), size, share, LARGEST_BATCH)
    order = np.argsort(alpha, kind="stable")
    plan = sequential_plan(alpha[order], lower)
    draws = np.empty((size, cells))
    draws[:, order] = conditioned(lambda batch: sequential_draws(plan, batch, noise), size, 0.5, LARGEST_BATCH)
    return draws


@dataclass(frozen=True)
class Division:
    """Which cells are drawn together as the remainder, and the rate of those drawn apart."""

    alpha: Array
    lower: float
    rate: float
    together: NDArray[np.bool_]
    shift: float

    def log_weight(self, excess: Array) -> Array:
        """Log of w(r) / max w over the values r that can occur."""
        total, number = float(self.alpha[self.together].sum()), int(self.together.sum())
        least = number * (self.lower - self.shift)
        most = 1.0 - number * self.shift - (self.alpha.size - number) * self.lower
        best = min(max((total - 1.0) / self.rate, least, TINY), most)
        relative = (excess - best) / best
        return np.asarray((total - 1.0) * np.log1p(relative) - self.rate * best * relative)


def divide(alpha: Array, lower: float) -> Division:
    """The division of which most proposals should pass, if sums of cells were normal."""
    from scipy.special import gammaincc

    rate = _rate(alpha, lower)
    chance = np.asarray(gammaincc(alpha, rate * lower))
    variance = np.minimum(alpha, (rate * (_means(alpha, lower, rate) - lower)) ** 2)
    order = np.argsort(-chance, kind="stable")
    feasible = np.exp(np.cumsum(np.log(np.maximum(chance[order], TINY))))
    least = rate * lower * np.arange(1, alpha.size + 1)
    passing = feasible * _passing(np.cumsum(alpha[order]), least, variance.sum())
    passing[-1] = feasible[-1]  # nothing is drawn apart
    ones = alpha == 1.0
    shifted = 1.0 if ones.all() else float(_passing(ones.sum(), 0.0, variance.sum()))
    if ones.any() and shifted > passing.max():
        return Division(alpha, lower, rate, ones, lower)
    together = np.zeros(alpha.size, dtype=bool)
    together[order[: int(np.argmax(passing)) + 1]] = True
    return Division(alpha, lower, rate, together, 0.0)


def _passing(total: ArrayLike, least: ArrayLike, variance: float) -> Array:
    """About the share that step 2 keeps: the density of all cells' sum at its mean over the remainder's highest one."""
    from scipy.special import gammaln

    total = np.asarray(total, dtype=float)
    peak = np.maximum(np.maximum(total - 1.0, least), TINY)
    log_highest = (total - 1.0) * np.log(peak) - peak - gammaln(total)
    return np.asarray(np.exp(np.minimum(-log_highest - 0.5 * np.log(2 * np.pi * variance), 0.0)))


def accepted(division: Division, proposals: int, noise: np.random.Generator) -> Array:
    """The accepted among `proposals` independent proposals, in the order in which they were made."""
    together, lower, shift = division.together, division.lower, division.shift
    apart = np.empty((int((~together).sum()), proposals))
    for row, shape in zip(apart, division.alpha[~together], strict=True):
        row[:] = _cell(float(shape), division.rate * lower, proposals, noise) / division.rate
    left = 1.0 - apart.sum(axis=0)
    if len(apart) > 0:
        possible = left > together.sum() * lower
        apart, left = apart[:, possible], left[possible]
        kept = -noise.standard_exponential(left.size) <= division.log_weight(left - together.sum() * shift)
        apart, left = apart[:, kept], left[kept]
    shares = noise.dirichlet(division.alpha[together], left.size)
    shares *= (left - together.sum() * shift)[:, None]
    shares += shift
    if shift < lower:
        enough = shares.min(axis=1) >= lower
        apart, shares = apart[:, enough], shares[enough]
    if len(apart) == 0:
        return np.maximum(shares, lower, out=shares)
    draws = np.empty((len(shares), together.size))
    draws[:, together], draws[:, ~together] = shares, apart.T
    return np.maximum(draws, lower, out=draws)  # sums and quotients round


def _cell(shape: float, cut: float, size: int, noise: np.random.Generator) -> Array:
    """Draws of Gamma(shape, 1) given that they are at least `cut`."""
    from scipy.special import gammaincc

    if shape == 1.0:
        return cut + noise.standard_exponential(size)
    chance = float(gammaincc(shape, cut))
    if chance >= 0.2:  # an envelope's draw takes about five times as long as a plain one

        def propose(number: int) -> Array:
            x = noise.standard_gamma(shape, number)
            return x[x >= cut]

        return conditioned(propose, size, chance)
    start = max(shape, cut)  # in log x the density is log-concave for every shape, with the mode at x = shape
    law = FallingLaw(
        lambda t: shape * t - start * np.expm1(t), lambda t: shape - start * np.exp(t), np.log(start / cut), np.inf
    )
    return np.asarray(np.maximum(start + start * np.expm1(falling_steps(law, size, noise)), cut))


def _rate(alpha: Array, lower: float) -> float:
    """The rate at which the expected cells add up to 1; without truncation it is the sum of the alphas."""
    low, high = np.log(alpha.sum()) - 1.0, np.log(alpha.sum())
    while _means(alpha, lower, np.exp(high)).sum() > 1.0:
        low, high = high, high + 1.0
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _means(alpha, lower, np.exp(middle)).sum() > 1.0 else (low, middle)
    return float(np.exp(high))


def _means(alpha: Array, lower: float, rate: float) -> Array:
    """Means of Gamma(alpha_j, rate) given that they are at least `lower`."""
    from scipy.special import gammaincc

    cut = rate * lower
    chance = np.asarray(gammaincc(alpha, cut))
    deep = chance < 1e-250  # the excess over the cut is close to an exponential
    excess = 1.0 / np.where(deep, rate - (alpha - 1.0) / max(lower, TINY), 1.0)
    return np.where(deep, lower + excess, alpha / rate * gammaincc(alpha + 1.0, cut) / np.where(deep, 1.0, chance))
