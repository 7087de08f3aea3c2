"""Audits of released chains at their composed cost, and planted bugs that the same audits catch.

The attack is the log-likelihood ratio of a whole released path: the sum over updates of log kernel ratios, which an
attacker who knows all but one record can compute. Tables have a single record, and priors spread profiles evenly on the
logit scale of their space, so that an update is a coin that the record loads. Thresholds are chosen on one half of the
runs and judged on the other; bounds hold with 99.9%.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import discreet as dc
from discreet.auditing.attack import Remembered
from discreet.auditing.loss_bounds import epsilon_lower_bound, threshold_audit
from discreet.guarantee import BoundedRange, Repeated
from discreet.mechanisms import PrivateAnnealing, PrivateGibbs, PrivateMetropolis
from discreet.mechanisms.private_gibbs.paid_sweeps import (
    ProfileSpace,
    State,
    log_weight,
    public_start,
    tempered_sweeps,
)
from discreet.noise.sources import NoiseSource, SeededNoise, SystemNoise
from discreet.numerics.kernels.hidden_pass import collapsed_pass
from discreet.queries.counts_and_sums import Counts
from discreet.queries.families import HiddenMarkov
from discreet.queries.statistics import Statistics
from discreet.sources import CodedRows, Dataset

DELTA = 0.1
RUNS = 2_000
FIELD, HIDDEN = "x", "hidden state"

SCHEMA = dc.Schema({"r": dc.Categorical(["a", "b"]), "t": dc.Categorical(["1", "2"]), FIELD: dc.Binary()}, n=1)
FAMILY = HiddenMarkov(2, 2, 2, ((FIELD, 2),), 1.0, 0.02)
QUERY = Statistics(SCHEMA, (Counts.over(SCHEMA, FIELD, "r", "t", FIELD),), FAMILY)
OLD, NEW = (0, 0, 0), (0, 0, 1)  # region, time, level of the event
AWAY = (1, 1, 1)


def dataset(event: tuple[int, int, int]) -> Dataset:
    columns = dict(zip(("r", "t", FIELD), (np.array([code]) for code in event), strict=True))
    return Dataset("audit", SCHEMA, Remembered(CodedRows(columns)))


def counts(event: tuple[int, int, int]) -> Any:
    table = np.zeros((2, 2, 2))
    table[event] = 1.0
    return table.reshape(4, 2)


def released(mechanism: Any, event: tuple[int, int, int], noise: NoiseSource, runs: int) -> dict[str, Any]:
    values = [mechanism.apply(noise, QUERY, dataset) for dataset in [dataset(event)] * runs]
    return {name: np.stack([value[name] for value in values]) for name in values[0]}


def path_ratio(hidden: Any, theta: Any, old: Any, new: Any, heats: Any, start: Any = None) -> Any:
    """Log kernel ratios of all updates, summed: (runs, sweeps, …) against one event or the other.

    Normalisers of profiles cancel because the prior is symmetric and the levels differ; the prior of states is taken as
    even. A start that was not released is averaged over.
    """
    logs = np.log(theta) / np.asarray(heats, dtype=float)[:, None, None]
    here, there = logs[..., old[2]], logs[..., new[2]]  # (runs, sweep, state)

    def at(values: Any, states: Any) -> Any:
        return np.take_along_axis(values, states[..., None], axis=-1)[..., 0]

    def mean_exp(values: Any) -> Any:
        return np.log(np.exp(values).mean(axis=-1))

    after = at(here, hidden[:, :, old[0], old[1]]) - mean_exp(here)
    after -= at(there, hidden[:, :, new[0], new[1]]) - mean_exp(there)
    before = hidden if start is None else np.concatenate([start[:, None], hidden], axis=1)
    now = slice(1, None) if start is None else slice(None)
    follow = at(here[:, now], before[:, :-1, old[0], old[1]]) - at(there[:, now], before[:, :-1, new[0], new[1]])
    total = after.sum(axis=1) + follow.sum(axis=1)
    if start is None:
        pairs = here[:, 0, :, None] - there[:, 0, None, :]
        same = np.diagonal(pairs, axis1=1, axis2=2) if old[:2] == new[:2] else pairs.reshape(len(pairs), -1)
        total += mean_exp(same)
    return np.round(total, 9)


def certain(first: Any, second: Any) -> float:
    return threshold_audit(first, second, delta=DELTA).epsilon


def gibbs_audit(mechanism: PrivateGibbs, new: tuple[int, int, int], noise: NoiseSource, runs: int) -> float:
    heats = [mechanism.temperature(QUERY)] * mechanism.sweeps
    scores = []
    for event in (OLD, new):
        value = released(mechanism, event, noise, runs)
        scores.append(path_ratio(value[HIDDEN], value[FIELD], OLD, new, heats))
    return certain(*scores)


@pytest.mark.parametrize("new", [NEW, AWAY])
def test_gibbs_chains_stay_below_their_claim(new: tuple[int, int, int]) -> None:
    """The event changes its level, in its cell or in another; a loss of 0.4 is certain (fixed seed).

    At ten other seeds it was certain 9 times, and 6 times in another cell: the attack is alive, and no more is said.
    """
    mechanism = PrivateGibbs(epsilon_per_update=2.0, sweeps=3)
    found = gibbs_audit(mechanism, new, SeededNoise(1), RUNS)
    assert 0.4 < found <= mechanism.guarantee(QUERY).epsilon(DELTA)


def test_a_chain_charged_as_one_draw_is_caught() -> None:
    """Eight sweeps at the price of one draw, as if the last state were an exact posterior sample; ten of ten seeds."""
    mechanism = PrivateGibbs(epsilon_per_update=2.0, sweeps=8)
    found = gibbs_audit(mechanism, NEW, SeededNoise(2), RUNS)
    assert found > BoundedRange(2.0).epsilon(DELTA)


def pass_hits(heat: float, runs: int, seed: int) -> list[int]:
    """How often both cells show state 0 when the event is in the first with level 0, in the second with level 1."""
    theta, rng, hits = np.array([[0.95, 0.05], [0.05, 0.95]]), np.random.default_rng(seed), []
    for table in ([[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]):
        weights, both = np.array(table) @ np.log(theta).T / heat, 0
        for _ in range(runs):
            z = np.zeros((1, 2), dtype=np.int64)
            collapsed_pass(z, weights, 1.0, rng)
            both += int(z.sum()) == 0
        hits.append(both)
    return hits


def test_two_cells_at_the_price_of_one_are_caught() -> None:
    """Half of the updates uncharged: an event that moves touches two cells, each of range C/T, and T = C/epsilon."""
    epsilon, c, claim = 2.0, math.log(19.0), BoundedRange(2.0).epsilon(DELTA)
    assert epsilon_lower_bound(*pass_hits(c / epsilon, 20_000, 12), 20_000, delta=DELTA) > claim
    assert epsilon_lower_bound(*pass_hits(2 * c / epsilon, 20_000, 13), 20_000, delta=DELTA) <= claim


def annealing_audit(mechanism: PrivateAnnealing, noise: NoiseSource, runs: int) -> float:
    heats = mechanism.temperatures(QUERY)
    gains = np.diff(1.0 / np.array(heats), prepend=0.0)
    scores = []
    for event in (OLD, NEW):
        value = released(mechanism, event, noise, runs)
        hidden, theta = value[HIDDEN], value[FIELD]
        total = np.zeros(runs)
        for s in range(mechanism.particles):
            total += path_ratio(hidden[:, s, 1:], theta[:, s, 1:], OLD, NEW, heats, start=hidden[:, s, 0])
        states = hidden[:, :, :-1, 0, 0]
        u = np.take_along_axis(np.log(theta[:, :, :-1]), states[..., None, None], axis=3)[..., 0, :] @ np.eye(2)
        logs = np.einsum("rsjl,j->rsl", u, gains)  # log-weight by level of the event
        shares = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
        own = np.take_along_axis(shares, value["index"][:, :1, None], axis=1)[:, 0]
        scores.append(np.round(total + own[:, 0] - own[:, 1], 9))
    return certain(*scores)


def test_annealed_particles_stay_below_their_claim() -> None:
    """Two particles of two levels and one index; a loss of 0.4 is certain (fixed seed)."""
    mechanism = PrivateAnnealing(epsilons=(1.0, 2.0), particles=2)
    found = annealing_audit(mechanism, SeededNoise(4), RUNS)
    assert 0.4 < found <= mechanism.guarantee(QUERY).epsilon(DELTA)


def test_weights_released_as_they_are_are_caught() -> None:
    """Whether exact weights agree with the released states on one table is an event of probability 1 or 0."""
    mechanism, noise = PrivateAnnealing(epsilons=(0.1, 0.2), particles=2), SeededNoise(5)
    heats, hits = mechanism.temperatures(QUERY), []
    for event in (OLD, NEW):
        value = released(mechanism, event, noise, 500)
        paths = [
            [State(value[HIDDEN][run, s], value[FIELD][run, s]) for s in range(mechanism.particles)]
            for run in range(500)
        ]
        shown, expected = (
            np.array([[log_weight(counts(table), path, heats) for path in each] for each in paths])
            for table in (event, OLD)
        )
        hits.append(int((np.ptp(shown - expected, axis=1) < 1e-9).sum()))
    assert epsilon_lower_bound(*hits, 500, delta=0.0) > mechanism.guarantee(QUERY).epsilon(0.0)


def swept(
    space: ProfileSpace, table: Any, heats: list[float], noise: Any, runs: int, start: State | None = None
) -> tuple[Any, Any]:
    """Sweeps, many times, by the sampler that ships: hidden states and profiles."""
    made = [
        tempered_sweeps(space, table, heats, public_start(space, noise) if start is None else start, noise)
        for _ in range(runs)
    ]
    return np.stack([state.hidden for state in made]), np.stack([state.profiles for state in made])


def test_profiles_below_their_bound_are_caught() -> None:
    """Profiles as small as 5e-7 at the temperature of the bound 0.05 show more than the updates of four sweeps may.

    Found at ten of ten other seeds with these runs, at six with a third of them.
    """
    epsilon = 1.0
    heat = ProfileSpace.truncated(FAMILY, 0.1, 2.0**-32).log_range / epsilon
    loose, heats = ProfileSpace.truncated(FAMILY, 1e-6, 2.0**-32), [heat] * 4
    rng = np.random.default_rng(6)
    scores = [path_ratio(*swept(loose, counts(event), heats, rng, 3 * RUNS), OLD, NEW, heats) for event in (OLD, NEW)]
    assert certain(*scores) > Repeated(BoundedRange(epsilon), 8).epsilon(DELTA)


def test_a_start_that_looks_at_the_data_is_caught() -> None:
    """The start is state 1 if any of 40 events has the level 1, else state 0: profiles of one sweep tell which."""
    epsilon = 0.5
    space = ProfileSpace.truncated(FAMILY, 0.1, 2.0**-32)
    heat, rng, scores = space.log_range / epsilon, np.random.default_rng(7), []
    for ones in (0, 1):
        table = np.zeros((4, 2))
        table[0] = 40 - ones, ones
        start = State(np.full((2, 2), ones, dtype=np.int64), np.full((2, 2), 0.5))
        _, theta = swept(space, table, [heat], rng, RUNS, start)
        scores.append(np.round(np.log(theta[:, 0, 0, 0]) - np.log(theta[:, 0, 1, 0]), 9))
    assert certain(*scores) > Repeated(BoundedRange(epsilon), 2).epsilon(0.0)


def test_amplification_by_a_visible_random_scan_is_caught() -> None:
    """One of two cells is updated, the released index says which: more is certain than amplification claims."""
    epsilon, runs = 2.0, 20_000
    a0 = 0.05
    heat = 2 * math.log((1 - a0) / a0) / epsilon
    theta = np.array([[1 - a0, a0], [a0, 1 - a0]])
    rng, hits = np.random.default_rng(8), []
    for table in ((3.0, 0.0), (2.0, 1.0)):
        weights = [np.array([events]) @ np.log(theta).T / heat for events in (table, (1.0, 1.0))]
        rare = 0
        for _ in range(runs):
            z, index = np.zeros((1, 1), dtype=np.int64), int(rng.integers(0, 2))
            collapsed_pass(z, weights[index], 1.0, rng)
            rare += index == 0 and int(z[0, 0]) == 1
        hits.append(rare)
    found = epsilon_lower_bound(*hits, runs)
    assert math.log1p(0.5 * math.expm1(epsilon)) < found <= epsilon


SCALE = 2.0
BERNOULLI = dc.BetaBernoulli("y", prior=(1.0, 1.0))
COINS = dc.Schema({"y": dc.Binary()}, n=1)
THREE = np.array([0.25, 0.5, 0.75])


def proposals(points: int) -> Any:
    """The law of a folded step of the walk."""
    steps = np.arange(-20 * points, 20 * points + 1)
    spread = SCALE * (points - 1)
    chance = norm.cdf((steps + 0.5) / spread) - norm.cdf((steps - 0.5) / spread)
    matrix = np.zeros((points, points))
    for i in range(points):
        inside = np.mod(i + steps, 2 * points)
        np.add.at(matrix[i], np.minimum(inside, 2 * points - 1 - inside), chance)
    return matrix


def kernel(logs: Any, accept: Callable[[Any], Any]) -> Any:
    """Transition matrix of a walk with the log-target `logs`."""
    moved = proposals(logs.size) * accept(logs[None, :] - logs[:, None])
    np.fill_diagonal(moved, 0.0)
    return moved + np.diag(1.0 - moved.sum(axis=1))


def barker(log_ratio: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-log_ratio))


def metropolis(steps: int) -> PrivateMetropolis:
    """A walk on three points: most proposals reach from end to end, where a record counts most."""
    return PrivateMetropolis(epsilon_per_step=2.0, steps=steps, truncation=0.25, grid=0.25, scale=SCALE)


def coin_kernels(mechanism: PrivateMetropolis) -> list[Any]:
    """Exact kernels on the table of a coin that fell on 0, and on 1."""
    heat = mechanism.temperature(BERNOULLI.query(COINS))
    return [kernel(np.log(side) / heat, barker) for side in (1 - THREE, THREE)]


def exact_epsilon(mechanism: PrivateMetropolis) -> float:
    """The loss of the released chain at delta, by enumeration of all its paths."""
    laws = []
    for law in coin_kernels(mechanism):
        mass, last = np.ones(1), np.array([1])
        for _ in range(mechanism.steps):
            mass, last = (mass[:, None] * law[last]).ravel(), np.tile(np.arange(3), last.size)
        laws.append(mass)
    p, q = laws
    return float(brentq(lambda loss: np.maximum(p - math.exp(loss) * q, 0.0).sum() - DELTA, 0.0, 50.0))


def barker_audit(mechanism: PrivateMetropolis, noise: NoiseSource, runs: int) -> float:
    """The released states tell one coin that fell on 0 from one that fell on 1."""
    query, scores = BERNOULLI.query(COINS), []
    first, second = coin_kernels(mechanism)
    ratio = np.log(first) - np.log(second)
    for coin in (0, 1):
        table = Dataset("audit", COINS, Remembered(CodedRows({"y": np.array([coin])})))
        states = np.stack([next(iter(mechanism.apply(noise, query, table).values())) for _ in range(runs)])
        places = np.concatenate([np.full((runs, 1), 1), np.round(states * 4).astype(int) - 1], axis=1)
        scores.append(np.round(ratio[places[:, :-1], places[:, 1:]].sum(axis=1), 9))
    return certain(*scores)


def test_barker_chains_stay_below_their_claim() -> None:
    """Eight steps: the exact loss over all paths is below the claim, and half of it is certain (fixed seed)."""
    claim = metropolis(8).guarantee(BERNOULLI.query(COINS)).epsilon(DELTA)
    exact, found = exact_epsilon(metropolis(8)), barker_audit(metropolis(8), SeededNoise(9), 2 * RUNS)
    assert exact <= claim
    assert 0.5 * exact <= found <= exact


def test_uncharged_steps_are_caught() -> None:
    """Sixteen steps at the price of one; found at ten of ten other seeds."""
    found = barker_audit(metropolis(16), SeededNoise(10), RUNS)
    assert found > metropolis(1).guarantee(BERNOULLI.query(COINS)).epsilon(DELTA)


def test_metropolis_acceptance_is_caught() -> None:
    """A prior that makes the target flat on one table, where nothing is ever rejected; on the other some steps are."""
    epsilon, runs, points = 1.0, 20_000, np.linspace(0.125, 0.875, 401)
    heat = 2 * math.log(7.0) / epsilon
    logs = [np.zeros(401), (np.log1p(-points) - np.log(points)) / heat]  # the coin fell on 1, on 0
    rng, hits = np.random.default_rng(11), []
    for log_target in logs:
        law = kernel(log_target, lambda ratio: np.exp(np.minimum(ratio, 0.0)))
        hits.append(int((rng.random(runs) < law[200, 200]).sum()))
    assert epsilon_lower_bound(hits[1], hits[0], runs) > epsilon
    steps = [kernel(log_target, barker)[200] for log_target in logs]
    assert np.abs(np.log(steps[0] / steps[1])).max() <= epsilon


GIBBS = PrivateGibbs(epsilon_per_update=2.0, sweeps=2)
ANNEALING = PrivateAnnealing(epsilons=(1.0, 2.0), particles=2)
LARGE: dict[str, tuple[Any, Any, Callable[[NoiseSource, int], float]]] = {
    "gibbs": (GIBBS, QUERY, lambda noise, runs: gibbs_audit(GIBBS, NEW, noise, runs)),
    "gibbs across cells": (GIBBS, QUERY, lambda noise, runs: gibbs_audit(GIBBS, AWAY, noise, runs)),
    "annealing": (ANNEALING, QUERY, lambda noise, runs: annealing_audit(ANNEALING, noise, runs)),
    "barker": (metropolis(8), BERNOULLI.query(COINS), lambda noise, runs: barker_audit(metropolis(8), noise, runs)),
}


@pytest.mark.audit
@pytest.mark.parametrize("name", sorted(LARGE))
def test_large_audits_of_chains(name: str, evidence: Callable[[Callable[[], Any]], Any]) -> None:
    """50,000 runs a side of the real noise source."""
    mechanism, query, attack = LARGE[name]
    claim = mechanism.guarantee(query).epsilon(DELTA)

    def compute() -> list[float]:
        found = attack(SystemNoise(), 50_000)
        print(f"{name}: claim {claim:.4f} at delta = {DELTA}, certain {found:.4f} (50000 runs a side)")
        return [found]

    (found,) = evidence(compute)
    assert 0.4 < found <= claim
