"""The temperature of a paid Gibbs chain of event logs whose fields have declared levels  [F-GIBBS, F-HMM]."""

import math
from typing import Annotated

from discreet.accounting.bounded_losses import LARGEST_TRUNCATION, ROUND_UP, log_ratio
from discreet.checks import positive
from discreet.errors import GuaranteeError
from discreet.guarantee import BoundedRange, Repeated
from discreet.mechanisms.calibration import Argument, Calibration

__all__ = ["chain_temperature"]


def chain_temperature(
    *,
    levels: Annotated[tuple[int, ...], Argument("Levels of every field, comma-separated: 8,30,2.")],
    epsilon_per_update: Annotated[float, Argument("Cost of each update.")],
    sweeps: Annotated[int, Argument("Number of sweeps, of two updates each.", 1, 10**6)],
    truncation: Annotated[float, Argument("Smallest probability, as a share of an even one.")] = 0.1,
) -> Calibration:
    """Temperature of a Gibbs chain that pays for every update, and what the chain costs.

    Example:
      discreet calibrate private-gibbs --levels 8,30,2,2,2 --epsilon-per-update 0.05 --sweeps 200
    """
    positive("calibrate.truncation", truncation, below=LARGEST_TRUNCATION)
    positive("calibrate.epsilon_per_update", epsilon_per_update)
    if not levels or any(count < 2 for count in levels) or sweeps < 1:
        raise GuaranteeError("calibrate must get fields of two levels or more and at least one sweep, got others")
    spread = 2 * math.fsum(log_ratio(count, truncation / count) for count in levels) * ROUND_UP
    temperature = max(1.0, spread / epsilon_per_update * ROUND_UP)
    each = BoundedRange(min(epsilon_per_update, spread))
    return Calibration("temperature", temperature, Repeated(each, 2 * sweeps))
