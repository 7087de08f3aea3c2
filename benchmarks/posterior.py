"""Exact noise-aware posteriors: independent draws against record-wise augmentation and a plain Dirichlet sampler.

Augmentation imagines the 100,000 records: a sweep proposes every record afresh and accepts it by the noise density of
the release, then draws the probabilities given the records. It gets the same release as the exact posterior and every
advantage: warm-up and compilation are not timed, and the level with the median effective sample size counts, not the
worst one. Target: at least 1,000 times its effective samples per second. For information, the same against
`network_chains` on a single node: this library's own augmentation, which for so few levels moves counts of records.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import dirichlet

import discreet as dc
from benchmarks.statistics import verdict
from discreet.inference.diagnostics import bulk_ess
from discreet.inference.network.network_chains import WARM_UP, network_chains
from discreet.inference.network.network_problem import NetworkProblem
from discreet.noise import DiscreteLaplace
from discreet.posterior import Posterior
from discreet.schema.row_counts import KnownSize

LEVELS, RECORDS, DRAWS, ONES = 30, 100_000, 10_000, 31_200
SWEEPS, WARM_SWEEPS = 300, 50
LEAST_RATIO = 1000


def run() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(RECORDS, rng.dirichlet(np.ones(LEVELS)))
    released = counts + rng.integers(-40, 41, LEVELS)
    mechanism = dc.NoisyStatistics(epsilon=0.1)
    model = dc.DirichletCategorical("x")
    query = model.query(dc.Schema({"x": dc.Categorical(range(LEVELS))}, n=RECORDS))
    law = mechanism.laws(query)["counts"]
    assert isinstance(law, DiscreteLaplace)

    def posterior() -> Any:
        return model.posterior(query, {"counts": released}, {"counts": law})

    posterior().sample(10, rng)  # compile the kernel
    exact, draws = seconds(lambda: posterior().sample(DRAWS, rng))
    plain, _ = seconds(lambda: dirichlet(counts + 1.0).rvs(DRAWS, random_state=rng))
    print(f"{DRAWS} exact draws, {LEVELS} levels, n = {RECORDS}: {exact:.2f} s (target: seconds)  {verdict(exact < 5)}")
    print(f"scipy's Dirichlet, which knows no noise: {plain:.3f} s; ratio {exact / plain:.0f}x for {draws.shape}")
    print(f"all {LEVELS} exact 90% intervals: {seconds(lambda: posterior().interval(0.9))[0]:.2f} s")
    one_interval()

    print(f"effective samples per second, n = {RECORDS:,}, epsilon = 0.1")
    compare(f"Dirichlet, {LEVELS} levels", posterior, released, law, rng)
    beta = dc.BetaBernoulli("x")
    ones = beta.query(dc.Schema({"x": dc.Binary()}, n=RECORDS))
    single = mechanism.laws(ones)["ones"]
    assert isinstance(single, DiscreteLaplace)
    # one noisy count of a known total, said twice with twice the scale, is the same release
    both, doubled = np.array([RECORDS - ONES, ONES]), DiscreteLaplace(2.0 * single.scale)
    compare("Beta", lambda: beta.posterior(ones, {"ones": ONES}, {"ones": single}), both, doubled, rng)


def one_interval() -> None:
    beta = dc.BetaBernoulli("x")
    query = beta.query(dc.Schema({"x": dc.Binary()}, n=1000))
    laws = dc.NoisyStatistics(epsilon=0.1).laws(query)
    taken, _ = seconds(lambda: [beta.posterior(query, {"ones": 312}, laws).interval(0.9) for _ in range(200)])
    print(f"one Beta-Bernoulli posterior with its interval, n = 1000: {taken * 5:.2f} ms")


def compare(
    name: str, posterior: Callable[[], Posterior], released: Any, law: DiscreteLaplace, rng: np.random.Generator
) -> None:
    """Print what each sampler makes in a second, and whether the exact one makes enough more."""
    posterior().sample(10, rng)
    taken, _ = seconds(lambda: posterior().sample(DRAWS, rng))
    ours = DRAWS / taken
    problem = ({"x": 1.0}, {"x": ()}, {"x": released}, {"x": law}, KnownSize(RECORDS))
    records = record_sweeps(NetworkProblem.build(*problem), rng)
    counts = network_rate(problem, rng)
    print(f"  {name}")
    print(f"    exact, independent draws {ours:12,.0f}")
    print(f"    records, one by one      {records:12,.1f}")
    ratio = ours / records
    print(f"    ratio                    {ratio:12,.0f}   target >= {LEAST_RATIO}   {verdict(ratio >= LEAST_RATIO)}")
    print(f"    network_chains           {counts:12,.1f}")
    print(f"    ratio                    {ours / counts:12,.0f}   for information: it moves many records at once")


def record_sweeps(problem: NetworkProblem, rng: np.random.Generator) -> float:
    """Effective samples per second of sweeps that propose every record once."""
    from discreet.inference.network.kernels.network_layout import draw_rows
    from discreet.inference.network.kernels.network_records import RecordsState, fill, replace

    cells = problem.alpha.size
    records, tables = np.empty(RECORDS, dtype=np.int64), np.zeros(cells, dtype=np.int64)
    state = RecordsState(np.array([RECORDS]), records, tables, problem.crude_theta())
    fill(state, problem.graph, rng)

    def sweeps(count: int) -> Any:
        draws = np.empty((1, count, cells))
        for sweep in range(count):
            replace(state, problem.graph, problem.released, 1.0, RECORDS, rng)
            draw_rows(problem.alpha, state.tables, problem.graph, rng, state.theta)
            draws[0, sweep] = state.theta
        return draws

    sweeps(WARM_SWEEPS)
    taken, draws = seconds(lambda: sweeps(SWEEPS))
    return float(np.median(bulk_ess(draws))) / taken


def network_rate(problem: Any, rng: np.random.Generator) -> float:
    """Effective samples per second of this library's chains; their warm-up is taken out in proportion."""
    network_chains(*problem, rng, draws=4, chains=1)
    taken, found = seconds(lambda: network_chains(*problem, rng, draws=1000, chains=2))
    return float(np.median(bulk_ess(found["x"]))) / (taken * 1000 / (1000 + WARM_UP))


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result
