"""PrivateGibbs: ranges and costs of the notes, the law of both updates by enumeration, and refusals."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, chi2, chisquare, kstest

import discreet as dc
from discreet.accounting.curves import bounded_range_renyi
from discreet.auditing.joint_test import JointTest, joint_distribution_test
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import ZCDP, BoundedRange, Repeated
from discreet.mechanisms import MECHANISMS, PrivateGibbs
from discreet.mechanisms.private_gibbs.kernels.sweep_steps import draw_profiles, prior_states
from discreet.mechanisms.private_gibbs.paid_sweeps import (
    ProfileSpace,
    State,
    log_likelihood,
    public_start,
    stacked_counts,
    tempered_sweeps,
)
from discreet.noise.sources import SeededNoise, SystemNoise
from discreet.numerics.kernels.hidden_pass import collapsed_pass
from discreet.queries.counts_and_sums import Counts
from discreet.queries.families import HiddenMarkov
from discreet.queries.statistics import Statistics
from discreet.recipe import build, describe
from discreet.sources import CodedRows, Dataset

REGIONS, MONTHS = ["north", "south"], ["jan", "feb", "mar"]


def events(fields: dict[str, int], states: int = 2, n: int = 40, **more: Any) -> Statistics:
    """A query over two regions and three months."""
    columns: dict[str, Any] = {"region": dc.Categorical(REGIONS), "month": dc.Categorical(MONTHS)}
    columns |= {name: dc.Categorical([str(level) for level in range(levels)]) for name, levels in fields.items()}
    schema = dc.Schema(columns, n=n, **more)
    tables = tuple(Counts.over(schema, name, "region", "month", name) for name in fields)
    return Statistics(schema, tables, HiddenMarkov(2, 3, states, tuple(fields.items()), 1.0, 1.0))


def table(query: Statistics, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    sizes = [len(query.schema.column(name).levels) for name in query.columns]  # type: ignore[union-attr]
    rows = {name: rng.integers(0, size, query.schema.n) for name, size in zip(query.columns, sizes, strict=True)}
    return Dataset("d", query.schema, CodedRows(rows))


def log_prior(z: Any, states: int, alpha: float) -> float:
    """Collapsed prior of hidden states, state by state along the regions: an urn for every row of transitions."""
    counts, total = np.zeros((states + 1, states)), 0.0
    for row in np.asarray(z):
        before = states
        for state in row:
            total += math.log((counts[before, state] + alpha) / (counts[before].sum() + states * alpha))
            counts[before, state] += 1
            before = state
    return total


def conditional(z: Any, cell: tuple[int, int], states: int, alpha: float, log_weight: Any) -> Any:
    """The law of one cell's state given all others, by normalising the joint law."""
    logs = []
    for k in range(states):
        moved = np.array(z)
        moved[cell] = k
        logs.append(log_prior(moved, states, alpha) + log_weight[cell[0] * moved.shape[1] + cell[1], k])
    weights = np.exp(np.array(logs) - max(logs))
    return weights / weights.sum()


def pass_law(start: Any, states: int, alpha: float, log_weight: Any) -> dict[tuple[int, ...], float]:
    """The law of all states after one pass from `start`."""
    shape = np.shape(start)
    law = {tuple(np.ravel(start).tolist()): 1.0}
    for cell in np.ndindex(*shape):
        after: dict[tuple[int, ...], float] = {}
        for z, mass in law.items():
            chances = conditional(np.array(z).reshape(shape), cell, states, alpha, log_weight)
            for k, chance in enumerate(chances):
                moved = np.array(z).reshape(shape)
                moved[cell] = k
                key = tuple(np.ravel(moved).tolist())
                after[key] = after.get(key, 0.0) + mass * chance
        law = after
    return law


@pytest.mark.parametrize(
    ("levels", "truncation", "c"),
    [((8, 30, 2, 2, 2), 0.1, 18.7258951995), ((8, 30, 2, 2, 2), 0.01, 30.5523915713), ((2,), 0.1, 2.94443897917)],
)
def test_ranges_of_the_notes(levels: tuple[int, ...], truncation: float, c: float) -> None:
    """seeds.md F-HMM."""
    fields = {f"f{i}": count for i, count in enumerate(levels)}
    mechanism = PrivateGibbs(epsilon_per_update=5.0, sweeps=1, truncation=truncation)
    assert mechanism.temperature(events(fields)) == pytest.approx(2 * c / 5.0, rel=1e-11)


def test_four_hundred_updates_cost_what_the_notes_say() -> None:
    """beyond.md §3: 20 by adding up; 0.125-zCDP, epsilon = 2.41909317687 at delta = 1e-6."""
    mechanism = PrivateGibbs(epsilon_per_update=0.05, sweeps=200)
    guarantee = mechanism.guarantee(events({"kind": 3}))
    assert guarantee == Repeated(BoundedRange(0.05), 400)
    assert guarantee.epsilon(0.0) == pytest.approx(20.0)
    assert ZCDP(0.125).epsilon(1e-6) == pytest.approx(2.41909317687, rel=1e-9)
    assert guarantee.epsilon(1e-6) <= 2.41909317687
    assert guarantee.epsilon(1e-6) == pytest.approx(2.41909317687, rel=0.01)
    assert "private_gibbs.md, Theorem 1" in str(guarantee)


def test_an_untempered_chain_is_charged_its_range() -> None:
    mechanism, query = PrivateGibbs(epsilon_per_update=50.0, sweeps=3), events({"kind": 2})
    assert mechanism.temperature(query) == 1.0
    assert mechanism.guarantee(query).epsilon(0.0) == pytest.approx(6 * 2 * 2.94443897917, rel=1e-9)


def test_two_halves_have_at_most_the_renyi_curve_of_the_whole() -> None:
    """private_gibbs.md, Lemma 2, over orders and levels."""
    for level in (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0):
        for order in (1.01, 1.5, 2.0, 3.0, 10.0, 100.0, 1e4):
            whole = bounded_range_renyi(level, order)
            assert 2 * bounded_range_renyi(level / 2, order) <= whole * (1 + 1e-9)


def two_points(level: float, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the larger loss, on both tables, of pairs whose losses are t and t - level."""
    other = -np.expm1(offsets - level) / (np.exp(offsets) - np.exp(offsets - level))
    return other * np.exp(offsets), other


def worst_profile(level: float, epsilons: np.ndarray) -> np.ndarray:
    """The largest delta over bounded-range pairs at every epsilon, negative ones too."""
    here, there = (p[:, None] for p in two_points(level, np.linspace(1e-6, level - 1e-6, 2001)))
    high, low = here - np.exp(epsilons) * there, (1 - here) - np.exp(epsilons) * (1 - there)
    return np.asarray((np.maximum(high, 0) + np.maximum(low, 0)).max(axis=0))


@pytest.mark.parametrize("level", [0.1, 1.0, 4.0])
def test_two_halves_have_less_than_the_profile_of_the_whole(level: float) -> None:
    """Theorem 2 by search: the second half may be chosen after the first was seen, its profile averaged over outcomes."""
    half, epsilons = level / 2, np.linspace(0.0, 0.95 * level, 20)
    whole = worst_profile(level, epsilons)
    np.testing.assert_allclose(whole, [BoundedRange(level).delta(e) for e in epsilons], rtol=1e-3)
    offsets = np.linspace(1e-4, half - 1e-4, 60)
    for offset, chance in zip(offsets, two_points(half, offsets)[0], strict=True):
        after_high, after_low = (worst_profile(half, epsilons - loss) for loss in (offset, offset - half))
        assert np.all(chance * after_high + (1 - chance) * after_low < 0.75 * whole)


def test_the_steps_of_the_proof_for_two_halves() -> None:
    """private_gibbs.md, Theorem 2: every inequality of its chain, over levels, losses and offsets."""
    rng = np.random.default_rng(12)
    level = np.exp(rng.uniform(-5, 3, (4000, 1)))
    b, x = np.exp(-level / 4), np.exp(rng.uniform(0, 1, (4000, 1)) * level / 2)  # x² = e^epsilon', epsilon' up to level
    s = b**2 + rng.uniform(0, 1, (4000, 50)) * (1 - b**2)

    def half(alpha: np.ndarray) -> np.ndarray:
        inside = np.clip(alpha, b**2, b**-2)
        return np.where(
            alpha < b**2, 1 - alpha, np.where(alpha > b**-2, 0.0, (1 - b * np.sqrt(inside)) ** 2 / (1 - b**2))
        )

    whole = (1 - x * b**2) ** 2 / (1 - b**4)
    p = (s - b**2) / (s * (1 - b**2))
    f = p * half(x**2 * s) + (1 - p) * half(x**2 * s / b**2)
    m = (1 + x**2 * b**2 - 2 * x * b * (s + b) / (np.sqrt(s) * (1 + b))) / (1 - b**2)
    slack = 1e-9 * (1 - p + x**2)  # of the subtractions in M
    near, low = x**2 * s <= 1, x <= b**-0.5
    assert np.all(np.abs(f - m)[near] <= slack[near])
    assert np.all(f <= m + slack)
    mean = (1 + x**2 * b**2 - 4 * x * b**1.5 / (1 + b)) / (1 - b**2)
    assert np.all(m <= mean + slack)
    assert np.all((mean <= whole + 1e-9)[low])
    w = np.cbrt(x * b**2)
    assert np.all((b < w**2)[~low])
    stationary = (1 - w**2) ** 3 / (1 - b**2) ** 2
    assert np.all((f <= stationary + 1e-12)[~low & ~near])
    assert np.all((stationary <= whole * (1 + 1e-9))[~low])
    assert np.all(f <= whole + 1e-12)
    assert np.all((s < b)[~low & near])
    # the search can fail: two parts of 0.8 of the level each exceed the whole somewhere
    b = np.exp(-1.6 * level / 4)
    s = b**2 + rng.uniform(0, 1, (4000, 50)) * (1 - b**2)
    p = (s - b**2) / (s * (1 - b**2))
    assert np.any(p * half(x**2 * s) + (1 - p) * half(x**2 * s / b**2) > whole)


def test_amplification_by_a_visible_random_scan_is_false() -> None:
    """F-GIBBS: two variables, one of them updated at random, base epsilon 1. The level stays 1; 0.62 is claimed."""
    claimed = math.log1p(0.5 * math.expm1(1.0))
    assert claimed == pytest.approx(0.620114506958, rel=1e-11)
    answer = {table: {bit: math.exp(bit == table) / (1 + math.e) for bit in (0, 1)} for table in (0, 1)}
    # the first variable answers about the record that differs, the second about one that does not
    laws = [
        {(variable, bit): 0.5 * answer[table if variable == 0 else 0][bit] for variable in (0, 1) for bit in (0, 1)}
        for table in (0, 1)
    ]
    true = max(abs(math.log(laws[0][outcome] / laws[1][outcome])) for outcome in laws[0])
    assert true == pytest.approx(1.0)
    assert true > claimed
    # with a secret index 2 q epsilon is no bound either
    assert math.log1p(0.01 * math.expm1(4.0)) == pytest.approx(0.429169590598, rel=1e-9)
    assert math.log1p(0.01 * math.expm1(4.0)) > 2 * 0.01 * 4.0


@pytest.mark.parametrize(
    ("z", "cell", "law"),
    [([0, 0, 0, 0, 1], 2, [0.5454545455, 0.4545454545]), ([0, 1, 1, 0, 0], 4, [0.3333333333, 0.6666666667])],
)
def test_conditionals_of_the_notes(z: list[int], cell: int, law: list[float]) -> None:
    """F-HMM, K = 2, alpha = 1, a flat likelihood."""
    assert conditional([z], (0, cell), 2, 1.0, np.zeros((5, 2))) == pytest.approx(law, abs=1e-10)


@pytest.mark.parametrize(("shape", "states", "alpha"), [((1, 2), 2, 1.0), ((2, 2), 2, 0.5), ((1, 3), 3, 2.0)])
def test_a_pass_over_the_states_has_the_enumerated_law(shape: tuple[int, int], states: int, alpha: float) -> None:
    """40,000 passes from one start, chi-square against brute force; false alarm 1e-4 each (fixed seed)."""
    rng = np.random.default_rng(3)
    start = rng.integers(0, states, shape)
    log_weight = rng.normal(size=(start.size, states))
    found: dict[tuple[int, ...], int] = {}
    for _ in range(40_000):
        z = start.copy()
        collapsed_pass(z, log_weight, alpha, rng)
        key = tuple(z.ravel().tolist())
        found[key] = found.get(key, 0) + 1
    law = pass_law(start, states, alpha, log_weight)
    assert sum(law.values()) == pytest.approx(1.0)
    assert chisquare([found.get(key, 0) for key in law], [40_000 * mass for mass in law.values()]).pvalue > 1e-4


def test_the_start_has_the_law_of_the_prior() -> None:
    """40,000 starts of two regions, chi-square; false alarm 1e-4 (fixed seed)."""
    rng, z = np.random.default_rng(4), np.zeros((2, 2), dtype=np.int64)
    found: dict[tuple[int, ...], int] = {}
    for _ in range(40_000):
        prior_states(0.7, 2, rng, z)
        key = tuple(z.ravel().tolist())
        found[key] = found.get(key, 0) + 1
    every = list(itertools.product((0, 1), repeat=4))
    law = [math.exp(log_prior(np.array(key).reshape(2, 2), 2, 0.7)) for key in every]
    assert sum(law) == pytest.approx(1.0)
    assert chisquare([found[key] for key in every], [40_000 * mass for mass in law]).pvalue > 1e-4


@pytest.mark.parametrize("tries", [1, 2000])
def test_profiles_have_the_truncated_dirichlet_law(tries: int) -> None:
    """Plain proposals that succeed are truncated Betas, however few are allowed; KS, false alarm 1e-4 (fixed seed)."""
    rng, a, b, lower = np.random.default_rng(5), 1.7, 3.2, 0.2
    drawn = np.empty((1, 2))
    kept = [
        float(drawn[0, 0])
        for _ in range(20_000)
        if not draw_profiles(np.array([[a, b]]), np.array([2]), np.array([lower]), tries, rng, drawn)[0, 0]
    ]
    low, high = beta.cdf([lower, 1 - lower], a, b)
    assert kstest(kept, lambda x: (beta.cdf(x, a, b) - low) / (high - low)).pvalue > 1e-4


def test_the_mean_of_a_truncated_profile_of_three() -> None:
    """F-TDIR: alpha = (2, 1, .5), a0 = .1 has the mean .437528088803; 5 standard errors."""
    rng, drawn = np.random.default_rng(6), np.empty((1, 3))
    firsts = []
    for _ in range(20_000):
        assert not draw_profiles(np.array([[2.0, 1.0, 0.5]]), np.array([3]), np.array([0.1]), 2000, rng, drawn).any()
        assert drawn.sum() == pytest.approx(1.0)
        firsts.append(float(drawn[0, 0]))
    assert np.mean(firsts) == pytest.approx(0.437528088803, abs=5 * np.std(firsts) / math.sqrt(20_000))


def test_priors_whose_draws_underflow_are_drawn_all_the_same() -> None:
    """Dirichlet(1e-4) on [.05, .95] is all but uniform in the logit; KS, false alarm 1e-4 (fixed seed)."""
    family = HiddenMarkov(1, 1, 2, (("kind", 2),), 1.0, 1e-4)
    space, rng = ProfileSpace.truncated(family, 0.1, 2.0**-32), np.random.default_rng(9)
    starts = np.array([public_start(space, rng).profiles[0, 0] for _ in range(1_000)])
    places = 0.5 + np.log(starts / (1 - starts)) / (2 * math.log(19.0))
    assert kstest(places, "uniform").pvalue > 1e-4


def tables(places: int, size: int) -> Iterator[Any]:
    for held in itertools.combinations_with_replacement(range(places), size):
        yield np.bincount(held, minlength=places)


def neighbours(places: int, size: int) -> Iterator[tuple[Any, Any]]:
    """All pairs of tables of `size` events in `places` that differ in one event."""
    for first in tables(places, size):
        for old, new in itertools.permutations(range(places), 2):
            if first[old] > 0:
                second = first.copy()
                second[old] -= 1
                second[new] += 1
                yield first, second


def losses(theta: Any, epsilon: float) -> Iterator[tuple[Any, Any]]:
    """Laws of a pass, (1, 2) cells of a binary field in two states, for all neighbours with two events and starts."""
    a0 = 0.05
    heat = 2 * math.log((1 - a0) / a0) / epsilon
    for first, second in neighbours(4, 2):
        weights = [counts.reshape(2, 2) @ np.log(theta).T / heat for counts in (first, second)]
        for start in itertools.product((0, 1), repeat=2):
            laws = [pass_law(np.array([start]), 2, 0.3, weight) for weight in weights]
            yield tuple(np.array([law[key] for key in sorted(laws[0])]) for law in laws)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_pass_is_within_its_certificate_for_all_neighbours(epsilon: float) -> None:
    """By enumeration, profiles at the corners of their space: pure level and Renyi curve; half of it would not do."""
    worst = 0.0
    for theta in ([[0.05, 0.95], [0.95, 0.05]], [[0.05, 0.95], [0.5, 0.5]]):
        for p, q in losses(np.array(theta), epsilon):
            worst = max(worst, float(np.abs(np.log(p / q)).max()))
            for order in (1.5, 2.0, 8.0, 50.0):
                divergence = math.log((p**order * q ** (1 - order)).sum()) / (order - 1)
                assert divergence <= bounded_range_renyi(epsilon, order) * (1 + 1e-9)
    assert 0.5 * epsilon < worst <= epsilon


def test_profiles_below_the_bound_break_the_certificate() -> None:
    """A profile that is not cut to its space, 0.001 instead of 0.05, exceeds what is charged."""
    theta = np.array([[0.001, 0.999], [0.999, 0.001]])
    assert max(float(np.abs(np.log(p / q)).max()) for p, q in losses(theta, 2.0)) > 2.0


def test_profiles_of_all_neighbours_are_of_bounded_range() -> None:
    """The log-ratio of the profiles' law is linear in log theta: its range over the space's corners is at most 2C/T."""
    a0, epsilon = 0.05, 1.0
    c = math.log((1 - a0) / a0)
    corners = np.log([[[x, 1 - x], [y, 1 - y]] for x in (a0, 1 - a0) for y in (a0, 1 - a0)])
    ranges = []
    for first, second in neighbours(4, 2):
        for z in itertools.product((0, 1), repeat=2):
            member = np.eye(2)[list(z)].T
            moved = member @ (first - second).reshape(2, 2)
            ranges.append(np.ptp((moved * corners).sum(axis=(1, 2)) * epsilon / (2 * c)))
    assert max(ranges) == pytest.approx(epsilon)


def test_what_a_pass_sees_is_what_is_released() -> None:
    """On a coarse grid: given the released profiles, states follow their rounded values; 40,000 sweeps (fixed seed).

    One cell with 30 events, so that a pass is a single draw: its frequency in groups of equal profiles, chi-square with
    a false alarm of 1e-4.
    """
    family = HiddenMarkov(1, 1, 2, (("kind", 2),), 1.0, 1.0)
    space = ProfileSpace.truncated(family, 0.5, 2.0**-3)  # probabilities 2/8 … 6/8
    counts, heat = np.array([[20.0, 10.0]]), 5.0
    rng = np.random.default_rng(7)
    chain = tempered_sweeps(space, counts, [heat] * 40_000, public_start(space, rng), rng)
    assert set(np.unique(chain.profiles * 8)) == {2.0, 3.0, 4.0, 5.0, 6.0}
    logits = np.diff(np.log(chain.profiles) @ counts[0] / heat, axis=1)[:, 0]
    groups, which = np.unique(np.round(logits, 9), return_inverse=True)
    hits, sizes = np.bincount(which, chain.hidden.ravel()), np.bincount(which)
    chance = 1 / (1 + np.exp(-groups))
    many = (sizes * chance > 10) & (sizes * (1 - chance) > 10)
    assert many.sum() > 10
    z = (hits - sizes * chance)[many] / np.sqrt(sizes * chance * (1 - chance))[many]
    assert chi2.sf(float((z**2).sum()), int(many.sum())) > 1e-4


def test_released_profiles_lie_on_the_grid_inside_their_space() -> None:
    query = events({"kind": 3, "size": 2})
    mechanism = PrivateGibbs(epsilon_per_update=2.0, sweeps=50, truncation=0.2, grid=2.0**-6)
    value = mechanism.apply(SeededNoise(7), query, table(query))
    for field, levels in (("kind", 3), ("size", 2)):
        low = 0.2 / levels
        assert np.all(value[field] % 2.0**-6 == 0)
        assert value[field].min() >= low
        assert value[field].max() <= 1 - (levels - 1) * low


def test_profiles_that_plain_proposals_miss_are_drawn_all_the_same() -> None:
    """Every event at one level of twelve, a bound near that of an even profile: the other eleven lie on it."""
    family = HiddenMarkov(1, 2, 2, (("kind", 12), ("size", 2)), 1.0, 1.0)
    space = ProfileSpace.truncated(family, 0.9, 2.0**-32)
    counts = np.zeros((2, 14))
    counts[:, 0], counts[:, 12] = 5000.0, 5000.0
    rng = np.random.default_rng(8)
    chain = tempered_sweeps(space, counts, [1.0] * 3, public_start(space, rng), rng)
    low = 0.9 / 12
    assert np.all((chain.profiles[..., :12] >= low) & (chain.profiles[..., :12] <= 1 - 11 * low))
    assert chain.profiles[..., :12].sum(axis=-1) == pytest.approx(np.ones((3, 2)), abs=1e-8)
    used = chain.profiles[0, chain.hidden[0, 0, 0]]
    assert used[0] == pytest.approx(1 - 11 * low, abs=0.01)


def test_a_chain_goes_on_from_its_last_state() -> None:
    """Two sweeps are one sweep and another from where it ended, bit by bit."""
    query = events({"kind": 3, "size": 2})
    space = ProfileSpace.truncated(query.family, 0.1, 2.0**-32)  # type: ignore[arg-type]
    counts = stacked_counts(space.family, table(query).source.statistics(query))
    rng, again = np.random.default_rng(8), np.random.default_rng(8)
    chain = tempered_sweeps(space, counts, [3.0, 2.0], public_start(space, rng), rng)
    one = tempered_sweeps(space, counts, [3.0], public_start(space, again), again)
    two = tempered_sweeps(space, counts, [2.0], State(one.hidden[0], one.profiles[0]), again)
    assert np.array_equal(chain.hidden, np.concatenate([one.hidden, two.hidden]))
    assert np.array_equal(chain.profiles, np.concatenate([one.profiles, two.profiles]))


def test_log_likelihoods_are_sums_over_events() -> None:
    query = events({"kind": 3, "size": 2}, n=7)
    space = ProfileSpace.truncated(query.family, 0.1, 2.0**-32)  # type: ignore[arg-type]
    data = table(query)
    counts = stacked_counts(space.family, data.source.statistics(query))
    state = public_start(space, np.random.default_rng(9))
    columns = data.source.columns  # type: ignore[attr-defined]
    own = state.hidden[columns["region"], columns["month"]]
    each = np.log(state.profiles[own, columns["kind"]]) + np.log(state.profiles[own, 3 + columns["size"]])
    assert log_likelihood(counts, state) == pytest.approx(each.sum())


def test_a_release_has_its_declared_shapes_and_ranges() -> None:
    query, mechanism = events({"kind": 3, "size": 2}, states=4), PrivateGibbs(epsilon_per_update=0.5, sweeps=6)
    value = mechanism.apply(SystemNoise(), query, table(query))
    assert {name: array.shape for name, array in value.items()} == mechanism.shapes(query)
    assert mechanism.shapes(query) == {"hidden state": (6, 2, 3), "kind": (6, 4, 3), "size": (6, 4, 2)}
    assert value["hidden state"].dtype == np.int64
    assert set(np.unique(value["hidden state"])) <= set(range(4))
    assert value["kind"].sum(axis=-1) == pytest.approx(np.ones((6, 4)), abs=1e-8)
    assert "temperature" in mechanism.note(query)


def test_long_untempered_chains_find_two_states() -> None:
    """Months of different kinds of events: with a generous budget cells of one kind share a state."""
    query = events({"kind": 2}, n=600)
    kinds = np.tile([0, 1, 1], 200)
    rows = {"region": np.arange(600) % 2, "month": np.arange(600) % 3, "kind": kinds}
    mechanism = PrivateGibbs(epsilon_per_update=10.0, sweeps=50)
    value = mechanism.apply(SeededNoise(2), query, Dataset("d", query.schema, CodedRows(rows)))
    last = value["hidden state"][-1]
    assert np.array_equal(last[:, 1], last[:, 2])
    assert np.all(last[:, 0] != last[:, 1])


def test_requests_round_trip_and_numbers_are_normalised() -> None:
    mechanism = PrivateGibbs(epsilon_per_update=1, sweeps=2)
    assert build("m", MECHANISMS, describe(mechanism), GuaranteeError) == mechanism
    assert describe(mechanism)["epsilon_per_update"] == 1.0


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon_per_update": 0.0, "sweeps": 1},
        {"epsilon_per_update": math.nan, "sweeps": 1},
        {"epsilon_per_update": 1.0, "sweeps": 0},
        {"epsilon_per_update": 1.0, "sweeps": True},
        {"epsilon_per_update": 1.0, "sweeps": 1, "truncation": 1.0},
        {"epsilon_per_update": 1.0, "sweeps": 1, "grid": 0.0},
        {"epsilon_per_update": 1.0, "sweeps": 1, "label": "\n"},
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(GuaranteeError, match="PrivateGibbs"):
        PrivateGibbs(**arguments)


def test_queries_that_cannot_be_answered_are_refused() -> None:
    mechanism = PrivateGibbs(epsilon_per_update=1.0, sweeps=2)
    schema = dc.Schema({"x": dc.Binary()}, n=5)
    with pytest.raises(QueryError, match="hidden states"):
        mechanism.guarantee(dc.BetaBernoulli("x").query(schema))
    added = events({"kind": 2}, n=None, relation="add-remove", n_max=10)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="replace-one"):
        mechanism.guarantee(added)
    with pytest.raises(QueryError, match="hidden state"):
        mechanism.guarantee(events({"hidden state": 2}))
    with pytest.raises(QueryError, match="grid"):
        PrivateGibbs(epsilon_per_update=1.0, sweeps=2, grid=0.125).guarantee(events({"kind": 2}))
    columns = {"region": dc.Categorical(REGIONS), "month": dc.Categorical(MONTHS, missing="exclude"), "k": dc.Binary()}
    excluding = dc.Schema(columns, n=5)
    query = Statistics(
        excluding,
        (Counts.over(excluding, "k", "region", "month", "k"),),
        HiddenMarkov(2, 3, 2, (("k", 2),), 1.0, 1.0),
    )
    with pytest.raises(QueryError, match="exclude"):
        mechanism.guarantee(query)
    with pytest.raises(QueryError, match="numbers"):
        PrivateGibbs(epsilon_per_update=1.0, sweeps=10**6).guarantee(events({f"f{i}": 500 for i in range(2)}))


def joint_test(temperature: float) -> JointTest:
    """Profiles, states and events drawn together, and by sweeps that believe in a temperature."""
    family = HiddenMarkov(2, 3, 2, (("kind", 3), ("night", 2)), 1.0, 1.0)
    space = ProfileSpace.truncated(family, 0.2, 2.0**-20)
    events, ends = 6, np.cumsum([levels for _, levels in family.fields])[:-1]

    def counts(state: State, rng: np.random.Generator) -> np.ndarray:
        fields = np.split(state.profiles[state.hidden.ravel()], ends, axis=1)
        return np.concatenate(
            [rng.multinomial(events, field / field.sum(1, keepdims=True)) for field in fields], axis=1
        )

    def swept(state: State, held: np.ndarray, rng: np.random.Generator) -> State:
        found = tempered_sweeps(space, held.astype(float), [temperature], state, rng)
        return State(found.hidden[-1], found.profiles[-1])

    def features(state: State, held: np.ndarray) -> np.ndarray:
        z, theta = state.hidden, state.profiles
        stays = float(np.mean(z[:, 1:] == z[:, :-1]))
        likely = log_likelihood(held.astype(float), state)
        apart = np.abs(theta[0] - theta[1])
        return np.array([stays, z.mean(), *theta[0], *apart, float(likely), held[0, 0], float(held[:, 0].std())])

    def prior(rng: np.random.Generator) -> State:
        return public_start(space, rng)

    return joint_distribution_test(prior, counts, swept, features, draws=3000, rng=np.random.default_rng(5))


def test_untempered_sweeps_leave_the_joint_law() -> None:
    """Geweke's test: the largest of 32 z-scores below 4 (false alarm 2e-3 at most; fixed seed)."""
    assert joint_test(1.0).agrees()


def test_sweeps_at_another_temperature_do_not() -> None:
    """Planted: the likelihood enters with the power 1/2."""
    assert not joint_test(2.0).agrees()
