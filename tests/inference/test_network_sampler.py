"""Chains for discrete networks: enumeration, naive Bayes, calibration with planted twins, mixing, refusals."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import gammaln

from discreet.auditing.rank_tests import rank_uniformity
from discreet.errors import QueryError
from discreet.inference.diagnostics import bulk_ess, split_rhat
from discreet.inference.network import network_chains as network
from discreet.inference.network import network_walk
from discreet.inference.network.network_chains import network_chains
from discreet.noise import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from discreet.posterior import naive_bayes_from_tables
from discreet.schema.row_counts import KnownSize, NormalSizes, Sizes, UniformSizes
from thinned import thinned

Arrays = dict[str, np.ndarray]

PAIR = {"a": (), "b": ("a",)}
COLLIDER = {"a": (), "b": (), "c": ("a", "b")}
CHAIN = {"a": (), "b": ("a",), "c": ("b",)}


@pytest.fixture(params=["counts", "records"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which of the two walks runs: small networks take that on counts unless told otherwise."""
    if request.param == "records":
        monkeypatch.setattr(network_walk, "FEW_CODES", 0)
        monkeypatch.setattr(network_walk, "MANY_CODES", 0)
    return str(request.param)


def family_tables(parents: Mapping[str, tuple[str, ...]], records: Arrays, levels: int = 2) -> Arrays:
    tables = {}
    for name, above in parents.items():
        tables[name] = np.zeros((levels,) * (len(above) + 1))
        np.add.at(tables[name], tuple(records[other] for other in (*above, name)), 1.0)
    return tables


def draw_records(parents: Mapping[str, tuple[str, ...]], theta: Arrays, n: int, rng: np.random.Generator) -> Arrays:
    records: Arrays = {}
    for name, above in parents.items():
        rows = theta[name][tuple(records[other] for other in above)] if above else np.tile(theta[name], (n, 1))
        records[name] = (rng.random(n)[:, np.newaxis] > np.cumsum(rows, axis=1)[:, :-1]).sum(axis=1)
    return records


def add_noise(tables: Arrays, law: NoiseLaw, rng: np.random.Generator) -> Arrays:
    support = np.arange(-2000, 2001)
    weights = np.exp(law.log_density(support))
    return {
        name: table + rng.choice(support, size=table.shape, p=weights / weights.sum()) for name, table in tables.items()
    }


def exact_means(
    parents: Mapping[str, tuple[str, ...]], alphas: Arrays, released: Arrays, law: NoiseLaw, sizes: Sizes
) -> Arrays:
    """Posterior means by summing over every multiset of records."""
    codes = list(itertools.product(range(2), repeat=len(parents)))
    means: Arrays = {name: np.zeros_like(alpha) for name, alpha in alphas.items()} | {"n": np.zeros(())}
    evidence = 0.0
    for n in range(sizes.lowest, sizes.highest + 1):
        for chosen in itertools.combinations_with_replacement(range(len(codes)), n):
            columns = np.array([codes[i] for i in chosen], dtype=int).reshape(n, len(parents)).T
            tables = family_tables(parents, dict(zip(parents, columns, strict=True)))
            multiplicity = np.bincount(np.array(chosen, dtype=int), minlength=len(codes))
            log_weight = gammaln(n + 1) - gammaln(multiplicity + 1).sum() + float(sizes.log_weight(n))
            for name, alpha in alphas.items():
                shape = alpha + tables[name]
                log_weight += (gammaln(shape) - gammaln(alpha)).sum()
                log_weight -= (gammaln(shape.sum(-1)) - gammaln(alpha.sum(-1))).sum()
                log_weight += law.log_density(released[name] - tables[name]).sum()
            weight = np.exp(log_weight)
            evidence += weight
            means["n"] += weight * n
            for name, alpha in alphas.items():
                shape = alpha + tables[name]
                means[name] += weight * shape / shape.sum(-1, keepdims=True)
    return {name: mean / evidence for name, mean in means.items()}


SMALL = {
    "pair-laplace": (PAIR, KnownSize(3), DiscreteLaplace(1.5)),
    "pair-gaussian": (PAIR, KnownSize(3), DiscreteGaussian(1.2)),
    "collider-laplace": (COLLIDER, KnownSize(4), DiscreteLaplace(1.5)),
    "collider-gaussian": (COLLIDER, KnownSize(4), DiscreteGaussian(1.2)),
    "pair-private-laplace": (PAIR, UniformSizes(5), DiscreteLaplace(1.5)),
    "pair-private-gaussian": (PAIR, UniformSizes(5), DiscreteGaussian(1.2)),
    "collider-private-laplace": (COLLIDER, NormalSizes(2.0, 1.0, 4), DiscreteLaplace(1.5)),
    "collider-private-gaussian": (COLLIDER, NormalSizes(2.0, 1.0, 4), DiscreteGaussian(1.2)),
}
KEPT = ("pair-gaussian", "collider-private-laplace")  # both laws, both kinds of size, both graphs; both ways


@pytest.mark.parametrize(
    ("parents", "sizes", "law"),
    [pytest.param(*case, id=name, marks=[] if name in KEPT else [pytest.mark.audit]) for name, case in SMALL.items()],
)
def test_means_equal_enumeration(way: str, parents: Mapping[str, tuple[str, ...]], sizes: Sizes, law: NoiseLaw) -> None:
    """Within 5 Monte Carlo errors; 16 runs, 4 of them in `make test`, of at most 13 free numbers: false alarm 1.2e-4."""
    rng = np.random.default_rng(5)
    alphas = {name: rng.uniform(0.5, 3.0, (2,) * (len(above) + 1)) for name, above in parents.items()}
    released = {name: rng.integers(-1, 4, alpha.shape).astype(float) for name, alpha in alphas.items()}
    laws = dict.fromkeys(parents, law)
    found = network_chains(alphas, parents, released, laws, sizes, np.random.default_rng(6))
    for name, mean in exact_means(parents, alphas, released, law, sizes).items():
        error = found[name].std(axis=(0, 1)) / np.sqrt(bulk_ess(found[name]))
        assert np.all(np.abs(found[name].mean(axis=(0, 1)) - mean) <= 5.0 * error + 1e-9), (name, way)


def test_naive_bayes_graph_agrees_with_the_exact_posterior(way: str) -> None:
    """n = 60; the class table itself gets so much noise that it says nothing. 5 errors, 10 numbers: 6e-6."""
    rng = np.random.default_rng(8)
    parents: dict[str, tuple[str, ...]] = {"class": (), "u": ("class",), "v": ("class",)}
    theta = {"class": np.array([0.3, 0.7]), "u": np.array([[0.2, 0.8], [0.6, 0.4]]), "v": np.full((2, 2), 0.5)}
    law = DiscreteLaplace(3.0)
    released = add_noise(family_tables(parents, draw_records(parents, theta, 60, rng)), law, rng)
    features = {name: released[name] for name in ("u", "v")}
    priors = {"u": np.array([1.0, 2.0]), "v": np.array([0.5, 0.5])}
    levels = dict.fromkeys(features, ("0", "1"))
    laws = dict.fromkeys(features, law)
    exact = naive_bayes_from_tables(features, KnownSize(60), [1.0, 1.0], priors, laws, ("A", "B"), levels)
    found = network_chains(
        {"class": 1.0, **priors}, parents, released, {"class": DiscreteLaplace(2.0**50), **laws}, KnownSize(60), rng
    )
    for name, mean in exact.mean().items():
        error = found[name].std(axis=(0, 1)) / np.sqrt(bulk_ess(found[name])) + exact.sd()[name] / np.sqrt(20_000)
        np.testing.assert_array_less(np.abs(found[name].mean(axis=(0, 1)) - mean), 5.0 * error)
        np.testing.assert_allclose(found[name].std(axis=(0, 1)), exact.sd()[name], rtol=0.15)


ALPHAS = {"a": np.array([2.0, 1.0]), "b": np.full((2, 2), 1.5), "c": np.array([[8.0, 2.0], [2.0, 6.0]])}


def calibrate(
    law: NoiseLaw,
    sizes: Sizes,
    *,
    seed: int,
    draws: int = 60,
    assumed_law: NoiseLaw | None = None,
    assumed_alphas: Mapping[str, object] | None = None,
    assumed_sizes: object = None,
    runs: int = 300,
) -> Arrays:
    """Ranks of true values among every third state, ties broken at random."""
    rng = np.random.default_rng(seed)
    cells = {"a": (0,), "b": (0, 0), "c": (1, 0), "n": ()}
    ranks = {name: np.empty(runs) for name in cells}
    for run in range(runs):
        truth = {name: np.apply_along_axis(rng.dirichlet, -1, alpha) for name, alpha in ALPHAS.items()}
        n = sizes.sample(rng)
        released = add_noise(family_tables(CHAIN, draw_records(CHAIN, truth, n, rng)), law, rng)
        found = network_chains(
            assumed_alphas or ALPHAS,
            CHAIN,
            released,
            dict.fromkeys(CHAIN, assumed_law or law),
            assumed_sizes or sizes,  # type: ignore[arg-type]
            rng,
            draws=draws,
            chains=1,
        )
        for name, cell in cells.items():
            kept, value = found[name][(0, slice(None, None, 3), *cell)], n if name == "n" else truth[name][cell]
            below, tied = np.sum(kept < value), np.sum(kept == value)
            ranks[name][run] = (below + rng.random() * (tied + 1)) / (kept.size + 1)
    return ranks


@pytest.fixture
def short_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "WARM_UP", 30)


@pytest.mark.usefixtures("short_warm_up")
@pytest.mark.parametrize(
    ("way", "law", "sizes", "runs"),
    [
        pytest.param("counts", DiscreteGaussian(10.0), KnownSize(100), 300, marks=pytest.mark.audit),
        pytest.param("counts", DiscreteLaplace(8.0), NormalSizes(100.0, 15.0, 200), 300, marks=pytest.mark.audit),
        pytest.param("records", DiscreteLaplace(8.0), KnownSize(100), 300, marks=pytest.mark.audit),
        pytest.param("records", DiscreteGaussian(10.0), NormalSizes(100.0, 15.0, 200), 300, marks=pytest.mark.audit),
        ("records", DiscreteGaussian(10.0), NormalSizes(100.0, 15.0, 200), 100),
    ],
    ids=[
        "counts-gaussian-public",
        "counts-laplace-private",
        "records-laplace-public",
        "records-gaussian-private",
        "a hundred",
    ],
    indirect=["way"],
)
def test_ranks_of_the_truth_are_uniform(way: str, law: NoiseLaw, sizes: Sizes, runs: int) -> None:
    """Two tests of each of 3 or 4 parameters in four settings, each pair at 1e-4: false alarm 1.4e-3 in total.

    `make test` has 100 ranks of one with a private size, whose moves are those of the others and more: false alarm 4e-4.
    Power, of one parameter: too narrow by 25% is seen by 300 with probability 0.998, by 100 with 0.64, by 35% with 0.99
    by 100; too wide by 30% by 300 with 0.97, by half by 100 with 0.91; shifted by 0.4 of its deviation by 300 with
    0.95, by 0.65 by 100 with 0.93.
    """
    ranks = calibrate(law, sizes, seed=11, runs=runs)
    checked = ["a", "b", "c"] + ["n"] * (sizes.lowest < sizes.highest)
    for name in checked:
        assert rank_uniformity(ranks[name]).uniform(), (name, str(rank_uniformity(ranks[name])))


@dataclass(frozen=True)
class Inverted:
    """A twin of a prior on sizes whose births and deaths are weighed the wrong way round."""

    sizes: NormalSizes

    @property
    def lowest(self) -> int:
        return self.sizes.lowest

    @property
    def highest(self) -> int:
        return self.sizes.highest

    def log_weight(self, totals: np.ndarray) -> np.ndarray:
        right = self.sizes.log_weight(totals)
        return np.where(np.isfinite(right), -right, -np.inf)


@pytest.mark.usefixtures("short_warm_up")
@pytest.mark.parametrize(
    ("sizes", "wrong", "seen_in"),
    [
        (UniformSizes(200), {"assumed_law": DiscreteGaussian(4.0), "draws": 120, "runs": 100}, "n"),
        pytest.param(
            UniformSizes(200), {"assumed_law": DiscreteGaussian(7.5), "draws": 120}, "n", marks=pytest.mark.audit
        ),
        pytest.param(KnownSize(30), {"assumed_alphas": dict.fromkeys(CHAIN, 1.0)}, "c", marks=pytest.mark.audit),
        pytest.param(
            NormalSizes(100.0, 15.0, 200),
            {"assumed_sizes": Inverted(NormalSizes(100.0, 15.0, 200))},
            "n",
            marks=pytest.mark.audit,
        ),
    ],
    ids=["noise too small", "noise a quarter too small", "prior dropped", "births and deaths inverted"],
)
def test_planted_twins_fail(sizes: Sizes, wrong: dict[str, object], seen_in: str) -> None:
    ranks = calibrate(DiscreteGaussian(10.0), sizes, seed=12, **wrong)  # type: ignore[arg-type]
    assert not rank_uniformity(ranks[seen_in]).uniform(), str(rank_uniformity(ranks[seen_in]))


@pytest.mark.parametrize(
    ("scale", "n"),
    thinned(itertools.product((2.0, 60.0), (100, 100_000)), lambda cell: cell == (60.0, 100_000), several=True),
)
def test_the_default_run_mixes(n: int, scale: float) -> None:
    rng = np.random.default_rng(3)
    theta = {
        "a": np.array([0.7, 0.3]),
        "b": np.array([[0.6, 0.4], [0.2, 0.8]]),
        "c": np.array([[0.9, 0.1], [0.4, 0.6]]),
    }
    law = DiscreteLaplace(scale)
    released = add_noise(family_tables(CHAIN, draw_records(CHAIN, theta, n, rng)), law, rng)
    for sizes in (KnownSize(n), UniformSizes(2 * n)):
        found = network_chains(dict.fromkeys(CHAIN, 1.0), CHAIN, released, dict.fromkeys(CHAIN, law), sizes, rng)
        for name, draws in found.items():
            assert np.all(bulk_ess(draws) >= 400), (name, bulk_ess(draws))
            assert np.all(split_rhat(draws) < 1.02), name


def test_many_records_and_little_noise_start_at_the_release(way: str) -> None:
    """The tables end within the noise of the release, however far sampling error put the first records."""
    n = 300_000
    released = {"a": np.array([100_000.0, 200_000.0]), "b": np.array([[30_000.0, 70_000.0], [150_000.0, 50_000.0]])}
    laws = dict.fromkeys(PAIR, DiscreteLaplace(2.0))
    alphas = dict.fromkeys(PAIR, 1.0)
    found = network_chains(alphas, PAIR, released, laws, KnownSize(n), np.random.default_rng(1), draws=200, chains=2)
    expected = found["b"].mean(axis=(0, 1)), np.array([[0.3, 0.7], [0.75, 0.25]])
    np.testing.assert_allclose(*expected, atol=6 * np.sqrt(0.25 / 100_000 / 100))
    assert found["n"].shape == (2, 200)
    assert np.all(found["n"] == n), way


def test_seeds_and_progress() -> None:
    told: list[int] = []
    released = {"a": [3.0, 2.0], "b": [[1.0, 2.0], [0.0, 3.0]]}
    laws, alphas = dict.fromkeys(PAIR, DiscreteLaplace(2.0)), dict.fromkeys(PAIR, 1.0)

    def run(seed: int) -> Arrays:
        rng = np.random.default_rng(seed)
        return network_chains(
            alphas, PAIR, released, laws, UniformSizes(9), rng, draws=100, chains=3, progress=told.append
        )

    first, again, other = run(1), run(1), run(2)
    assert sum(told) == 3 * 3 * (network.WARM_UP + 100)
    for name, draws in first.items():
        np.testing.assert_array_equal(draws, again[name])
        assert not np.array_equal(draws, other[name])
    assert first["b"].shape == (3, 100, 2, 2)
    np.testing.assert_allclose(first["b"].sum(axis=-1), 1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parents": {"a": ("b",), "b": ()}}, "earlier nodes"),
        ({"parents": {"a": (), "b": ("a", "a")}}, "earlier nodes"),
        ({"parents": {"a": ()}}, "nodes of alphas"),
        ({"tables": {"a": [1.0, 2.0], "b": [1.0, 2.0]}}, "of shape"),
        ({"tables": {"a": [1.0, np.nan], "b": [[1.0, 2.0]] * 2}}, "finite"),
        ({"alphas": {"a": 1.0, "b": [0.0, 1.0]}}, "above 0"),
        ({"alphas": {"a": [1.0, 1.0, 1.0], "b": 1.0}}, "fit the shape"),
    ],
)
def test_refusals(change: dict[str, object], words: str) -> None:
    arguments = {
        "alphas": dict.fromkeys(PAIR, 1.0),
        "parents": PAIR,
        "tables": {"a": [1.0, 2.0], "b": [[1.0, 2.0]] * 2},
        "laws": dict.fromkeys(PAIR, DiscreteLaplace(1.0)),
    }
    with pytest.raises(QueryError, match=words):
        network_chains(**{**arguments, **change}, sizes=KnownSize(3), rng=np.random.default_rng(0))  # type: ignore[arg-type]


def test_too_many_different_records_are_refused() -> None:
    names = [f"x{i}" for i in range(62)]
    tables = dict.fromkeys(names, (1.0, 1.0))
    laws = dict.fromkeys(names, DiscreteLaplace(1.0))
    with pytest.raises(QueryError, match="2\\^62"):
        network_chains(
            dict.fromkeys(names, 1.0), dict.fromkeys(names, ()), tables, laws, KnownSize(2), np.random.default_rng(0)
        )
