"""From a requested guarantee to the parameter of a mechanism, and the guarantee that parameter then carries.

Every mechanism that can be calibrated without a table has such a function, its `calibrate`; the command line reads its
options from the signature. Every search is monotone and returns its safe end: more noise, a hotter posterior, a smaller
scale. Where no value exists the error says why.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any

from discreet.errors import GuaranteeError
from discreet.guarantee import Guarantee

__all__ = ["Argument", "Calibration", "Delta", "Epsilon", "Order", "Records", "Shares"]


@dataclass(frozen=True)
class Argument:
    """What the command line says of an argument, and the range of a whole number."""

    help: str
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Calibration:
    """One parameter by name, the guarantee it carries, and whether a proof stands behind it.

    `proved` is False only for a printed bound of the literature outside its proved range.
    """

    name: str
    value: float
    guarantee: Guarantee
    proved: bool = True

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise GuaranteeError(f"calibrate.{self.name} must be a finite number, got {self.value!r}: ask for less")

    def to_json(self) -> dict[str, Any]:
        """Plain data: the parameter under its own name."""
        return {self.name: self.value, "guarantee": self.guarantee.to_json(), "proved": self.proved}


Epsilon = Annotated[float, Argument("Requested epsilon.")]
Delta = Annotated[float | None, Argument("Requested delta.")]
Order = Annotated[float | None, Argument("Rényi order at which epsilon is meant.")]
Shares = Annotated[tuple[float, ...], Argument("Beta or Dirichlet prior, comma-separated: 6,12.")]
Records = Annotated[int, Argument("Public number of records.", 0, 2**48)]
