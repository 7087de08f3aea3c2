"""What arrays hold: the names that annotations use."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Integers", "Mask"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
