"""Do 90% intervals cover 90%? Parameters from the prior, rows from the model, noise from the mechanism.

`make test` runs 500 simulations in 2 of 6 cells: a correct posterior fails a cell with probability 3e-5 (4.2 standard
errors), one whose intervals cover 84% with probability 0.57, 82% with 0.91, 80% with 0.99; the plug-in posterior, the
planted error, is far outside. `make audit` runs 20,000 in every cell and requires 90% ± 1.5%.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

import discreet as dc

BINARY = dc.Schema({"x": dc.Binary()})
TWO_COUNTS = dc.Schema({"x": dc.Categorical(["no", "yes"])})
CELLS = [(epsilon, n) for epsilon in (0.1, 1.0) for n in (10, 100, 1000)]


def coverage(model, schema: dc.Schema, mechanism, n: int, runs: int, kind: str, seed: int = 20) -> float:
    hits = []
    for release in dc.simulate(model, None, mechanism, runs=runs, seed=seed, n=n, schema=schema):
        low, high = release.posterior(kind).interval(0.9)  # type: ignore[arg-type]
        assert release.truth is not None
        truth = np.atleast_1d(next(iter(release.truth.values())))[-1]
        hits.append(np.atleast_1d(low)[-1] <= truth <= np.atleast_1d(high)[-1])
    return float(np.mean(hits))


def report(epsilon: float, n: int, runs: int) -> float:
    one = dc.BetaBernoulli("x")
    two = dc.DirichletCategorical("x")
    mechanism = dc.NoisyStatistics(epsilon=epsilon)
    aware = coverage(one, BINARY, mechanism, n, runs, "noise-aware")
    plug_in = coverage(one, BINARY, mechanism, n, runs, "plug-in")
    foulds = coverage(two, TWO_COUNTS, mechanism, n, runs, "plug-in")
    print(
        f"epsilon {epsilon:<4} n {n:<5} noise-aware {aware:.3f}  "
        f"plug-in {plug_in:.3f}  plug-in of two counts {foulds:.3f}"
    )
    return aware


@pytest.mark.parametrize(("epsilon", "n"), [(0.1, 100), (1.0, 10)])
def test_noise_aware_intervals_cover(epsilon: float, n: int) -> None:
    runs = 500
    assert abs(
        coverage(dc.BetaBernoulli("x"), BINARY, dc.NoisyStatistics(epsilon=epsilon), n, runs, "noise-aware") - 0.9
    ) < (4.2 * math.sqrt(0.09 / runs))


def test_the_plug_in_posterior_is_caught_and_matches_the_notes() -> None:
    """beyond.md §4: two counts, epsilon = .1, n = 100 cover .314 (continuous noise), one count .452; 4 errors of 500."""
    mechanism = dc.NoisyStatistics(epsilon=0.1)
    assert coverage(dc.BetaBernoulli("x"), BINARY, mechanism, 100, 500, "plug-in") == pytest.approx(0.452, abs=0.09)
    two = coverage(dc.DirichletCategorical("x"), TWO_COUNTS, mechanism, 100, 500, "plug-in")
    assert two == pytest.approx(0.314, abs=0.09)


@pytest.mark.audit
@pytest.mark.parametrize(("epsilon", "n"), CELLS)
def test_audit_coverage(epsilon: float, n: int, evidence: Callable[[Callable[[], float]], float]) -> None:
    assert abs(evidence(lambda: report(epsilon, n, 20_000)) - 0.9) < 0.015
