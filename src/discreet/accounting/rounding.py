"""Rounding against the spender, in exact rationals: the number a person typed, and doubles that are never too small."""

import math
from fractions import Fraction

__all__ = ["rational", "root_up", "round_up"]

LARGEST = 2**1000


def rational(number: float) -> Fraction:
    """The rational a person typed, the same one the ledger charges: 0.1 is one tenth."""
    return Fraction(repr(float(number)))


def round_up(value: Fraction) -> float:
    """The smallest double at or above `value`: more noise, never less."""
    if value > LARGEST:
        return math.inf
    number = float(value)
    return number if Fraction(number) >= value else math.nextafter(number, math.inf)


def root_up(value: Fraction) -> float:
    """A double whose square is at or above `value`."""
    if value > LARGEST:
        return math.inf
    number = math.sqrt(value)
    while Fraction(number) ** 2 < value:
        number = math.nextafter(number, math.inf)
    return number
