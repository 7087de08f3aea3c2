"""What compiled loops know of a mean function: margins are cut to a range, targets and means lie in [0, 1].

| code | mean of (y - lo)/(hi - lo) at a margin t |
|---|---|
| LOGISTIC | 1 / (1 + e^-t) |
| EXPONENTIAL | min(setting · e^t, 1), a count that starts at 0 and ends at 1/setting |
| PLACE | (t + 1)/2, a number whose place between its bounds is in [-1, 1] |
| TABLE | linear between entries at equally spaced margins of the range |
"""

from typing import NamedTuple

import numpy as np

from discreet.numerics.arrays import Array

__all__ = ["EXPONENTIAL", "FARTHEST", "LOGISTIC", "PLACE", "TABLE", "ScoreBranch"]

LOGISTIC, EXPONENTIAL, PLACE, TABLE = 0, 1, 2, 3
FARTHEST = 40.0  # e^40 is a double like any other, and 1/(1 + e^-40) is 1
NO_MEANS = np.zeros(2)


class ScoreBranch(NamedTuple):
    """The code of a mean function, the margins that it is cut to, and the number or the table of its formula."""

    code: int
    low: float = -FARTHEST
    high: float = FARTHEST
    setting: float = 1.0
    table: Array = NO_MEANS
