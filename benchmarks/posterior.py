"""Exact noise-aware posteriors: independent draws against scipy's plain Dirichlet sampler, and one interval."""

import time

import numpy as np
from scipy.stats import dirichlet

import discreet as dc

LEVELS, RECORDS, DRAWS = 30, 100_000, 10_000


def run() -> None:
    rng = np.random.default_rng(0)
    counts = rng.multinomial(RECORDS, rng.dirichlet(np.ones(LEVELS)))
    schema = dc.Schema({"x": dc.Categorical(range(LEVELS))}, n=RECORDS)
    model, mechanism = dc.DirichletCategorical("x"), dc.NoisyStatistics(epsilon=0.1)
    query = model.query(schema)
    released = {"counts": counts + rng.integers(-40, 41, LEVELS)}
    model.posterior(query, released, mechanism.laws(query)).sample(10, rng)  # compile the kernel

    start = time.perf_counter()
    posterior = model.posterior(query, released, mechanism.laws(query))
    draws = posterior.sample(DRAWS, rng)
    exact = time.perf_counter() - start
    start = time.perf_counter()
    dirichlet(counts + 1.0).rvs(DRAWS, random_state=rng)
    plain = time.perf_counter() - start
    print(
        f"{DRAWS} exact draws, {LEVELS} levels, n = {RECORDS}: {exact:.2f} s (target: seconds)",
        "ok" if exact < 5 else "LOST",
    )
    print(f"scipy's Dirichlet, which knows no noise: {plain:.3f} s; ratio {exact / plain:.0f}x for {draws.shape}")

    start = time.perf_counter()
    posterior.interval(0.9)
    print(f"all {LEVELS} exact 90% intervals: {time.perf_counter() - start:.2f} s")
    beta = dc.BetaBernoulli("x")
    one = beta.query(dc.Schema({"x": dc.Binary()}, n=1000))
    start = time.perf_counter()
    for _ in range(200):
        beta.posterior(one, {"ones": 312}, dc.NoisyStatistics(epsilon=0.1).laws(one)).interval(0.9)
    print(f"one Beta-Bernoulli posterior with its interval, n = 1000: {(time.perf_counter() - start) * 5:.2f} ms")
