"""The noise as a log-likelihood: it conditions a model of one's own as the built-in posterior is conditioned."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discreet as dc
from pairs import COLUMNS, ROWS, small_table

SCHEMA = dc.Schema(COLUMNS, n=ROWS)
MECHANISMS = [dc.NoisyStatistics(epsilon=0.7), dc.NoisyStatistics(rho=0.2)]


def released(model: Any, mechanism: Any, seed: int = 5) -> dc.Release:
    (found,) = dc.simulate(model, dc.open(small_table(), SCHEMA, id="own"), mechanism, runs=1, seed=seed)
    return found


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["laplace", "gauss"])
def test_probabilities_of_all_releases_add_up(mechanism: Any) -> None:
    """At one exact count, over every number that could have been released: a law, not something like one."""
    told = dc.likelihood(released(dc.BetaBernoulli("smoker"), mechanism))
    y = int(told.released["ones"])
    log_probs = told.log_prob({"ones": np.arange(y - 400, y + 401)})  # f is even: as y moves, so moves the count
    assert np.exp(log_probs).sum() == pytest.approx(1.0, abs=1e-12)
    assert told.total == ROWS
    assert (told.names, told.shapes) == (("ones",), {"ones": ()})


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["laplace", "gauss"])
def test_enumeration_with_it_is_the_built_in_posterior_of_a_share(mechanism: Any) -> None:
    release = released(dc.BetaBernoulli("smoker", prior=(2.0, 3.0)), mechanism)
    k = np.arange(ROWS + 1)
    log_joint = stats.betabinom(ROWS, 2.0, 3.0).logpmf(k) + dc.likelihood(release).log_prob(k)
    weights = np.exp(log_joint)
    assert weights @ ((2.0 + k) / (5.0 + ROWS)) / weights.sum() == pytest.approx(release.posterior().mean(), rel=1e-10)
    assert np.log(weights.sum()) == pytest.approx(release.posterior().log_evidence(), rel=1e-10)


def test_enumeration_with_it_is_the_built_in_posterior_of_levels() -> None:
    """Leading axes are a batch: all tables of 24 rows in one call."""
    release = released(dc.DirichletCategorical("ward", prior=1.0), MECHANISMS[0])
    a, b = np.meshgrid(np.arange(ROWS + 1), np.arange(ROWS + 1), indexing="ij")
    tables = np.stack([a, b, ROWS - a - b], axis=-1)[a + b <= ROWS]
    weights = np.exp(dc.likelihood(release).log_prob({"counts": tables}))  # uniform prior: all tables alike
    means = weights @ (tables + 1.0) / (ROWS + 3.0) / weights.sum()
    assert means == pytest.approx(release.posterior().mean(), rel=1e-10)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["laplace", "gauss"])
def test_quadrature_with_it_is_the_built_in_posterior_of_a_mean(mechanism: Any) -> None:
    """A sum of many rows is normal; bounds are far away. Natural units: the sum over rows of (x - centre)."""
    n, sd = 400, 5.0
    ages = np.random.default_rng(3).normal(52.0, sd, n)
    data = dc.open(pd.DataFrame({"age": ages}), dc.Schema({"age": dc.Bounded(0, 100)}), id="own")
    (release,) = dc.simulate(dc.NormalMean("age", sd=sd, prior=(50.0, 10.0)), data, mechanism, runs=1, seed=1)
    told = dc.likelihood(release).natural
    ((centre,),) = told.centres.values()
    theta = np.linspace(40.0, 62.0, 701)
    sums = np.linspace(-3000.0, 3000.0, 6001)
    noisy = np.exp(told.log_prob({"sum": sums}))
    given = stats.norm.pdf(sums, n * (theta[:, np.newaxis] - centre), sd * np.sqrt(n)) @ noisy
    weights = given * stats.norm.pdf(theta, 50.0, 10.0)
    mean = weights @ theta / weights.sum()
    assert mean == pytest.approx(release.posterior().mean(), abs=0.02 * release.posterior().sd())


def test_whole_numbers_of_any_size_lose_no_digit() -> None:
    release = released(dc.Normal("age"), MECHANISMS[0])
    told = dc.likelihood(release)
    far = {name: int(array) for name, array in told.released.items()}
    moved = type(told)(
        {name: np.asarray(number + 2**80, dtype=object) for name, number in far.items()},
        told.laws, told.units, told.centres, told.total, told.steps,
    )  # fmt: skip
    shifted = {name: np.asarray(number + 2**80 - 3, dtype=object) for name, number in far.items()}
    near = {name: np.asarray(number - 3) for name, number in far.items()}
    assert moved.log_prob(shifted) == told.log_prob(near)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["laplace", "gauss"])
def test_the_form_for_other_libraries_says_the_same(mechanism: Any) -> None:
    told = dc.likelihood(released(dc.LinearRegression("pressure", ("age", "ward")), mechanism))
    rng = np.random.default_rng(2)
    one = {name: rng.normal(size=(7, *shape)) * 1e3 for name, shape in told.shapes.items()}
    assert told.differentiable(one) == pytest.approx(told.log_prob(one), rel=1e-12)
    some = told.only(*told.names[:2])
    assert some.log_prob({name: one[name] for name in some.names}).shape == (7,)


def test_a_law_off_by_a_tenth_would_be_seen() -> None:
    """The twin: a scale that is not the one the noise was drawn with."""
    told = dc.likelihood(released(dc.BetaBernoulli("smoker"), MECHANISMS[0]))
    wrong = type(told)(
        told.released, {"ones": dc.DiscreteLaplace(told.laws["ones"].scale * 1.1)}, told.units, told.centres,
        told.total, told.steps,
    )  # fmt: skip
    k = np.arange(ROWS + 1)
    assert abs(wrong.log_prob(k) - told.log_prob(k)).max() > 0.05


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: dc.likelihood("a.json"), "must be a Release"),
        (
            lambda: dc.likelihood(released(dc.BetaBernoulli("smoker"), dc.PosteriorSample(epsilon=0.5, truncation=0.1))),
            "PosteriorSample: no exact statistic stands behind its numbers",
        ),
        (lambda: dc.likelihood(released(dc.Normal("age"), MECHANISMS[0])).log_prob(3.0), "must be arrays by name"),
        (lambda: dc.likelihood(released(dc.Normal("age"), MECHANISMS[0])).log_prob({"n": 1}), "must be named"),
        (lambda: dc.likelihood(released(dc.Normal("age"), MECHANISMS[0])).only("x"), "must be some of"),
        (
            lambda: dc.likelihood(released(dc.DirichletCategorical("ward"), MECHANISMS[0])).log_prob(np.zeros(2)),
            r"shape that ends in \(3,\)",
        ),
    ],
)  # fmt: skip
def test_what_it_cannot_do_is_refused_with_the_reason(call: Any, words: str) -> None:
    with pytest.raises(dc.QueryError, match=words):
        call()


def test_single_precision_that_the_noise_would_notice_is_refused() -> None:
    told = dc.likelihood(released(dc.Normal("age"), dc.NoisyStatistics(epsilon=1e7)))
    with pytest.raises(dc.QueryError, match="jax_enable_x64"):
        told._check_precision(told.names[-1], "float32")
    told._check_precision(told.names[-1], "float64")
