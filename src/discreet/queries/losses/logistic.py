"""The logistic loss log(1 + e^t) - y t, y in {0, 1}: minus the log-likelihood of a level whose log-odds are t."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.gibbs import LOGISTIC_OF_ONE_FEATURE
from discreet.queries.losses.base import Array, Loss, Margins

__all__ = ["Logistic"]


@dataclass(frozen=True)
class Logistic(Loss):
    """Slopes 1/(1 + e^-t) - y."""

    name: ClassVar[str] = "logistic"
    code: ClassVar[int] = 0

    @property
    def steepest(self) -> float:
        """A probability less 0 or 1."""
        return 1.0

    @property
    def curvature(self) -> float:
        """The variance of a coin."""
        return 0.25

    @property
    def apart(self) -> float:
        """The slopes of the two labels differ by 1 everywhere."""
        return 1.0

    @property
    def row_gradient(self) -> float:
        """Less than 2 L for one feature: no margin is the worst for both rows."""
        if self.features.size == 1 and not self.features.intercept:
            return LOGISTIC_OF_ONE_FEATURE * self.features.radius
        return super().row_gradient

    @property
    def means(self) -> Margins:
        """The probability of the second level."""
        from scipy.special import expit

        return Margins(expit, lambda t: 0.25 / np.cosh(np.clip(0.5 * t, -300.0, 300.0)) ** 2)

    def predicted(self, margins: Array) -> NDArray[Any]:
        """The level that is more probable on average over the draws."""
        return self._levels(self.means.mean(margins).mean(axis=0) > 0.5)
