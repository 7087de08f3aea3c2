"""Deterministic replay: the same test randomness on D and D', so that all that differs is what the rows did.

With the noise held fixed a noisy statistic moves by exactly the difference of the exact statistics: a sensitivity
declared too small, or a bad cell that changes another row, shows at once and without statistics.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.mechanisms import Mechanism
from discreet.query import Statistics
from discreet.randomness import SeededNoise
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


def distance(value: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[int, int]:
    """L1 and squared L2 distance of two released values, in exact integers."""
    pairs = [
        (int(a), int(b))
        for name in value
        for a, b in zip(np.ravel(value[name]).tolist(), np.ravel(other[name]).tolist(), strict=True)
    ]
    return sum(abs(a - b) for a, b in pairs), sum((a - b) ** 2 for a, b in pairs)
