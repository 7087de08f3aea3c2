"""How much work an exact draw by rejection is, for every table: proposals and steps are functions of public numbers."""

import math

from discreet.accounting.rejection import acceptance_at_least, gradient_after, proposals_for
from discreet.errors import QueryError
from discreet.mechanisms.gibbs_posterior.gibbs_law import GibbsLaw
from discreet.queries.losses.base import Loss

__all__ = ["anchor_steps", "check_pace", "proposals_needed"]

MOST_PROPOSALS = 10**6
ANCHOR_STEPS = 10**4


def anchor_steps(query: Loss, law: GibbsLaw) -> int:
    """Noiseless steps after which the gradient is small for every table; none where the loss has a corner."""
    if not math.isfinite(law.smoothness) or law.smoothness == law.convexity:
        return 0
    rate = math.log((law.smoothness + law.convexity) / (law.smoothness - law.convexity))
    start = max(query.largest_total * law.beta * query.lipschitz / math.sqrt(law.convexity), 1.0)
    return min(ANCHOR_STEPS, math.ceil(math.log(100.0 * start) / rate))


def check_pace(query: Loss, law: GibbsLaw) -> None:
    """Refuse draws on a ball that fill so little of it that proposals would hardly ever be accepted.

    A guess from public numbers, which no guarantee rests on: the volume that a peak of curvature M has in the ball,
    halved in each direction for one on the rim; a loss with corners is as steep as n β L.
    """
    size, steep = query.features.size, query.largest_total * law.beta * query.lipschitz
    width = min(math.sqrt(2.0 / law.smoothness), query.ball) if math.isfinite(law.smoothness) else 1.0 / steep
    log_share = size * math.log(0.5 * min(1.0, width / query.ball)) + math.lgamma(0.5 * size + 1.0)
    if log_share < -math.log(MOST_PROPOSALS):
        raise QueryError(
            f"GibbsPosterior.delta must be given for {size} coefficients and {query.largest_total} rows on this "
            "ball: an exact draw would take too many proposals, got None"
        )


def proposals_needed(query: Loss, law: GibbsLaw, failing: float) -> int:
    """How many proposals leave at most this chance that all are rejected, for every table."""
    size = query.features.size
    if not math.isfinite(law.smoothness) or math.isfinite(query.ball):
        raise QueryError("GibbsPosterior.delta must not be given for a loss with a corner or a ball: ask for epsilon")
    start = query.largest_total * law.beta * query.lipschitz
    constants = {"convexity": law.convexity, "smoothness": law.smoothness}
    tolerance = 2.0 * gradient_after(anchor_steps(query, law), start, **constants)
    acceptance = acceptance_at_least(dimension=size, tolerance=tolerance, **constants)
    most = MOST_PROPOSALS if acceptance > 0 else 0
    count = proposals_for(failing, acceptance) if acceptance * most > 1 else math.inf
    if count > MOST_PROPOSALS:
        raise QueryError(
            f"GibbsPosterior.sampler must be langevin for {size} coefficients at this budget and precision: an "
            f"exact draw would need more than {MOST_PROPOSALS} proposals"
        )
    return int(count)
