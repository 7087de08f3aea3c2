"""Draws from truncated Betas and Dirichlets, against numpy's draws from the same laws without truncation.

Both run in the same process, in turns. Targets: at most 3 times as long for a Beta, 10 times for a Dirichlet.
"""

import time
from collections.abc import Callable

import numpy as np

from discreet.mechanisms.draws.truncated_probabilities import truncated_beta_draws, truncated_dirichlet

RUNS = 3
BETAS = 1_000_000
DIRICHLETS = 100_000
LARGEST_BETA_RATIO = 3.0
LARGEST_DIRICHLET_RATIO = 10.0

BETA_LAWS = [
    (31.0, 71.0, 0.2, 0.8),
    (3.2, 6.0, 0.2, 0.8),
    (3.2, 6.0, 0.6, 0.8),
    (1.0, 1e9, 0.1, 0.9),
    (5e8, 5e8, 0.1, 0.9),
    (3e8, 7e8, 0.1, 0.9),
    (3e8, 7e8, 0.4, 0.9),
]
DIRICHLET_LAWS = {
    "alpha = 1": np.ones(30),
    "alpha = 1 to 30": np.arange(1.0, 31.0),
    "alpha = 1,000 to 30,000": 1000 * np.arange(1.0, 31.0),
    "15 empty cells, 15 with thousands": np.append(np.ones(15), 1000 * np.arange(1.0, 16.0)),
    "20 empty cells, 10 with 1e8": np.append(np.ones(20), np.full(10, 1e8)),
    "alpha = 2": np.full(30, 2.0),
    "alpha = 1.5": np.full(30, 1.5),
    "alpha = 0.5": np.full(30, 0.5),
}
LOWER = 1 / 300


def run() -> None:
    rng = np.random.default_rng(1)
    print(f"{BETAS:,} draws from a Beta cut to an interval; best of {RUNS}")
    for a, b, lo, hi in BETA_LAWS:
        ours, plain = race(
            lambda a=a, b=b, lo=lo, hi=hi: truncated_beta_draws(a, b, lo, hi, BETAS, rng),
            lambda a=a, b=b: rng.beta(a, b, BETAS),
        )
        report(f"Beta({a:g}, {b:g}) on [{lo:g}, {hi:g}]", BETAS, ours, plain, LARGEST_BETA_RATIO)
    print(f"{DIRICHLETS:,} draws from a Dirichlet of 30 cells, each at least 1/300")
    for name, alpha in DIRICHLET_LAWS.items():
        ours, plain = race(
            lambda alpha=alpha: truncated_dirichlet(alpha, LOWER, DIRICHLETS, rng),
            lambda alpha=alpha: rng.dirichlet(alpha, DIRICHLETS),
        )
        report(name, DIRICHLETS, ours, plain, LARGEST_DIRICHLET_RATIO)


def race(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """Best times of the two, run in turns."""
    times = [(seconds(first), seconds(second)) for _ in range(RUNS)]
    return min(time for time, _ in times), min(time for _, time in times)


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def report(name: str, draws: int, ours: float, plain: float, target: float) -> None:
    ratio = ours / plain
    verdict = "met" if ratio <= target else "LOST"
    print(f"  {name:36} {draws / ours / 1e6:7.2f} M/s   {ratio:6.2f}x of numpy   target <= {target:g}x   {verdict}")


if __name__ == "__main__":
    run()
