"""Scale r of the counts and shrink m of the prior in Dirichlet(prior / m + r counts)  [G-A1..A3]."""

import math
from collections.abc import Callable, Sequence

from discreet.accounting import divergences, profiles
from discreet.checks import positive
from discreet.errors import GuaranteeError
from discreet.guarantee import ConjugateProfile, Guarantee, RenyiDP
from discreet.mechanisms.base import Calibration, Delta, Epsilon, Order, Records, Shares

__all__ = ["cost_of_a_draw", "largest_scale", "largest_shrink"]

Solver = Callable[..., float]
BY_ORDER: dict[str, Solver] = {"scale": divergences.diffused_scale, "shrink": divergences.concentrated_shrink}
BY_DELTA: dict[str, Solver] = {"scale": profiles.beta_diffused_scale, "shrink": profiles.beta_concentrated_shrink}


def cost_of_a_draw(*, prior: Shares, n: Records, order: Order = None, delta: Delta = None) -> Calibration:
    """What one draw of the exact posterior costs.

    Example:
      discreet calibrate direct --prior 6,12 --n 100 --order 2
      discreet calibrate direct --prior 6,12 --n 100 --delta 1e-6
    """
    if (order is None) == (delta is None):
        raise GuaranteeError("calibrate must get order or delta, got both or neither")
    if order is not None:
        certificate: Guarantee = RenyiDP("dirichlet", {"prior": tuple(prior), "n": n})
        cost = certificate.renyi(order)
        if math.isinf(cost):
            limit = divergences.largest_order(prior)
            raise GuaranteeError(f"calibrate.order must be below {limit:g} for this prior, got {order!r}")
    else:
        assert delta is not None
        certificate = ConjugateProfile("dirichlet", {"prior": tuple(prior), "n": n})
        cost = certificate.epsilon(positive("calibrate.delta", delta, below=1.0))
    return Calibration("epsilon", cost, certificate)


def largest_scale(
    *, prior: Shares, n: Records, epsilon: Epsilon, order: Order = None, delta: Delta = None
) -> Calibration:
    """Scale r of the counts in diffused sampling.

    Example:
      discreet calibrate diffused --prior 6,12 --n 100 --order 15 --epsilon 0.1
      discreet calibrate diffused --prior 6,12 --n 100 --epsilon 1 --delta 1e-6 --json
    """
    return _largest("r", "scale", prior, n, epsilon, order, delta)


def largest_shrink(
    *, prior: Shares, n: Records, epsilon: Epsilon, order: Order = None, delta: Delta = None
) -> Calibration:
    """Shrink m of the prior in concentrated sampling.

    Example:
      discreet calibrate concentrated --prior 6,12 --n 100 --order 15 --epsilon 0.1
    """
    return _largest("m", "shrink", prior, n, epsilon, order, delta)


def _largest(
    name: str, kind: str, prior: Sequence[float], n: int, epsilon: float, order: float | None, delta: float | None
) -> Calibration:
    if (order is None) == (delta is None):
        raise GuaranteeError("calibrate must get order or delta, got both or neither")
    positive("calibrate.epsilon", epsilon)
    if order is not None:
        if not order > 1:
            raise GuaranteeError(f"calibrate.order must be above 1, got {order!r}")
        value = BY_ORDER[kind](prior, n, order, epsilon)
        return Calibration(name, value, RenyiDP("dirichlet", {"prior": tuple(prior), "n": n, kind: value}))
    if len(prior) != 2:
        raise GuaranteeError(f"calibrate.prior must have two entries where delta is given, got {len(prior)}")
    assert delta is not None
    value = BY_DELTA[kind](*prior, n, epsilon, positive("calibrate.delta", delta, below=1.0))
    return Calibration(name, value, ConjugateProfile("dirichlet", {"prior": tuple(prior), "n": n, kind: value}))
