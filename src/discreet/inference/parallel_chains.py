"""Independent chains side by side: each has a seed of its own, so that the number of threads changes nothing."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

__all__ = ["REPORTED", "Progress", "run_chains", "side_by_side"]

T = TypeVar("T")
Progress = Callable[[int], None]  # told, now and then, how many states of all chains were made since the last time

THREADS = 2
REPORTED = 50  # states between two reports of progress


def run_chains(run: Callable[[np.random.Generator], T], chains: int, rng: np.random.Generator) -> list[T]:
    """What every chain makes of a generator of its own."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, map(np.random.default_rng, rng.integers(2**63, size=(chains, 4)))))


def side_by_side(chains: Sequence[Callable[[int], T]], draws: int) -> list[T]:
    """The next so many draws of every chain that is on its way."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda chain: chain(draws), chains))
