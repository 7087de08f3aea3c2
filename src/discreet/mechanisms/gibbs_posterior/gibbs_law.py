"""The public law of a Gibbs posterior's draw: inverse temperature, prior precision, step and number of steps.

Everything here is a function of declarations and of the requested guarantee. Proofs: gibbs_posterior.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.accounting.gibbs import gibbs_mu, langevin_mu
from discreet.accounting.langevin_privacy import cyclic_langevin_mu, projected_langevin_mu
from discreet.errors import QueryError
from discreet.queries.features import ROUNDED_UP
from discreet.queries.losses.base import CHUNK, Loss

__all__ = ["GibbsLaw", "Steps", "exact_law", "langevin_law", "recommended_precision"]

Steps = int | Literal["stationary", "short"]

MOST_STEPS = 10**7
SHORT = 0.15  # steps of a short chain for each record and unit of mu


@dataclass(frozen=True)
class GibbsLaw:
    """What one draw is made with, and what it costs; `step` and `steps` are 0 for exact draws."""

    beta: float
    precision: float
    convexity: float
    smoothness: float
    mu: float
    step: float = 0.0
    steps: int = 0


def recommended_precision(query: Loss, mu: float) -> float:
    """The prior precision that a public guess of the problem makes best for one draw of cost mu.

    Guess: margins deviate by about 2 and information is spread evenly, j = R² c / d a row, c = min(curvature, 1). The
    expected excess loss of a draw, (n j / 2) (d / H + (λ / H)² |w|²) with H = β n j + λ, is noise plus shrinkage; β is
    mu √λ / G at most 1. A larger λ allows a larger β and shrinks more.
    """
    if query.kind == "quadratic":
        return 1.0
    n, d, reach = max(query.largest_total, 1), query.features.size, query.features.reach
    information = reach**2 * min(query.curvature, 1.0) / d
    precision = reach**2 * 2.0 ** np.arange(-20, 21)
    beta = np.minimum(1.0, mu * np.sqrt(precision) / query.gradient)
    hessian = beta * n * information + precision
    excess = d / hessian + (precision / hessian) ** 2 * 4.0 * d / reach**2
    return float(precision[np.argmin(excess)])


def exact_law(query: Loss, mu: float) -> GibbsLaw:
    """The largest β up to 1 at which an exact draw costs at most mu."""
    precision, gradient = query.precision or recommended_precision(query, mu), query.gradient

    def law(beta: float) -> GibbsLaw:
        n = query.largest_total
        cost = gibbs_mu(beta, gradient, prior_convexity=precision, n=n, loss_convexity=query.convexity) * ROUNDED_UP
        added = n * beta
        return GibbsLaw(
            beta, precision, precision + added * query.convexity, precision + added * query.smoothness, cost
        )

    return _largest(law, mu)


def langevin_law(query: Loss, mu: float, steps: Steps, bias: float, batches: int) -> GibbsLaw:
    """The largest β up to 1 at which the last of the steps costs at most mu; the steps themselves depend on β."""
    if not math.isfinite(query.smoothness):
        raise QueryError("GibbsPosterior.sampler must be exact for a loss with a corner, got langevin")
    if query.kind == "quadratic":
        raise QueryError("GibbsPosterior.sampler must be exact for a quadratic mean, got langevin")
    precision, gradient = query.precision or recommended_precision(query, mu), query.gradient
    short = max(1, math.ceil(SHORT * query.largest_total * mu))
    rows = batches * _largest_batch(query.largest_total, batches)  # what a step sees, scaled up by the batches

    def law(beta: float) -> GibbsLaw:
        smoothness = (precision + rows * beta * query.smoothness) * ROUNDED_UP
        longest = 2.0 / (precision + smoothness)
        if steps == "stationary":
            step = min(longest, 2.0 * bias / smoothness)
            count = math.ceil(math.log(1.0 / bias) / (step * precision))
        else:
            step = min(longest, 1.0 / smoothness)
            count = short if steps == "short" else int(steps)
        count = batches * max(1, -(-count // batches))
        moved = batches * beta * gradient
        if batches > 1:
            cost = cyclic_langevin_mu(
                moved, step, batches, count // batches, convexity=precision, smoothness=smoothness
            )
        elif math.isfinite(query.ball):
            cost = projected_langevin_mu(
                2.0 * query.ball, moved, step, count, convexity=precision, smoothness=smoothness
            )
        else:
            cost = langevin_mu(moved, step, count, convexity=precision, smoothness=smoothness)
        return GibbsLaw(beta, precision, precision, smoothness, cost * ROUNDED_UP, step, count)

    found = _largest(law, mu)
    if found.steps > MOST_STEPS:
        raise QueryError(
            f"GibbsPosterior.steps must be at most {MOST_STEPS}, got {found.steps} for a stationary chain: "
            "declare a larger precision, a larger bias or a number of steps"
        )
    return found


def _largest_batch(total: int, batches: int) -> int:
    """Batches are runs of whole chunks; the largest of them, in rows."""
    chunks = -(-total // CHUNK)
    return min(-(-chunks // batches) * CHUNK, total)


def _largest(law: Callable[[float], GibbsLaw], mu: float) -> GibbsLaw:
    """Bisection on log β that returns a law which was seen to cost at most mu."""
    whole = law(1.0)
    if whole.mu <= mu:
        return whole
    low, high = -60.0, 0.0
    best = law(math.exp(low))
    if best.mu > mu:
        raise QueryError("GibbsPosterior.epsilon must allow some inverse temperature, got one that is too small")
    while high - low > 1e-13 * max(1.0, -low):
        middle = 0.5 * (low + high)
        found = law(math.exp(middle))
        if found.mu <= mu:
            low, best = middle, found
        else:
            high = middle
    return best
