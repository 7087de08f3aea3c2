"""Known states of synthetic event logs are found again: 18 regions, 60 months, five fields, two states.

`make audit` prints the adjusted Rand index for every budget, both cell sizes, plug-in and noise-aware posteriors, ten
logs each, and how many of ten offered states are used with and without privacy. The noise-aware chains are short here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.studies.event_log_studies import recovered, used_states
from discreet.studies.synthetic_event_log import EventLog

EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0)
SEEDS = range(10)
MEDIANS = (972, 58)


def log_of(median: int, seed: int) -> EventLog:
    return dc.synthetic_event_log(18, 60, (8, 30, 2, 2, 2), states=2, stay=0.9, median=median, seed=seed)


def test_states_are_found_at_epsilon_five() -> None:
    """One of the ten logs, plug-in; the audit has them all."""
    index, used = recovered(log_of(972, 0), 5.0, "plug-in", 0)
    assert index >= 0.9
    assert used == 2


@pytest.mark.audit
@pytest.mark.parametrize("kind", ["plug-in", "noise-aware"])
@pytest.mark.parametrize("median", MEDIANS)
def test_states_by_budget(median: int, kind: str, evidence: Callable[..., Any]) -> None:
    def measured() -> list[list[float]]:
        logs = [log_of(median, seed) for seed in SEEDS]
        return [[recovered(log, e, kind, seed)[0] for seed, log in enumerate(logs)] for e in EPSILONS]

    found = np.array(evidence(measured))
    for epsilon, row in zip(EPSILONS, found, strict=True):
        print(
            f"median {median}, {kind}, epsilon {epsilon:g}: mean adjusted Rand index {row.mean():.3f}, least {row.min():.3f}"
        )
    assert median < 972 or found[EPSILONS.index(5.0)].mean() >= 0.9


@pytest.mark.audit
@pytest.mark.parametrize("kind", ["plug-in", "noise-aware"])
@pytest.mark.parametrize("median", MEDIANS)
def test_states_used_of_ten_offered(median: int, kind: str, evidence: Callable[..., Any]) -> None:
    def measured() -> list[list[float]]:
        logs = [log_of(median, seed) for seed in SEEDS]
        exact = [used_states(log, 10) for log in logs]
        return [
            exact,
            *([recovered(log, e, kind, s, states=10)[1] for s, log in enumerate(logs)] for e in EPSILONS),
        ]

    found = evidence(measured)
    for name, row in zip(("not private", *(f"epsilon {e:g}" for e in EPSILONS)), found, strict=True):
        print(f"median {median}, ten states offered, {kind}, {name}: {np.mean(row):.1f} used on average")
    assert np.mean(found[0]) < 10
