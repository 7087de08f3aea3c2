"""Predictions from released draws are the model's own records, or there are none: a number in [0, 1] proves nothing.

Every pair of model and mechanism whose release is read as draws is asked; the draws are moved into [0, 1], where the
guess "this must be a probability" was once made.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.inference.counts.simplex import draw_codes
from discreet.posterior import Draws
from discreet.release import Release
from pairs import Pair, valid_pairs

RECORDS = 20_000
ERRORS = 5.0  # standard errors: 6e-7 for one moment, below 1e-4 for all of them together

Moments = tuple[np.ndarray, np.ndarray]


def exponential(model: Any, draws: dict[str, Any], records: Any) -> Moments:
    rate = draws["rate"]
    return np.array([records.mean(), (records > 1).mean()]), np.array([(1 / rate).mean(), np.exp(-rate).mean()])


def poisson(model: Any, draws: dict[str, Any], records: Any) -> Moments:
    rate = draws["rate"]
    due = [rate.mean(), np.exp(-rate).mean(), (1 - np.exp(-rate) * (1 + rate)).mean()]
    return np.array([records.mean(), (records == 0).mean(), (records > 1).mean()]), np.array(due)


def normal(model: Any, draws: dict[str, Any], records: Any) -> Moments:
    mean = draws["mean"]
    within = np.minimum(model.sd**2, mean * (100.0 - mean))  # no column from 0 to 100 has more
    due = [mean.mean(), np.sqrt(within.mean() + mean.var())]
    return np.array([records.mean(), records.std()]), np.array(due)


def bernoulli(model: Any, draws: dict[str, Any], records: Any) -> Moments:
    due = [1 - draws["probability"].mean(), draws["probability"].mean()]
    return np.bincount(records, minlength=2) / records.size, np.array(due)


def levels(model: Any, draws: dict[str, Any], records: Any) -> Moments:
    return np.bincount(records, minlength=3) / records.size, draws["probabilities"].mean(axis=0)


def classes(model: Any, draws: dict[str, Any], records: Any) -> Moments:
    """Pairs of class and level, of every feature."""
    found, due = [], []
    for name in model.features:
        joint = np.einsum("dc,dcl->cl", draws["class"], draws[name]) / len(draws["class"])
        found.append((np.arange(joint.size) == (records["class"] * joint.shape[1] + records[name])[:, None]).mean(0))
        due.append(joint.ravel())
    return np.concatenate(found), np.concatenate(due)


def network(model: Any, draws: dict[str, Any], records: Any) -> Moments:
    joint = np.einsum("dw,dws->ws", draws["ward"], draws["stage"]) / len(draws["ward"])
    return (np.arange(joint.size) == (records["ward"] * 2 + records["stage"])[:, None]).mean(0), joint.ravel()


LAWS: dict[str, Callable[[Any, dict[str, Any], Any], Moments]] = {
    "BayesianNetwork": network,
    "BetaBernoulli": bernoulli,
    "DirichletCategorical": levels,
    "GammaExponential": exponential,
    "GammaPoisson": poisson,
    "NaiveBayes": classes,
    "NormalMean": normal,
}
WITHOUT_LAW = {"StatisticalQuery"}  # the average of the rows that are there says nothing of another row


def released(pair: Pair) -> Release:
    (release,) = dc.simulate(pair.model, pair.dataset(), pair.mechanism, runs=1, seed=3)
    return release


def squeezed(posterior: Draws) -> Draws:
    """The same with forty draws in [0, 1]; probabilities still add up to 1."""
    rng = np.random.default_rng(5)
    values = {
        name: rng.dirichlet(np.ones(array.shape[-1]), (40, *array.shape[1:-1]))
        if array.ndim > 1
        else rng.uniform(0.2, 0.9, 40)
        for name, array in posterior.values.items()
    }
    return replace(posterior, values=values, declared=None)  # codes, as the law draws them


def pairs_with_draws() -> Iterator[tuple[str, Pair]]:
    seen = set()
    for pair in valid_pairs():
        model, mechanism = type(pair.model).__name__, type(pair.mechanism).__name__
        kind = mechanism.replace("Diffused", "Direct").replace("Concentrated", "Direct")  # one reader for the three
        if (
            mechanism in ("NoisyStatistics", "NoisyScore", "GibbsPosterior")
            or model == "EventLogHMM"
            or (model, kind) in seen
        ):
            continue
        seen.add((model, kind))
        yield model, pair


def check(model: str, pair: Pair) -> None:
    """The release as it is predicts; with draws in [0, 1] the moments are those of the record law."""
    read = released(pair).posterior()
    assert isinstance(read, Draws)
    for posterior in (read, squeezed(read)):
        if model in WITHOUT_LAW:
            with pytest.raises(dc.QueryError, match=r"Draws\.simulate must have the law of a record given \['mean'\]"):
                posterior.predict(3)
            return
        records = posterior.predict(RECORDS, np.random.default_rng(7))
    found, due = LAWS[model](pair.model, posterior.values, records)
    first = records if isinstance(records, np.ndarray) else next(iter(records.values()))
    assert np.all(np.abs(found - due) < ERRORS * max(1.0, float(first.std())) / np.sqrt(RECORDS)), (found, due)


PAIRS = list(pairs_with_draws())
IDS = [pair.name for _, pair in PAIRS]


def test_every_model_with_draws_has_a_law_or_a_refusal() -> None:
    assert {model for model, _ in PAIRS} == LAWS.keys() | WITHOUT_LAW


@pytest.mark.parametrize(("model", "pair"), PAIRS, ids=IDS)
def test_predictions_follow_the_law_of_the_model(model: str, pair: Pair) -> None:
    check(model, pair)


def guessed(self: Draws, n: int, rng: np.random.Generator) -> Any:
    """The old guess: whatever lies in [0, 1] is a probability."""
    array = next(iter(self.values.values()))
    if len(self.values) != 1 or array.ndim > 2 or array.min() < 0.0 or array.max() > 1.0:
        raise dc.QueryError(f"Draws.predict must have one vector of probabilities, got {sorted(self.values)}")
    chosen = array[rng.integers(self.draws, size=n)]
    return (rng.random(n) < chosen).astype(np.int64) if array.ndim == 1 else draw_codes(chosen, rng)


def test_planted_guess_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Draws, "_new_records", guessed)
    red = set()
    for model, pair in PAIRS:
        try:
            check(model, pair)
        except (AssertionError, dc.QueryError, pytest.fail.Exception):
            red.add(model)
    assert red == (LAWS.keys() | WITHOUT_LAW) - {"BetaBernoulli", "DirichletCategorical"}


def test_waiting_times_are_not_zeros_and_ones() -> None:
    """As reported: rates of about a half came out as codes."""
    schema = dc.Schema({"wait": dc.Bounded(0, 8)}, n=200)
    model, mechanism = dc.GammaExponential("wait", prior=(6.0, 12.0)), dc.DirectSample(draws=3)
    (release,) = dc.simulate(model, None, mechanism, runs=1, seed=1, n=200, schema=schema)
    times = release.posterior().predict(50, np.random.default_rng(1))
    assert len(np.unique(times)) > 45  # some are clamped
    assert times.max() <= 8


def test_a_hidden_chain_predicts_its_profiles() -> None:
    """Events of a chain: the profile of the state of a cell, cells alike, averaged over the chain."""
    for pair in valid_pairs():
        if type(pair.model).__name__ != "EventLogHMM" or type(pair.mechanism).__name__ == "NoisyStatistics":
            continue
        posterior = released(pair).posterior()
        states = posterior.cells.reshape(-1, *posterior.cells.shape[2:])
        profiles = posterior.parameters.chains["stage"].reshape(len(states), -1, 2)
        each = np.arange(len(states))[:, None, None]
        due = profiles[each, states].mean(axis=(0, 1, 2))
        events = replace(posterior, declared=None).predict(RECORDS, np.random.default_rng(3))
        assert np.abs(np.bincount(events["stage"], minlength=2) / RECORDS - due).max() < ERRORS / np.sqrt(RECORDS)


def test_rates_at_the_edge_of_doubles_still_predict() -> None:
    """A rate that the grid rounds to 0, and one above what integers hold."""
    for model, rates in ((dc.GammaExponential("wait"), [0.0, 1e-310]), (dc.GammaPoisson("visits"), [0.0, 1e30])):
        schema = dc.Schema({"wait": dc.Bounded(0, 8), "visits": dc.Count(9)})
        draws = Draws({"rate": np.array(rates)}, record=model.record_law(schema))
        assert np.all(np.isfinite(draws.predict(20, np.random.default_rng(1))))
