"""The temperature of one posterior sample on probabilities that are each at least `truncation`  [F-OPS]."""

from typing import Annotated

from discreet.accounting.bounded_losses import log_ratio
from discreet.checks import positive
from discreet.errors import GuaranteeError
from discreet.guarantee import BoundedRange
from discreet.mechanisms.calibration import Argument, Calibration, Epsilon

__all__ = ["one_temperature"]


def one_temperature(
    *,
    truncation: Annotated[float, Argument("Smallest probability of the parameter space.")],
    epsilon: Epsilon,
    levels: Annotated[int, Argument("Number of levels.", 2, 2**31)] = 2,
) -> Calibration:
    """Temperature of one posterior sample.

    Example:
      discreet calibrate posterior-sample --truncation 0.2 --epsilon 1
    """
    positive("calibrate.epsilon", epsilon)
    if levels < 2 or not 0 < positive("calibrate.truncation", truncation) < 1 / levels:
        raise GuaranteeError(f"calibrate.truncation must be below 1/{levels} for {levels} levels, got {truncation!r}")
    spread = 2 * log_ratio(levels, truncation) * (1 + 1e-14)
    temperature = max(1.0, spread / epsilon * (1 + 1e-15))
    return Calibration("temperature", temperature, BoundedRange(min(epsilon, spread)))
