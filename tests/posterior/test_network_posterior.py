"""The posterior of a discrete network: names, shapes, predictions, export, refusals."""

from functools import cache

import numpy as np
import pytest

from discreet.errors import QueryError
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.posterior import dirichlet_from_counts, naive_bayes_from_tables
from discreet.posterior.chains import ChainsPosterior
from discreet.posterior.network_tables import NetworkRecords, network_from_families, network_from_tables
from discreet.schema.row_counts import KnownSize, Sizes, UniformSizes

PARENTS = {"age": (), "smoker": (), "ill": ("age", "smoker")}
LEVELS = {"age": ("young", "middle", "old"), "smoker": ("no", "yes"), "ill": ("no", "yes")}
TABLES = {
    "age": np.array([30.0, 41.0, 28.0]),
    "smoker": np.array([70.0, 33.0]),
    "ill": np.array([[[20.0, 2.0], [7.0, 1.0]], [[25.0, 4.0], [8.0, 5.0]], [[10.0, 7.0], [3.0, 9.0]]]),
}
LAWS = {"age": DiscreteLaplace(2.0), "smoker": DiscreteGaussian(2.0), "ill": DiscreteLaplace(1.0)}


@cache
def posterior(sizes: Sizes) -> ChainsPosterior:
    return network_from_tables(TABLES, sizes, PARENTS, dict.fromkeys(PARENTS, 1.0), LAWS, LEVELS, draws=500)


def test_answers_have_the_axes_of_the_tables() -> None:
    mean, sd = posterior(KnownSize(100)).mean(), posterior(KnownSize(100)).sd()
    assert set(mean) == {"age", "smoker", "ill"}
    for name, table in TABLES.items():
        assert mean[name].shape == sd[name].shape == table.shape
        np.testing.assert_allclose(mean[name].sum(axis=-1), 1.0)
        low, high = posterior(KnownSize(100)).interval(0.9)[name]
        assert np.all((low < mean[name]) & (mean[name] < high))


def test_little_noise_gives_nearly_the_posterior_of_the_exact_tables() -> None:
    counts = {"age": np.array([60.0, 80.0, 60.0]), "smoker": np.array([120.0, 80.0]), "ill": TABLES["ill"] * 0.0}
    counts["ill"] += np.array([[[30.0, 6.0], [20.0, 4.0]], [[40.0, 8.0], [22.0, 10.0]], [[24.0, 12.0], [8.0, 16.0]]])
    laws = dict.fromkeys(PARENTS, DiscreteLaplace(0.05))
    post = network_from_tables(counts, KnownSize(200), PARENTS, dict.fromkeys(PARENTS, 1.0), laws, LEVELS, draws=500)
    for name, table in counts.items():
        exact = (table + 1.0) / (table + 1.0).sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(post.mean()[name], exact, atol=0.015)


def test_the_size_is_a_parameter_only_where_it_is_private() -> None:
    assert "n" not in posterior(KnownSize(100)).mean()
    private = posterior(UniformSizes(300))
    assert 85 < private.mean()["n"] < 115
    assert private.sd()["n"] > 0.5
    assert list(private.summary().index)[:4] == ["age[young]", "age[middle]", "age[old]", "smoker[no]"]
    assert "ill[old, yes, yes]" in str(private)


def test_predicted_records_follow_the_network() -> None:
    """20,000 records; 5 standard errors and the spread of 2,000 draws."""
    post = posterior(KnownSize(100))
    records = post.predict(20_000, np.random.default_rng(1))
    assert set(records) == set(PARENTS)
    assert all(codes.dtype == np.int64 and codes.shape == (20_000,) for codes in records.values())
    mean = post.mean()
    np.testing.assert_allclose(np.bincount(records["age"]) / 20_000, mean["age"], atol=0.02)
    chosen = (records["age"] == 2) & (records["smoker"] == 0)
    assert abs(records["ill"][chosen].mean() - mean["ill"][2, 0, 1]) < 5 * np.sqrt(0.25 / chosen.sum()) + 0.01


def test_records_follow_their_own_parameters() -> None:
    law = NetworkRecords({"a": (), "b": ("a",)})
    theta = {"a": np.array([[1.0, 0.0], [0.0, 1.0]]), "b": np.tile([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], (2, 1, 1))}
    records = law.draw(theta, np.random.default_rng(0))
    np.testing.assert_array_equal(records["a"], [0, 1])
    np.testing.assert_array_equal(records["b"], [2, 1])


def test_the_tree_shares_levels_between_parameters() -> None:
    group = posterior(KnownSize(100)).to_datatree()["posterior"]
    assert group["ill"].dims == ("chain", "draw", "age_level", "smoker_level", "ill_level")
    assert group["age"].dims == ("chain", "draw", "age_level")
    assert list(group["age_level"].values) == ["young", "middle", "old"]
    assert group.sizes["chain"] == 4


def test_the_same_release_gives_the_same_answers() -> None:
    again = network_from_tables(TABLES, KnownSize(100), PARENTS, dict.fromkeys(PARENTS, 1.0), LAWS, LEVELS, draws=500)
    np.testing.assert_array_equal(again.mean()["ill"], posterior(KnownSize(100)).mean()["ill"])


def test_refusals() -> None:
    with pytest.raises(QueryError, match="levels"):
        network_from_tables(TABLES, KnownSize(9), PARENTS, {}, LAWS, {**LEVELS, "age": ("young", "old")})
    with pytest.raises(QueryError, match="nodes of alphas"):
        network_from_tables(TABLES, KnownSize(9), PARENTS, {"age": 1.0}, LAWS, LEVELS)
    with pytest.raises(QueryError, match="log_evidence"):
        posterior(KnownSize(100)).log_evidence()


def test_a_family_is_one_dirichlet_over_its_table() -> None:
    """The same posterior in two other ways: levels of all cells together, and naive Bayes with its class as parent."""
    released, law, sizes = np.array([[12.0, 3.0, -2.0], [7.0, 20.0, 5.0]]), DiscreteLaplace(4.0), KnownSize(50)
    alpha = np.array([[1.0, 2.0, 0.5], [1.5, 1.0, 1.0]])
    levels = {"up": ("0", "1"), "down": ("a", "b", "c")}
    laws = {"up": DiscreteLaplace(4.0), "down": law}
    tables = {"up": released.sum(axis=1), "down": released}
    found = network_from_families(tables, sizes, {"up": (), "down": ("up",)}, {"up": 1.0, "down": alpha}, laws, levels)
    cells = dirichlet_from_counts(released.ravel(), sizes, alpha.ravel(), law, tuple("abcdef"))
    drawn = cells.sample(20_000, np.random.default_rng(1)).reshape(-1, 2, 3)
    rows = drawn / drawn.sum(axis=-1, keepdims=True)
    bayes = naive_bayes_from_tables(
        {"down": released},
        sizes,
        alpha.sum(axis=1),
        {"down": alpha},
        {"down": law},
        levels["up"],
        {"down": levels["down"]},
    )
    for mean in (rows.mean(axis=0), bayes.mean()["down"]):
        np.testing.assert_allclose(found.mean()["down"], mean, atol=5 * rows.std(axis=0).max() * np.sqrt(2 / 8000))
    np.testing.assert_allclose(found.sd()["down"], rows.std(axis=0), rtol=0.06)
    twin = naive_bayes_from_tables(  # the planted error: noise of a quarter of the scale
        {"down": released},
        sizes,
        alpha.sum(axis=1),
        {"down": alpha},
        {"down": DiscreteLaplace(1.0)},
        levels["up"],
        {"down": levels["down"]},
    )
    assert np.any(np.abs(found.sd()["down"] / twin.sd()["down"] - 1.0) > 0.06)


def test_families_mix_at_once_and_take_a_private_size() -> None:
    for sizes in (KnownSize(100), UniformSizes(10**6)):
        found = network_from_families(TABLES, sizes, PARENTS, dict.fromkeys(PARENTS, 1.0), LAWS, LEVELS)
        assert found.mixing.converged
        assert found.mixing.ess > 5000
        assert set(found.mean()) == set(PARENTS)
        assert set(found.predict(5, np.random.default_rng(0))) == set(PARENTS)
