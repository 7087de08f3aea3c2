"""Gaussian DP of noisy gradient descent where `gibbs.langevin_mu` does not apply: other starts, projections, batches.

The chain is theta ← theta - h grad U(theta) + sqrt(2h) N(0, I) and only what is named is released. Replace-one, n
public; every potential U is m-strongly convex and M-smooth; `gradient` bounds the difference of neighbours' gradients
of U. A step contracts distances by c = max(|1 - hm|, |1 - hM|). In units of the noise sqrt(2h), two neighbours' chains
at distance z are told apart only as far as the distance is not shifted away  [Bok, Su, Altschuler 2024]:

    mu² = min sum a_k²   over   z_k = c z_{k-1} + s_k - a_k ≥ 0,  z_t = 0,     s_k = gradient sqrt(h/2), or 0 where
                                                                                the record that differs is not used.

Every function below is a solution of this problem. What breaks all of them: m, M, h or the number of steps chosen on
the data, or stopping when a chain looks settled. Batches drawn at random are not covered: no amplification is claimed,
and t steps of any kind cost at most gradient sqrt(h t / 2), which is `gibbs.langevin_mu` at convexity 0.
"""

import math

from discreet.accounting.gibbs import langevin_mu
from discreet.accounting.rounding import ULPS
from discreet.errors import GuaranteeError

__all__ = [
    "cyclic_langevin_mu",
    "projected_langevin_mu",
]


def projected_langevin_mu(
    diameter: float,
    gradient: float,
    step: float,
    steps: float,
    *,
    convexity: float,
    smoothness: float,
    distance: float = 0.0,
) -> float:
    """Gaussian DP of the last iterate when every step is projected to one public convex set of this diameter.

    Projecting brings nothing further apart, so what holds without it still does. But also the chains are at most a
    diameter apart before the last tau steps, whatever came earlier: the minimum over the integers 1 ≤ tau ≤ t of
    `langevin_mu_from(diameter, tau steps)` holds, for convexity 0 too, where it does not grow with t. (Over real tau
    that minimum would be sqrt(2 gradient diameter) at convexity 0; integers give more, never less.)
    `distance` is how far apart neighbours may start: 0 for a public start, at most the diameter for any start.
    """
    gap = _gap(gradient, step, steps, convexity, smoothness)
    if not (0.0 < diameter < math.inf and 0.0 <= distance <= diameter):
        raise GuaranteeError(
            f"diameter must be a number above 0 and distance from 0 to it, got {diameter!r} and {distance!r}"
        )
    # in u = c^tau the bound is (w + (z - w) u)/sqrt(1 - u²), w = s/(1 - c): one minimum, at u = 1 - z/w
    ratio = diameter * gap / (step * gradient)
    if gap <= 0:
        best = diameter / (step * gradient)
    elif gap >= 1:
        best = 1.0
    else:
        best = math.log1p(-ratio) / math.log1p(-gap) if ratio < 1 else math.inf
    whole = [math.floor(best), math.ceil(best)] if math.isfinite(best) else []
    forgotten = {min(max(tau, 1), steps) for tau in whole} | {steps}
    return min(
        _mu_from(distance, gradient, step, steps, gap),
        *(_mu_from(diameter, gradient, step, tau, gap) for tau in forgotten),
    )


def cyclic_langevin_mu(
    gradient_of_batch: float, step: float, batches: int, epochs: int, *, convexity: float, smoothness: float
) -> float:
    """Gaussian DP of the last iterate after `epochs` passes over `batches` fixed batches, from a public start.

    The partition is of record positions and public; batch B takes a step on U_B, its losses scaled by n/b, so
    gradient_of_batch = (n/b) beta G with b the smallest batch, and m, M hold for every U_B. With l batches and E epochs

        mu = s sqrt( 1 + c^(2l-2) (1 - c²)/(1 - c^l)² · (1 - c^(l(E-1)))/(1 + c^(l(E-1))) )

    is the solution for a record in the last batch, the worst place: steps after the last use only blur. One batch is
    `gibbs.langevin_mu`, which is smaller than the formula at l = 1.
    """
    if batches < 1 or epochs < 1:
        raise GuaranteeError(f"batches and epochs must be at least 1, got {batches!r} and {epochs!r}")
    if batches == 1:
        return langevin_mu(gradient_of_batch, step, epochs, convexity=convexity, smoothness=smoothness)
    gap = _gap(gradient_of_batch, step, batches * epochs, convexity, smoothness)
    once = gradient_of_batch * math.sqrt(step / 2)
    if epochs == 1 or gap >= 1:
        return once
    if gap <= 0:
        return once * math.sqrt(1 + (epochs - 1) / batches)
    log_c = math.log1p(-gap)
    carried = math.exp((2 * batches - 2) * log_c) * gap * (2 - gap) / math.expm1(batches * log_c) ** 2
    return once * math.sqrt(1 + carried * math.tanh(-batches * (epochs - 1) * log_c / 2))


def _mu_from(distance: float, gradient: float, step: float, steps: float, gap: float) -> float:
    if gap <= 0 and math.isinf(steps):
        return math.inf
    log_c = math.log1p(-gap) if gap < 1 else -math.inf
    kept = math.exp(steps * log_c) if gap > 0 else 1.0
    shifted = kept * distance / math.sqrt(2 * step) + gradient * math.sqrt(step / 2) * _geometric(gap, steps)
    # (1 - c^2t)/(1 - c²): the same sum with c² in place of c
    return shifted / math.sqrt(_geometric(gap * (2 - gap), steps))


def _geometric(gap: float, terms: float) -> float:
    """1 + c + … + c^(terms-1) for c = 1 - gap, without rounding c first."""
    if gap <= 0:
        return terms
    return -math.expm1(terms * math.log1p(-gap)) / gap if gap < 1 else 1.0


def _gap(gradient: float, step: float, steps: float, convexity: float, smoothness: float) -> float:
    """1 - c, after the checks that every function shares."""
    if not (0 < gradient < math.inf and 0 <= convexity <= smoothness < math.inf and smoothness > 0 and steps >= 1):
        given = (gradient, steps, convexity, smoothness)
        raise GuaranteeError(f"gradient must be positive, steps ≥ 1 and 0 ≤ convexity ≤ smoothness, got {given!r}")
    if not 0.0 < step <= 2 / smoothness:
        raise GuaranteeError(f"step must be above 0 and at most 2 / smoothness = {2 / smoothness!r}, got {step!r}")
    # where it is a difference it is rounded down, and mu up
    return min(step * convexity, step * smoothness, 2 - 2 * ULPS - step * smoothness)
