"""Deterministic replay: the same test randomness on D and D', so that all that differs is what the rows did.

With the noise held fixed a noisy statistic moves by exactly the difference of the exact statistics: a sensitivity
declared too small, or a bad cell that changes another row, shows at once and without statistics.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.mechanisms import Mechanism
from discreet.noise.sources import SeededNoise
from discreet.queries.statistics import Statistics
from discreet.sources import Dataset

__all__ = ["distance", "replay"]


def replay(
    mechanism: Mechanism, query: Statistics, dataset: Dataset, neighbour: Dataset, *, seed: int = 0
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The released values on both tables from the same stream of test noise."""
    return (
        mechanism.apply(SeededNoise(seed), query, dataset),
        mechanism.apply(SeededNoise(seed), query, neighbour),
    )


def distance(query: Statistics, value: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
    """L1 and squared L2 distance of two values, every statistic in its own unit, in exact rationals."""
    moves = [
        Fraction(int(a) - int(b), statistic.unit)
        for statistic in query.statistics
        for a, b in zip(_listed(value[statistic.name]), _listed(other[statistic.name]), strict=True)
    ]
    return sum(map(abs, moves), Fraction(0)), sum((move**2 for move in moves), Fraction(0))


def _listed(values: Any) -> list[Any]:
    return list(np.ravel(values).tolist())
