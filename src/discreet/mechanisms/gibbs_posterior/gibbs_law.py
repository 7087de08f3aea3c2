"""The public law of a Gibbs posterior's draw: inverse temperature, prior precision, step and number of steps.

Everything here is a function of declarations and of the requested guarantee. Proofs: gibbs_posterior.md.

Inverse temperature beta of exp(-beta · sum loss) · prior; the gradient difference is at most 2 · lipschitz.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal, cast, get_args

from discreet.accounting.bounded_losses import ball_range
from discreet.accounting.gibbs import Bound, gibbs_mu, langevin_mu, largest_beta
from discreet.accounting.langevin_privacy import cyclic_langevin_mu, projected_langevin_mu
from discreet.checks import positive
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import GaussianDP
from discreet.mechanisms.base import Argument, Calibration, Epsilon
from discreet.queries.features import ROUNDED_UP
from discreet.queries.losses.base import CHUNK, Loss

__all__ = ["GibbsLaw", "Steps", "exact_law", "inverse_temperature", "langevin_law", "pure_law"]

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

    def __str__(self) -> str:
        steps = f", {self.steps} Langevin steps of size {self.step:.4g}" if self.steps else ""
        return f"inverse temperature {self.beta:.4g}, prior precision {self.precision:.4g}{steps}"


def exact_law(query: Loss, mu: float) -> GibbsLaw:
    """The largest β up to 1 at which an exact draw costs at most mu."""
    precision, gradient = query.precision or query.recommended_precision(mu), query.gradient

    def law(beta: float) -> GibbsLaw:
        n = query.largest_total
        cost = gibbs_mu(beta, gradient, prior_convexity=precision, n=n, loss_convexity=query.convexity) * ROUNDED_UP
        added = n * beta
        return GibbsLaw(
            beta, precision, precision + added * query.convexity, precision + added * query.smoothness, cost
        )

    return _largest(law, mu)


def pure_law(query: Loss, epsilon: float) -> GibbsLaw:
    """The largest β up to 1 whose log-ratio stays in an interval of length epsilon on the ball."""
    if not math.isfinite(query.ball):
        raise QueryError("GibbsPosterior.delta must be given for a model without a ball, got None")
    beta = min(1.0, epsilon / ball_range(1.0, query.gradient, 2.0 * query.ball) * (1 - 1e-12))
    found = exact_law(replace(query, precision=query.precision or 1.0), math.inf)
    scale = beta / found.beta
    return replace(
        found,
        beta=beta,
        mu=found.mu * scale,
        smoothness=found.precision + (found.smoothness - found.precision) * scale,
    )


def langevin_law(query: Loss, mu: float, steps: Steps, bias: float, batches: int) -> GibbsLaw:
    """The largest β up to 1 at which the last of the steps costs at most mu; the steps themselves depend on β."""
    query.check_smooth()
    precision, gradient = query.precision or query.recommended_precision(mu), query.gradient
    short = max(1, math.ceil(SHORT * query.largest_total * mu))
    seen = batches * _largest_batch(query.largest_total, batches)  # what a step sees, scaled up by the batches

    def law(beta: float) -> GibbsLaw:
        smoothness = (precision + seen * beta * query.smoothness) * ROUNDED_UP
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


def inverse_temperature(
    *,
    prior_precision: Annotated[float, Argument("Strong convexity of the prior.")],
    epsilon: Epsilon,
    delta: Annotated[float, Argument("Requested delta.")],
    lipschitz: Annotated[float | None, Argument("Lipschitz constant of the loss.")] = None,
    gradient: Annotated[float | None, Argument("Largest gradient difference, if below 2 L.")] = None,
    n: Annotated[int, Argument("Public number of records.", 0, 2**48)] = 0,
    loss_convexity: Annotated[float, Argument("Strong convexity of every record's loss.")] = 0.0,
    bound: Annotated[str, Argument("gdp, renyi, minami or minami-printed.")] = "gdp",
) -> Calibration:
    """Inverse temperature of a Gibbs posterior.

    Example:
      discreet calibrate gibbs-posterior --lipschitz 1 --prior-precision 1 --epsilon 1 --delta 1e-5
    """
    if bound not in get_args(Bound):
        raise GuaranteeError(f"calibrate.bound must be gdp, renyi, minami or minami-printed, got {bound!r}")
    if (lipschitz is None) == (gradient is None):
        raise GuaranteeError("calibrate must get lipschitz or gradient, got both or neither")
    steepness = gradient if gradient is not None else 2 * positive("calibrate.lipschitz", lipschitz)
    positive("calibrate.epsilon", epsilon)
    positive("calibrate.delta", delta, below=1.0)
    found = largest_beta(
        epsilon,
        delta,
        steepness,
        prior_convexity=positive("calibrate.prior-precision", prior_precision),
        n=n,
        loss_convexity=loss_convexity,
        bound=cast(Bound, bound),
    )
    mu = gibbs_mu(found.value, steepness, prior_convexity=prior_precision, n=n, loss_convexity=loss_convexity)
    return Calibration("beta", found.value, GaussianDP(mu), found.proved)
