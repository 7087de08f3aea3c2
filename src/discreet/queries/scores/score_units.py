"""The whole numbers that scores are computed with: everything a sum is taken of is an integer in a double, exactly.

A feature is a multiple of 2^-14 of size at most 1, an entry of a public map a multiple of 2^-16, a coefficient one of
2^-22, a record's slope w (f - y) one of 2^-20. Maps and coefficients are cut so that every partial sum stays below
2^53: then the order of additions, the number of threads and fused multiplication change no bit.
"""

import numpy as np

from discreet.numerics.arrays import Array

__all__ = [
    "FEATURE",
    "MAP",
    "MOMENT",
    "RELEASED",
    "SLOPE",
    "WORTH",
    "mapped_sums",
    "whole_coefficients",
    "whole_map",
]

FEATURE, MAP, COEFFICIENT, SLOPE = 2.0**14, 2.0**16, 2.0**22, 2.0**20
MOMENT = 2.0**14  # of a coordinate of a vector whose second moments are summed
RELEASED = 2**20  # of a released score
WORTH = {  # of a whole step of what is released, by name
    "count": 1.0,
    "levels": 1.0,
    "sums": 1.0 / FEATURE,
    "squares": 1.0 / FEATURE,
    "curvature": MOMENT**-2,
    "products": MOMENT**-2,
    "scores": 1.0 / RELEASED,
}
SHIFT = 14 + 16 + 20 - 20  # bits between a sum of mapped records and a released score
WIDEST = 2.0**38  # of a row of a map, or of all coefficients: times a feature, below 2^53
LIMB = 16  # bits: a map times a limb of a sum is a 64-bit number


def whole_map(public: Array) -> Array:
    """A map in steps of 2^-16, as integers in doubles; whatever it is, its rows are not too long."""
    return _cut(public * MAP, public.shape[1])


def whole_coefficients(whole: Array, point: Array) -> Array:
    """The coefficients W'v of (1, x) in steps of 2^-22, from a map in whole steps."""
    return _cut((whole / MAP).T @ point * COEFFICIENT, whole.shape[1])


def mapped_sums(whole: Array, sums: "np.ndarray[tuple[int], np.dtype[np.object_]]") -> list[int]:
    """W times sums of any size, in released steps of a score: exact until it is rounded to the nearest, once.

    Sums are cut into limbs of 16 bits, each of which W maps in 64 bits.
    """
    matrix = whole.astype(np.int64)
    limbs = max(1, max(int(abs(total)).bit_length() for total in sums) // LIMB + 1)
    found = np.zeros(len(matrix), dtype=object)
    for k in range(limbs):
        rest = sums >> (LIMB * k)
        limb = rest if k == limbs - 1 else rest & (2**LIMB - 1)
        found += (matrix @ limb.astype(np.int64)).astype(object) << (LIMB * k)
    return [(int(total) + (1 << (SHIFT - 1))) >> SHIFT for total in found]


def _cut(steps: Array, width: int) -> Array:
    """Whole steps, each small enough for a row of them; what is no number is 0."""
    most = np.floor(WIDEST / width)
    return np.asarray(np.clip(np.rint(np.nan_to_num(steps)), -most, most))
