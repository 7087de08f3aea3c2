"""Every default posterior at a million rows, regressions against NumPyro's NUTS on the same target.

Targets: no default posterior of the registry above 5 s at n = 10^6, epsilon = 1 (epsilon = .01 where n is private), the
regression of two numbers and a three-level category at n = 2,000 and that of ten features at n = 10^7 under 2 s, and at
least 10 times the effective draws per second of NUTS (in an environment of its own). Compiling is timed apart, on both
sides: kernels are cached on disk, so the first call of a process shows it only where nothing is cached yet.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import discreet as dc
from benchmarks.peers import environment
from benchmarks.statistics import verdict
from discreet.inference.diagnostics import bulk_ess, split_rhat
from discreet.inference.gaussian import moment_chains
from discreet.models import MODELS
from discreet.models.loss_model import LossModel
from discreet.noise.sources import SeededNoise
from discreet.pipeline import query_of
from discreet.queries.statistics import Statistics
from discreet.release import recipe_of
from discreet.sources import CodedRows, Dataset

LARGEST, LARGEST_REGRESSION, LEAST_RATIO = 5.0, 2.0, 10.0
ROWS = 1_000_000
LIMIT = 900.0  # seconds within which NUTS must end, compiling and both of its runs
SHORT, LONG = (300, 200), (500, 1000)  # warm-up and draws of each of its four chains
PEER, PACKAGES = Path(__file__).with_name("numpyro_fit.py"), ("numpyro",)
COLUMNS = {
    "smoker": dc.Binary(),
    "flu": dc.Binary(),
    "ward": dc.Categorical(["A", "B", "C"]),
    "month": dc.Categorical([f"{k:02d}" for k in range(1, 13)]),
    "visits": dc.Count(6),
    "wait": dc.Bounded(0, 4),
    "age": dc.Bounded(0, 100),
    "weight": dc.Bounded(40, 120),
    **{f"x{j}": dc.Bounded(-1, 1) for j in range(11)},
}
EXAMPLES: dict[str, Any] = {
    "BadCells": dc.BadCells(("age", "ward")),
    "BayesianNetwork": dc.BayesianNetwork({"ward": (), "smoker": ("ward",), "flu": ("ward", "smoker")}),
    "BetaBernoulli": dc.BetaBernoulli("smoker"),
    "DirichletCategorical": dc.DirichletCategorical("ward"),
    "EventLogHMM": dc.EventLogHMM("ward", "month", ("smoker", "flu"), states=2),
    "GammaExponential": dc.GammaExponential("wait"),
    "GammaPoisson": dc.GammaPoisson("visits"),
    "HeldOutScores": dc.HeldOutScores("smoker", "month"),
    "LinearRegression": dc.LinearRegression("weight", ("age", "wait", "ward")),
    "MultivariateNormal": dc.MultivariateNormal(("age", "weight", "wait")),
    "NaiveBayes": dc.NaiveBayes("smoker", ("ward", "flu")),
    "Normal": dc.Normal("age"),
    "NormalMean": dc.NormalMean("age", sd=20.0),
    "StatisticalQuery": dc.StatisticalQuery("age"),
}


def run() -> None:
    """The registry, then the two regressions."""
    registered = {name for name, model in MODELS.items() if not issubclass(model, LossModel)}
    print(f"  seconds of posterior() and its 90% intervals; first call, then again; n = {ROWS:,}")
    for name in sorted(registered):
        if name not in EXAMPLES:
            print(f"  {name:<22} has no example here")
            continue
        public = timed(EXAMPLES[name], dc.Schema(COLUMNS, n=ROWS), 1.0)
        private = timed(EXAMPLES[name], dc.Schema(COLUMNS, relation="add-remove", n_max=2 * ROWS), 0.01, ROWS)
        slowest = max(public[1], private[1])
        print(
            f"  {name:<22} epsilon 1: {public[0]:6.2f}, {public[1]:6.2f}   private n, epsilon .01: {private[0]:6.2f}, "
            f"{private[1]:6.2f}   target <= {LARGEST:g}   {verdict(slowest <= LARGEST)}",
            flush=True,
        )
    groups_that_learn_from_each_other()
    ten = dc.LinearRegression("x10", tuple(f"x{j}" for j in range(10)))
    compiled_once()
    few = a_regression()
    against_nuts("two numbers and a three-level category, n = 2,000", few, LONG)
    many = of_rows(ten, dc.Schema(COLUMNS, n=10_000_000), 1.0, ordinary_rows())
    against_nuts("ten features, n = 10,000,000", many, SHORT)
    faint = released(ten, dc.Schema(COLUMNS, n=10_000_000), 1.0)  # the prior makes some columns constant but for noise
    print(f"  ten features that the prior draws: posterior() {seconds(lambda: faint.posterior()):.2f} s, no target")


def a_regression() -> dc.Release:
    """Two numbers and a three-level category, 2,000 rows."""
    return released(EXAMPLES["LinearRegression"], dc.Schema(COLUMNS, n=2_000), 1.0)


def compiled_once() -> None:
    """The first posterior of two processes one after the other, which begin with nothing that is compiled."""
    code = "from benchmarks import posteriors as p; r = p.a_regression(); print(p.seconds(lambda: r.posterior()))"
    with tempfile.TemporaryDirectory() as folder:
        own = {**os.environ, "NUMBA_CACHE_DIR": folder}
        first, second = (
            float(subprocess.check_output([sys.executable, "-c", code], env=own, text=True).splitlines()[-1])
            for _ in range(2)
        )
    print(f"  posterior() of a regression, compiling all of it: {first:.1f} s; in the next process: {second:.1f}")


def groups_that_learn_from_each_other() -> None:
    """Rates of twelve months under partial pooling, which is asked for by name."""
    rng = np.random.default_rng(0)
    months, rates = rng.integers(12, size=ROWS), rng.gamma(20.0, 0.1, size=12)
    columns = {"month": months, "visits": np.minimum(rng.poisson(rates[months]), COLUMNS["visits"].upper)}
    model = dc.GammaPoisson("visits", by="month")
    public = of_rows(model, dc.Schema(COLUMNS, n=ROWS), 1.0, columns)
    private = of_rows(model, dc.Schema(COLUMNS, relation="add-remove", n_max=2 * ROWS), 0.01, columns)
    taken = [seconds(lambda release=release: release.posterior(pooling="partial")) for release in (public, private)]
    print(f"  12 pooled groups   epsilon 1: {taken[0]:.2f}   private n, epsilon .01: {taken[1]:.2f}", end="")
    print(f"   target <= {LARGEST:g}   {verdict(max(taken) <= LARGEST)}", flush=True)


def timed(model: Any, schema: dc.Schema, epsilon: float, n: int | None = None) -> tuple[float, float]:
    """Seconds of the first posterior of this shape, with whatever is compiled, and of the next."""
    release = released(model, schema, epsilon, n)
    return seconds(lambda: release.posterior().interval(0.9)), seconds(lambda: release.posterior().interval(0.9))


def released(model: Any, schema: dc.Schema, epsilon: float, n: int | None = None) -> dc.Release:
    """A release of rows that the model simulates: of at most a million, counted several times where more are asked."""
    few = min(schema.n or n or ROWS, ROWS)
    _, columns = model.simulate(dc.Schema(schema.columns, n=few), few, np.random.default_rng(0))
    return of_rows(model, schema, epsilon, columns)


def of_rows(model: Any, schema: dc.Schema, epsilon: float, columns: dict[str, Any]) -> dc.Release:
    """A release of these rows, each as often as it takes."""
    few = len(next(iter(columns.values())))
    mechanism = dc.NoisyStatistics(epsilon=epsilon)
    query = query_of(model, mechanism, schema)
    source: Any = Repeated(CodedRows(columns), (schema.n or few) // few)
    value = mechanism.apply(SeededNoise(0), query, Dataset("bench", schema, source))
    recipe = recipe_of(model, "bench", schema, mechanism)
    return dc.Release(recipe, mechanism.guarantee(query), value, "", private=False)


def ordinary_rows() -> dict[str, Any]:
    """Ten correlated features and a target, of deviation 0.3 between bounds of -1 and 1, as grid steps."""
    rng = np.random.default_rng(0)
    own, common = rng.standard_normal((ROWS, 11)), rng.standard_normal((ROWS, 1))
    x = 0.15 + 0.3 * (0.8 * own + 0.6 * common)
    x[:, 10] = x[:, :10] @ np.linspace(-0.3, 0.4, 10) + 0.2 * own[:, 10]
    return {f"x{j}": np.rint(np.clip(x[:, j], -1, 1) / COLUMNS[f"x{j}"].step).astype(np.int64) for j in range(11)}


@dataclass(frozen=True, eq=False)
class Repeated:
    """Rows that are each there several times."""

    rows: CodedRows
    times: int

    def statistics(self, query: Statistics) -> dict[str, Any]:
        """Sums of all of them."""
        return {name: sums * self.times for name, sums in self.rows.statistics(query).items()}


def against_nuts(name: str, release: dc.Release, length: tuple[int, int]) -> None:
    """Effective draws per second of all unseen moments, ours and those of NUTS, on one target."""
    first, again = (seconds(lambda: release.posterior()) for _ in range(2))
    target, drawn, taken = unseen_draws(release)
    rows = np.tril_indices(target.numbers)
    thetas = np.concatenate([drawn["points"], drawn["covariances"][..., *rows]], axis=-1)
    ours = float(np.min(bulk_ess(thetas))) / taken
    print(f"  {name}: posterior() {again:.2f} s (first call {first:.2f})   ", end="")
    print(f"target <= {LARGEST_REGRESSION:g}   {verdict(again <= LARGEST_REGRESSION)}")
    print(f"    ours     {ours:10,.1f} effective draws a second, R-hat {np.max(split_rhat(thetas)):.3f}", flush=True)
    try:
        found = nuts(target, drawn, length)
    except subprocess.TimeoutExpired:
        print(f"    NUTS     not ready with two runs of {length[0]} + {length[1]} draws of four chains in {LIMIT:g} s")
        return
    theirs = found["ess"] / found["seconds"]
    print(f"    NUTS     {theirs:10,.1f} effective draws a second, R-hat {found['rhat']:.3f}", end="")
    print(f", {length[0]} + {length[1]} draws", end="")
    print(f" (compiling {found['compiling']:.1f} s apart; log-density differs by {found['gap']:.1e})")
    print(f"    ratio    {ours / theirs:10,.1f}   target >= {LEAST_RATIO:g}   {verdict(ours / theirs >= LEAST_RATIO)}")


def unseen_draws(release: dc.Release) -> tuple[Any, dict[str, Any], float]:
    """The target, all draws of its moments (chains, draws, …) and the seconds they took, warm-up included."""
    held: dict[str, Any] = {}

    def kept(target: Any, drawn: dict[str, Any]) -> Any:
        moments = {name: drawn[name] for name in ("points", "covariances")}
        held.update(target=target, drawn=moments, end=time.perf_counter())
        return named(target, drawn)

    named, sample = moment_chains._named, moment_chains._Chains.started
    start: list[float] = []

    def started(target: Any, rng: np.random.Generator) -> Any:
        start.append(time.perf_counter())
        return sample(target, rng)

    with patch.object(moment_chains, "_named", kept), patch.object(moment_chains._Chains, "started", started):
        release.posterior()
    return held["target"], held["drawn"], held["end"] - start[-1]


def nuts(target: Any, drawn: dict[str, Any], length: tuple[int, int]) -> dict[str, float]:
    """NumPyro's NUTS from the ends of our chains, which spares it the search for them; and our own log-density."""
    from discreet.inference.gaussian.kernels.moment_density import log_posterior

    starts = {name: np.ascontiguousarray(draws[:, -1]) for name, draws in drawn.items()}
    values = [
        log_posterior(target.released, *target.priors, x, within)
        for x, within in zip(starts["points"], starts["covariances"], strict=True)
    ]
    arrays = {**target.released._asdict(), **target.nodes._asdict(), **target.unseen._asdict()}
    if target.nodes.conjugate.any() or target.unseen.size_grid.size or target.nodes.single:
        raise NotImplementedError("the peer knows weak priors and a public number of rows")
    names = ("members", "first", "second", "value", "scale", "laplace", "low", "high", "whole", "slopes", "means")
    names += ("links", "basis", "concentration", "size")
    with tempfile.TemporaryDirectory() as folder:
        held = Path(folder) / "target.npz"
        np.savez(held, log_densities=np.array(values), **starts, **{name: arrays[name] for name in names})
        command = [environment("numpyro", PACKAGES), PEER, held, *map(str, length)]
        found = subprocess.check_output(command, text=True, timeout=LIMIT)
    return dict(json.loads(found.splitlines()[-1]))


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
