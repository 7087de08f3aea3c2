"""Hidden Markov models given noisy counts only: enumeration of tiny cases, joint laws with planted errors, recovery.

Statistical tests have fixed seeds. Each compares some 20 means with a limit of 5 standard errors by batch means, of
which there are 9 in a joint test of 1,000 draws: a right sampler fails about twice in 100 seeds (1 of 20 others failed).
Each planted error of `make test` was found in 20 of 20 other seeds.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

from discreet.auditing.joint_test import JointTest, joint_distribution_test
from discreet.errors import QueryError
from discreet.inference.hidden_markov import hidden_noise
from discreet.inference.hidden_markov.hidden_chains import hidden_chains, prior_of
from discreet.inference.hidden_markov.hidden_noise import noise_aware_chains
from discreet.inference.hidden_markov.kernels.hidden_counts import EventCounts, EventPlan, Noisy
from discreet.inference.hidden_markov.kernels.hidden_couplings import advance
from discreet.inference.hidden_markov.kernels.hidden_redivisions import redivide
from discreet.inference.hidden_markov.kernels.hidden_states import Hidden
from discreet.inference.network.kernels.network_layout import Released
from discreet.noise import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from discreet.numerics.kernels.hidden_pass import count_moves
from discreet.queries.families import HiddenMarkov
from discreet.schema.row_counts import KnownSize, Sizes, UniformSizes
from thinned import thinned

LIMIT = 5.0


# ---- enumeration -----------------------------------------------------------------------------------------------------


def dirichlet_multinomial(table: np.ndarray, alpha: float) -> float:
    whole = alpha * table.shape[-1]
    inside = np.sum(gammaln(table + alpha) - gammaln(alpha))
    return float(inside + np.sum(gammaln(whole) - gammaln(table.sum(-1) + whole)))


def splits(whole: int, cells: int) -> list[tuple[int, ...]]:
    return [split for split in product(range(whole + 1), repeat=cells) if sum(split) == whole]


def enumerate_means(
    family: HiddenMarkov, released: np.ndarray, laws: list[NoiseLaw], sizes: Sizes, kept: np.ndarray
) -> np.ndarray:
    """Exact posterior means of `summaries`, for two fields of two levels; profiles and transitions integrated out."""
    cells = family.regions * family.times
    mass, means = 0.0, np.zeros(0)
    paths = [np.array(path).reshape(family.regions, family.times) for path in product(range(2), repeat=cells)]
    path_logs = [dirichlet_multinomial(count_moves(path, 2), family.transition) for path in paths]
    for whole in range(sizes.lowest, sizes.highest + 1):
        ways = splits(whole, cells)
        for totals in ways:
            log_total = float(sizes.log_weight(whole)) - np.log(len(ways))
            here = [totals[cell] for cell in kept]
            for firsts in product(*(range(n + 1) for n in (*here, *here))):
                counts = np.zeros((cells, 4))
                half = len(kept)
                for i, cell in enumerate(kept):
                    a, b = firsts[i], firsts[half + i]
                    counts[cell] = [a, totals[cell] - a, b, totals[cell] - b]
                noise = released[kept] - counts[kept]
                logs = log_total + laws[0].log_density(noise[:, :2]).sum() + laws[1].log_density(noise[:, 2:]).sum()
                logs += np.sum(2 * gammaln(np.array(here) + 1.0)) - np.sum(gammaln(counts[kept] + 1.0))
                for path, path_log in zip(paths, path_logs, strict=True):
                    sums = np.zeros((2, 4))
                    np.add.at(sums, path.ravel(), counts)
                    fields = sum(
                        dirichlet_multinomial(sums[:, part], family.emission) for part in (slice(2), slice(2, 4))
                    )
                    weight = np.exp(logs + path_log + fields)
                    summary = summaries(path, counts[kept], np.array(totals)[kept], whole)
                    means = weight * summary + (means if means.size else 0.0)
                    mass += weight
    return means / mass


def summaries(states: np.ndarray, counts: np.ndarray, totals: np.ndarray, whole: int) -> np.ndarray:
    stays = states.ravel()[:-1] == states.ravel()[1:]
    return np.concatenate(
        [stays, stays[:1] * counts[0, 0], totals, totals**2, counts[:, 0], counts[:, 2], counts[:, 0] ** 2, [whole]]
    ).astype(float)


CASES: list[tuple[int, Sizes, list[int], list[NoiseLaw]]] = [
    (2, KnownSize(4), [0, 1], [DiscreteLaplace(1.5), DiscreteLaplace(2.5)]),
    (2, UniformSizes(4), [0, 1], [DiscreteLaplace(2.0), DiscreteGaussian(1.2)]),
    (3, KnownSize(4), [0, 2], [DiscreteGaussian(2.5), DiscreteLaplace(1.0)]),
    (3, UniformSizes(4), [1, 2], [DiscreteLaplace(3.0), DiscreteLaplace(1.5)]),
]


@pytest.mark.parametrize(("times", "sizes", "kept", "laws"), thinned(CASES, lambda case: case[0] == 2, several=True))
def test_the_posterior_of_a_tiny_log_is_that_of_enumeration(
    times: int, sizes: Sizes, kept: list[int], laws: list[NoiseLaw]
) -> None:
    family = HiddenMarkov(1, times, 2, (("a", 2), ("b", 2)), 0.7, 0.5)
    released = np.array([[3.0, -1.0, 1.0, 2.0], [0.0, 1.0, -2.0, 3.0], [2.0, 1.0, 3.0, 0.0]])[:times]
    places, rng = np.array(kept), np.random.default_rng(0)
    released[np.setdiff1d(np.arange(times), places)] = 0.0
    exact = enumerate_means(family, released, laws, sizes, places)
    hidden, state, plan = hidden_noise.start_chain(family, released, places, laws, sizes, rng)
    noisy, prior = hidden_noise.released_counts(released, laws), prior_of(family)
    found = []
    for _ in range(20_000):
        advance(hidden, state, prior, noisy, plan, rng)
        found.append(summaries(hidden.states, state.levels.reshape(-1, 4)[places], state.totals[places], state.sums[0]))
    batches = np.array(found).reshape(50, -1, len(exact)).mean(1)
    error = batches.std(0, ddof=1) / np.sqrt(50)
    assert np.all(np.abs(batches.mean(0) - exact) < LIMIT * error + 1e-9)


# ---- the division of two levels' events ------------------------------------------------------------------------------


def exact_division(
    totals: tuple[int, ...], released: np.ndarray, law: NoiseLaw, emission: float
) -> tuple[np.ndarray, np.ndarray]:
    """Posterior means of a profile of three levels and of all counts, by enumeration; one state, given totals."""
    each = [[np.array([a, b, n - a - b]) for a in range(n + 1) for b in range(n + 1 - a)] for n in totals]
    mass, profile, means = 0.0, np.zeros(3), np.zeros((len(totals), 3))
    for counts in map(np.array, product(*each)):
        log_weight = law.log_density(released - counts).sum() - gammaln(counts + 1.0).sum()
        weight = np.exp(log_weight + dirichlet_multinomial(counts.sum(0)[np.newaxis], emission))
        shapes = counts.sum(0) + emission
        mass, profile = mass + weight, profile + weight * shapes / shapes.sum()
        means += weight * counts
    return profile / mass, means / mass


def divided(totals: tuple[int, ...], released: np.ndarray, law: NoiseLaw, emission: float, rounds: int) -> np.ndarray:
    """Profiles and counts after each round of `redivide` alone, in batches."""
    family, cells, rng = (
        HiddenMarkov(1, len(totals), 1, (("a", 3),), 1.0, emission),
        len(totals),
        np.random.default_rng(3),
    )
    hidden, _, plan = hidden_noise.start_chain(family, released, np.arange(cells), [law], KnownSize(sum(totals)), rng)
    counts = np.array([[n, 0, 0] for n in totals])
    state = EventCounts(counts.ravel(), np.array(totals), np.array([sum(totals), 0]))
    noise = hidden_noise.released_counts(released, [law])
    noisy = Noisy(hidden, np.exp(hidden.log_profiles), state, prior_of(family), noise, plan)
    found = np.empty((rounds, 3 + counts.size))
    for i in range(rounds):
        redivide(noisy, rng)
        found[i, :3], found[i, 3:] = noisy.profiles[0], state.levels
    return found.reshape(50, -1, found.shape[1]).mean(1)


DIVISIONS: list[tuple[NoiseLaw, float]] = [
    (DiscreteLaplace(3.0), 0.5),
    (DiscreteGaussian(2.0), 1.0),
    (DiscreteLaplace(1.0), 2.0),
]


@pytest.mark.parametrize(("law", "emission"), DIVISIONS, ids=str)
@pytest.mark.parametrize("windows", ["wide", "narrow"])
def test_divisions_alone_reach_the_posterior(windows: str, law: NoiseLaw, emission: float) -> None:
    """The counts of a cell outside its window stay: with narrow windows, too, the law is the right one."""
    totals, released = (4, 3, 2), np.array([[5.0, -2.0, 1.0], [0.0, 1.0, 3.0], [-4.0, 4.0, 1.0]])
    if windows == "narrow":
        released = released + np.array([[9.0, -9.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    batches = divided(totals, released, law, emission, 10_000)
    exact = np.concatenate([np.ravel(part) for part in exact_division(totals, released, law, emission)])
    error = batches.std(0, ddof=1) / np.sqrt(50)
    assert np.all(np.abs(batches.mean(0) - exact) < LIMIT * error + 1e-9)


def test_a_division_that_forgets_part_of_its_law_is_caught() -> None:
    """The twin: the prior of the profile taken twice, noise of half the scale."""
    totals, released = (4, 3, 2), np.array([[5.0, -2.0, 1.0], [0.0, 1.0, 3.0], [-4.0, 4.0, 1.0]])
    batches = divided(totals, released, DiscreteLaplace(3.0), 0.5, 10_000)
    error = batches.std(0, ddof=1) / np.sqrt(50)
    for law, emission in ((DiscreteLaplace(3.0), 1.0), (DiscreteLaplace(1.5), 0.5)):
        exact = np.concatenate([np.ravel(part) for part in exact_division(totals, released, law, emission)])
        assert np.any(np.abs(batches.mean(0) - exact) > LIMIT * error)


# ---- joint-distribution tests ----------------------------------------------------------------------------------------

SMALL = HiddenMarkov(1, 4, 2, (("kind", 2), ("place", 3)), 0.5, 0.7)
LAWS: list[NoiseLaw] = [DiscreteLaplace(1.5), DiscreteGaussian(2.0)]
HIGHEST = 30
PLACES = np.arange(4)


def draw_all(rng: np.random.Generator) -> tuple[Hidden, EventCounts]:
    """States, parameters, totals and counts from the prior."""
    start = rng.dirichlet(np.full(2, SMALL.transition))
    transitions = rng.dirichlet(np.full(2, SMALL.transition), size=2)
    states = np.empty((1, 4), dtype=np.int64)
    law = start
    for t in range(4):
        states[0, t] = int(rng.random() > law[0])
        law = transitions[states[0, t]]
    profiles = [rng.dirichlet(np.full(levels, SMALL.emission), size=2) for _, levels in SMALL.fields]
    whole = int(rng.integers(HIGHEST + 1))
    totals = hidden_noise._split(whole, 4, rng)
    counts = np.hstack([rng.multinomial(totals, profile[states[0]]) for profile in profiles])
    logs = (np.log(np.maximum(part, 1e-300)) for part in (start, transitions, np.hstack(profiles)))
    return Hidden(states, *logs), EventCounts(counts.ravel(), totals, np.array([whole, 0]))


def add_noise(both: tuple[Hidden, EventCounts], rng: np.random.Generator) -> np.ndarray:
    grid = np.arange(-60, 61)
    counts = both[1].levels.reshape(4, 5).astype(float)
    for law, part in zip(LAWS, (slice(2), slice(2, 5)), strict=True):
        weights = np.exp(law.log_density(grid))
        counts[:, part] += rng.choice(grid, size=counts[:, part].shape, p=weights / weights.sum())
    return counts


def features(both: tuple[Hidden, EventCounts], released: np.ndarray) -> np.ndarray:
    hidden, counts = both
    states, theta, transitions = hidden.states[0], np.exp(hidden.log_profiles), np.exp(hidden.log_transitions)
    stays, levels = states[1:] == states[:-1], counts.levels.reshape(4, 5)
    return np.array(
        [
            stays.mean(),
            np.trace(transitions),
            np.mean(transitions[states[:-1], states[1:]]),
            np.exp(hidden.log_start)[states[0]],
            np.sum((theta[0] - theta[1]) ** 2),
            np.sum(theta[states] * levels) / (1.0 + counts.totals.sum()),
            counts.totals.max(),
            counts.sums[0],
            np.abs(released - levels).mean(),
            np.mean(released * levels) / 10.0,
            stays[0] * np.abs(levels[0] - levels[1]).mean(),
        ]
    )


def joint(draws: int = 1000, **wrong: Any) -> JointTest:
    """The joint test of the sweep, with some of its inputs replaced."""
    rng = np.random.default_rng(0)
    _, _, plan = hidden_noise.start_chain(SMALL, np.full((4, 5), 3.0), PLACES, LAWS, UniformSizes(HIGHEST), rng)
    plan = plan._replace(**{k: v for k, v in wrong.items() if k in EventPlan._fields})
    prior = prior_of(SMALL)._replace(**{k: v for k, v in wrong.items() if k in ("transition", "emission")})

    def sampler(
        both: tuple[Hidden, EventCounts], released: np.ndarray, rng: np.random.Generator
    ) -> tuple[Hidden, EventCounts]:
        noisy = hidden_noise.released_counts(released, LAWS)
        noisy = noisy._replace(**{k: v for k, v in wrong.items() if k in Released._fields})
        for _ in range(2):
            advance(*both, prior, noisy, plan, rng)
        return both

    return joint_distribution_test(draw_all, add_noise, sampler, features, draws=draws, rng=rng)


@pytest.mark.parametrize("draws", [1000, pytest.param(3000, marks=pytest.mark.audit)])
def test_sweeps_leave_the_joint_law(draws: int) -> None:
    """As many draws as show each of the planted errors below; `make audit` has three times as many."""
    assert joint(draws).agrees(LIMIT)


@pytest.mark.parametrize(
    "wrong",
    [
        {"log_sizes": np.zeros(HIGHEST + 1)},  # the number of splits of the whole forgotten
        pytest.param({"scale": np.array([3.0, 2.0])}, marks=pytest.mark.audit),  # the scale of one noise law doubled
        {"scale": np.array([1.5, 1.0])},  # the scale of the other halved
        {"transition": 0.1},
        pytest.param({"emission": 0.2}, marks=pytest.mark.audit),
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_planted_errors_are_caught(wrong: dict[str, Any]) -> None:
    assert not joint(**wrong).agrees(LIMIT)


# ---- whole chains ----------------------------------------------------------------------------------------------------


def test_states_are_recovered_where_pretending_exactness_fails() -> None:
    """Of seeds 4 to 9 one table, the first, has a chain in four that merges two states; this is the second."""
    from sklearn.metrics import adjusted_rand_score

    family = HiddenMarkov(8, 30, 3, (("type", 8), ("category", 30), ("flag", 2)), 1.0, 1.0)
    rng = np.random.default_rng(5)
    exact = np.repeat(rng.integers(3, size=(8, 6)), 5, axis=1)
    totals = rng.poisson(80, size=exact.shape)
    law = DiscreteLaplace(8.0)
    counts = {}
    for name, levels in family.fields:
        truth = rng.multinomial(totals, rng.dirichlet(np.ones(levels), size=3)[exact])
        counts[name] = truth + np.round(rng.laplace(0.0, law.scale, size=truth.shape))
    aware = noise_aware_chains(
        family, counts, dict.fromkeys(counts, law), KnownSize(int(totals.sum())), rng, draws=20, warm_up=200, chains=2
    )
    naive = hidden_chains(family, counts, rng, draws=20, chains=2)
    scores = {
        key: [adjusted_rand_score(exact.ravel(), found.states[chain, -1].ravel()) for chain in range(2)]
        for key, found in (("aware", aware), ("naive", naive))
    }
    assert min(scores["aware"]) > 0.85
    assert max(scores["naive"]) < 0.5
    assert aware.totals is not None
    assert np.all(aware.totals.sum((-1, -2)) == totals.sum())
    assert np.sqrt(np.mean((aware.totals.mean((0, 1)) - totals) ** 2)) < 12.0  # one noisy flag alone: deviation 16


def test_totals_of_ignored_cells_complete_the_whole_and_progress_is_told() -> None:
    family = HiddenMarkov(2, 3, 2, (("a", 2), ("b", 3)), 1.0, 1.0)
    rng = np.random.default_rng(5)
    counts = {name: rng.integers(-2, 9, size=(2, 3, levels)) for name, levels in family.fields}
    laws = {"a": DiscreteLaplace(2.0), "b": DiscreteGaussian(2.0)}
    observed = np.array([[True, False, True], [True, True, False]])
    told: list[int] = []
    found = noise_aware_chains(
        family,
        counts,
        laws,
        KnownSize(60),
        rng,
        draws=50,
        warm_up=50,
        chains=3,
        observed=observed,
        progress=told.append,
    )
    assert found.totals is not None
    assert found.totals.shape == (3, 50, 2, 3)
    assert found.totals.min() >= 0
    assert np.all(found.totals.sum((-1, -2)) == 60)
    assert sum(told) == 300
    assert found.profiles["b"].shape == (3, 50, 2, 3)
    other = {name: np.where(observed[..., None], values, 500) for name, values in counts.items()}
    pair = [
        noise_aware_chains(family, c, laws, UniformSizes(90), np.random.default_rng(0), draws=5, observed=observed)
        for c in (counts, other)
    ]
    np.testing.assert_array_equal(pair[0].totals, pair[1].totals)
    np.testing.assert_array_equal(pair[0].states, pair[1].states)


def test_starting_counts_are_whole_not_negative_and_add_up() -> None:
    rng = np.random.default_rng(6)
    sums = rng.integers(0, 50, size=200)
    values = rng.normal(5.0, 20.0, size=(200, 7))
    counts = hidden_noise._nearest_counts(values, sums)
    assert counts.min() >= 0
    np.testing.assert_array_equal(counts.sum(1), sums)
    exact = rng.integers(0, 9, size=(50, 4))
    np.testing.assert_array_equal(hidden_noise._nearest_counts(exact.astype(float), exact.sum(1)), exact)


def test_what_does_not_fit_is_refused() -> None:
    family = HiddenMarkov(1, 2, 2, (("a", 2),), 1.0, 1.0)
    counts, rng = {"a": np.zeros((1, 2, 2))}, np.random.default_rng(0)
    with pytest.raises(QueryError, match="laws"):
        noise_aware_chains(family, counts, {}, KnownSize(3), rng)
    with pytest.raises(QueryError, match="at least one cell"):
        noise_aware_chains(
            family, counts, {"a": DiscreteLaplace(1.0)}, KnownSize(3), rng, observed=np.zeros((1, 2), dtype=bool)
        )
