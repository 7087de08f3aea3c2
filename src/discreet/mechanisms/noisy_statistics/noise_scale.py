"""The scale of integer noise for a sensitivity and a guarantee."""

from typing import Annotated

from discreet.accounting.conversions import zcdp_rho
from discreet.accounting.rounding import rational, root_up, round_up
from discreet.checks import positive
from discreet.errors import GuaranteeError
from discreet.guarantee import ZCDP, PureDP
from discreet.mechanisms.calibration import Argument, Calibration, Delta

__all__ = ["noise_scale"]


def noise_scale(
    *,
    l1: Annotated[float | None, Argument("L1 sensitivity, for discrete Laplace noise.")] = None,
    l2: Annotated[float | None, Argument("L2 sensitivity, for discrete Gaussian noise.")] = None,
    epsilon: Annotated[float | None, Argument("Requested epsilon.")] = None,
    delta: Delta = None,
    rho: Annotated[float | None, Argument("Requested zCDP.")] = None,
) -> Calibration:
    """Scale of the noise.

    Example:
      discreet calibrate noisy-statistics --l1 2 --epsilon 0.5
      discreet calibrate noisy-statistics --l2 1.4142135623730951 --epsilon 1 --delta 1e-6
    """
    if l1 is not None and l2 is None and epsilon is not None and delta is None and rho is None:
        scale = rational(positive("calibrate.l1", l1)) / rational(positive("calibrate.epsilon", epsilon))
        return Calibration("scale", round_up(scale), PureDP(epsilon))
    if l2 is None or l1 is not None or (rho is None) == (epsilon is None) or (epsilon is None) != (delta is None):
        raise GuaranteeError("calibrate must get l1 and epsilon, or l2 with rho or with epsilon and delta, got others")
    level = rho if rho is not None else _zcdp(epsilon, delta)
    squared = rational(positive("calibrate.l2", l2)) ** 2 / (2 * rational(positive("calibrate.rho", level)))
    return Calibration("sigma", root_up(squared), ZCDP(level))


def _zcdp(epsilon: float | None, delta: float | None) -> float:
    return zcdp_rho(positive("calibrate.epsilon", epsilon), positive("calibrate.delta", delta, below=1.0))
