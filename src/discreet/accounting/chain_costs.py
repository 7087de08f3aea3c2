"""What the parts of a released chain cost: ranges rounded up, and how far one record moves importance weights."""

import math

__all__ = ["LARGEST_TRUNCATION", "ROUND_UP", "weight_sensitivity"]

ROUND_UP = 1 + 1e-14  # above the rounding error of the few operations that make a range

# beyond, profiles are even up to roundings, and exact draws of them would not end
LARGEST_TRUNCATION = 0.999


def weight_sensitivity(first: float, last: float) -> float:
    """L1 sensitivity 2 tanh((last - first)/4) of normalised weights on a path of levels  [F-AIS].

    Every log-weight moves by at most (last - first)/2; twice the total variation of a bounded-range pair.
    """
    return 2.0 * math.tanh((last - first) / 4.0) * ROUND_UP
