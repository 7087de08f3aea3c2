"""Rounding against the spender: the numbers a person typed as exact rationals, and costs that are never too small.

Every certificate goes through `outward` (a Rényi divergence) or `outward_delta` (a profile), and everything that is
calibrated is calibrated to the function that charges it: both see the same rounded number. The formulas in front of
them lose no digits by subtraction; `MARGIN` is several times their error against high-precision arithmetic.
"""

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import reduce

__all__ = [
    "MARGIN",
    "QUANTUM",
    "SMALLEST_DELTA",
    "SMALLEST_REQUEST",
    "ULPS",
    "amount_of",
    "charged",
    "decimal",
    "outward",
    "outward_delta",
    "rational",
    "root_up",
    "round_up",
    "share_down",
    "typed_root_up",
    "typed_up",
]

LARGEST = 2**1000

QUANTUM = Decimal("1e-18")  # computed amounts of a ledger are multiples of it
WRITTEN_DIGITS, WRITTEN_DECIMALS = 24, 30  # of amounts that stay as they are: up to 10^7 times a double, as written
SMALLEST_REQUEST = Decimal("1e-12")
EXACT = Context(prec=400)

MARGIN = 2.0**-44  # 5.7e-14 of a cost: above the error of every formula that is rounded by it
FLOOR = 2.0**-800  # a cost whose parts may have underflowed; no ledger sees numbers of this size
SMALLEST_DELTA = 5e-324  # what underflows is not nothing
ULPS = 2.0**-50  # of the terms of a sum that may cancel: above the rounding of a few operations


def outward(cost: float) -> float:
    """A computed divergence made safe for its own rounding error and underflow."""
    return cost * (1.0 + MARGIN) + FLOOR


def outward_delta(delta: float) -> float:
    """A computed delta made safe for its own rounding error and underflow."""
    return min(delta * (1.0 + MARGIN) + 2 * SMALLEST_DELTA, 1.0)


def decimal(number: float) -> Decimal:
    """The decimal a person typed: 0.1 is one tenth (mechanisms calibrate to this same rational, rounding noise up)."""
    return Decimal(repr(float(number)))


def charged(number: float, *, power: int = 1) -> Decimal:
    """What a ledger charges for a number or its square: rounded up. What it would refuse as too small stays exact."""
    amount = reduce(EXACT.multiply, [decimal(number)] * power)
    if amount < SMALLEST_REQUEST:
        return amount
    return amount_of(amount, ROUND_CEILING)


def amount_of(number: Decimal, rounding: str) -> Decimal:
    """A ledger's amount: multiples of a number that a person typed stay exact, computed ones are rounded at 1e-18."""
    _, digits, exponent = number.normalize(EXACT).as_tuple()
    if len(digits) <= WRITTEN_DIGITS and isinstance(exponent, int) and exponent >= -WRITTEN_DECIMALS:
        return number
    return number.quantize(QUANTUM, rounding=rounding, context=EXACT)


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


def typed_up(value: Fraction) -> float:
    """A double that says `value` or more when it is read as it is written: three times 0.1 is 0.3."""
    if value > LARGEST:
        return math.inf
    number = float(value)
    while rational(number) < value:
        number = math.nextafter(number, math.inf)
    return number


def typed_root_up(value: Fraction) -> float:
    """A double whose square, as it is written, is `value` or more; the next smaller one's is less."""
    if value > LARGEST:
        return math.inf
    number = math.nextafter(math.sqrt(value), 0.0)
    while rational(number) ** 2 < value:
        number = math.nextafter(number, math.inf)
    return number


def share_down(total: float, parts: int, *, power: int = 1) -> float:
    """The largest double of which `parts` add up to `total` at most, as they are written; with power 2, in squares."""
    whole = rational(total) ** power
    number = math.nextafter(total / parts ** (1.0 / power), math.inf)
    while rational(number) ** power * parts > whole:
        number = math.nextafter(number, 0.0)
    return number
