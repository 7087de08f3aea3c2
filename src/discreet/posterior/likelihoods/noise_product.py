"""What several noises say of one count together: their laws multiply, each about its own released number.

As a function of the exact count k the product of Gaussian weights is one Gaussian weight, about the mean of the
released numbers by their precision. Laplace weights have a corner at each released number and stay a product.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from discreet.noise import DiscreteGaussian, NoiseLaw
from discreet.numerics.arrays import Array

__all__ = ["NoiseProduct", "multiplied"]


@dataclass(frozen=True, eq=False)
class NoiseProduct:
    """The product of several laws, as a function of (reference - count), up to a factor that no count changes.

    `offsets` are the released numbers minus the reference, one array for each law.
    """

    laws: tuple[NoiseLaw, ...]
    offsets: tuple[Array, ...] = field(repr=False)
    gaussian: ClassVar[bool] = False

    def log_density(self, x: ArrayLike) -> Array:
        """The sum of the laws' log-densities; the axes of the offsets come first in x."""
        gaps = np.asarray(x, dtype=float)
        total = np.zeros(gaps.shape)
        for law, offset in zip(self.laws, self.offsets, strict=True):
            total = total + law.log_density(gaps + offset.reshape(offset.shape + (1,) * (gaps.ndim - offset.ndim)))
        return total

    def reach(self, log_ratio: float) -> float:
        """How far from the reference the product has surely fallen by e^{-log_ratio} from its peak.

        At the reference it is at most `started` below its peak; far out any one law alone falls by that and more.
        """
        farthest = [float(np.max(np.abs(offset), initial=0.0)) for offset in self.offsets]
        started = sum(float(law.fall(far)) for law, far in zip(self.laws, farthest, strict=True))
        reaches = zip(self.laws, farthest, strict=True)
        return min(law.reach(log_ratio + started) + far for law, far in reaches)

    @property
    def variance(self) -> float:
        """Nearly: precisions add."""
        return 1.0 / sum(1.0 / law.variance for law in self.laws)

    @property
    def width(self) -> float:
        """The unit in which distances count: that of the narrowest law."""
        return min(law.width for law in self.laws)


def multiplied(released: Sequence[Any], laws: Sequence[Any]) -> tuple[Any, Any]:
    """One released array and the law of its noise that say of the exact numbers what all of them say together."""
    numbers = [np.asarray(array) for array in released]
    if len(laws) == 1:
        return numbers[0], laws[0]
    precisions = [1.0 / law.variance if not law.gaussian else 1.0 / law.width**2 for law in laws]
    first = numbers[0].astype(object)
    moved = [np.asarray(array.astype(object) - first, dtype=float) for array in numbers]  # digits of large sums stay
    middle = sum(p * move for p, move in zip(precisions, moved, strict=True)) / sum(precisions)
    if all(law.gaussian for law in laws):
        reference = np.asarray(first.astype(float) + middle)
        return reference, DiscreteGaussian(float(np.sqrt(1.0 / sum(precisions))))
    whole = np.round(middle)
    kept = np.asarray(first + np.vectorize(int, otypes=[object])(whole)) if whole.size else first
    offsets = tuple(np.asarray(move - whole) for move in moved)
    return kept, NoiseProduct(tuple(laws), offsets)
