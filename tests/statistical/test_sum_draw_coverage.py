"""Do 90% intervals from one private draw of a mean or a rate cover 90%?

`make test` pools simulations of every mechanism at n = 50 and at n = 1,000: 10 each for a mean, 5 each for a rate. A
correct interval fails for one model with probability 3e-5 (4.2 standard errors). Power: intervals that cover 60% are
seen with probability 0.99 for the mean and 0.93 for the rate, those that cover 70% with 0.75 and 0.55.
`make audit` runs 5,000 in each cell, prints the coverage and requires 90% ± 2%.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

import discreet as dc
from discreet.mechanisms import PosteriorSample
from thinned import thinned

SCHEMA = dc.Schema({"visits": dc.Count(6), "wait": dc.Bounded(0, 4), "age": dc.Bounded(0, 100)})
# Priors under which some records sit on a bound, so that a forgotten clamp shows.
MODELS = {
    "GammaExponential": dc.GammaExponential("wait", prior=(4.0, 4.0)),
    "GammaPoisson": dc.GammaPoisson("visits", prior=(6.0, 2.0)),
    "NormalMean": dc.NormalMean("age", sd=20.0, prior=(70.0, 20.0)),
    "StatisticalQuery": dc.StatisticalQuery("age", prior=(2.0, 3.0)),
}
SPACES = {"GammaExponential": (0.2, 3.0), "GammaPoisson": (0.5, 8.0), "NormalMean": (20.0, 100.0)}


def mechanisms(name: str) -> dict[str, object]:
    found: dict[str, object] = {
        "direct": dc.DirectSample(),
        "diffused": dc.DiffusedSample(epsilon=1.0, delta=1e-5),
        "concentrated": dc.ConcentratedSample(epsilon=1.0, delta=1e-5),
    }
    if name in SPACES:
        found["one posterior sample"] = PosteriorSample(epsilon=1.0, interval=SPACES[name])
    return found


CELLS = [(name, kind) for name in sorted(MODELS) for kind in mechanisms(name)]


def hits(name: str, kind: str, n: int, runs: int, seed: int, narrower: float = 1.0) -> list[bool]:
    """Whether the interval held the truth, run by run; a planted error makes it narrower."""
    found = []
    for run in dc.simulate(MODELS[name], None, mechanisms(name)[kind], runs=runs, seed=seed, n=n, schema=SCHEMA):
        query, mechanism = run.query, run.mechanism
        draws = run.value[query.family.parameter]
        posterior = run.model.known_from(query, lambda s, m=mechanism, q=query, d=draws: m.log_law(q, d, s))
        low, high = posterior.interval(0.9)
        truth, middle, half = next(iter(run.truth.values())), 0.5 * (low + high), 0.5 * (high - low)
        found.append(abs(truth - middle) <= narrower * half)
    return found


def assert_covers(inside: list[bool]) -> None:
    assert abs(np.mean(inside) - 0.9) < 4.2 * math.sqrt(0.09 / len(inside))


@pytest.mark.parametrize("name", thinned(sorted(MODELS), ("GammaPoisson", "StatisticalQuery").__contains__))
def test_intervals_given_one_draw_cover(name: str) -> None:
    kinds = mechanisms(name)
    runs = 10 if name == "StatisticalQuery" else 5
    inside = [hit for kind in kinds for n in (50, 1000) for hit in hits(name, kind, n, runs, seed=11)]
    assert_covers(inside)


def test_intervals_that_are_too_narrow_are_caught() -> None:
    """Two thirds of the width cover 72%; found in 180 with probability 0.99."""
    inside = [
        hit for kind in mechanisms("StatisticalQuery") for hit in hits("StatisticalQuery", kind, 50, 60, 12, 2 / 3)
    ]
    with pytest.raises(AssertionError):
        assert_covers(inside)


@pytest.mark.audit
@pytest.mark.parametrize(("name", "kind"), CELLS)
@pytest.mark.parametrize("n", [50, 1000])
def test_audit_coverage_given_one_draw(
    name: str, kind: str, n: int, evidence: Callable[[Callable[[], float]], float]
) -> None:
    coverage = evidence(lambda: float(np.mean(hits(name, kind, n, 5000, seed=13))))
    print(f"{name} {kind} n {n}: {coverage:.3f}")
    assert abs(coverage - 0.9) < 0.02
