"""PrivateMetropolis: ranges, the exact law of a step on a small grid, the law that long chains reach, refusals."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import discreet as dc
from discreet.accounting.curves import bounded_range_delta, bounded_range_renyi
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import BoundedRange, Repeated
from discreet.mechanisms import MECHANISMS, PrivateMetropolis
from discreet.noise.sources import SeededNoise, SystemNoise
from discreet.recipe import build, describe
from discreet.sources import CodedRows, Dataset

N = 6
SCHEMA = dc.Schema(
    {"x": dc.Binary(), "m": dc.Bounded(0.0, 4.0), "v": dc.Count(4), "t": dc.Bounded(0.0, 2.0)},
    n=N,
)
MODEL = dc.BetaBernoulli("x", prior=(2, 3))
COARSE = {"truncation": 0.125, "grid": 0.0625}  # 13 points, from 2/16 to 14/16
POINTS = np.arange(2, 15) / 16


def sigma(t: float) -> float:
    return 1.0 / (1.0 + math.exp(-t))


def proposals(points: int, scale: float) -> Any:
    """The law of a folded step, by adding up its images."""
    steps = np.arange(-40 * points, 40 * points + 1)
    spread = scale * (points - 1)
    chance = norm.cdf((steps + 0.5) / spread) - norm.cdf((steps - 0.5) / spread)
    matrix = np.zeros((points, points))
    for i in range(points):
        inside = np.mod(i + steps, 2 * points)
        np.add.at(matrix[i], np.minimum(inside, 2 * points - 1 - inside), chance)
    return matrix


def log_target(k: int, temperature: float, n: int = N) -> Any:
    return (1 + k / temperature) * np.log(POINTS) + (2 + (n - k) / temperature) * np.log1p(-POINTS)


def step_law(k: int, temperature: float, scale: float) -> Any:
    """Transition matrix of one step on the 13 points for k ones."""
    logs = log_target(k, temperature)
    accept = 1.0 / (1.0 + np.exp(-(logs[None, :] - logs[:, None])))
    moved = proposals(POINTS.size, scale) * accept
    np.fill_diagonal(moved, 0.0)
    return moved + np.diag(1.0 - moved.sum(axis=1))


def chain(mechanism: PrivateMetropolis, ones: int, seed: int) -> Any:
    cells = np.repeat([0, 1], [N - ones, ones])
    value = mechanism.apply(SeededNoise(seed), MODEL.query(SCHEMA), Dataset("d", SCHEMA, CodedRows({"x": cells})))
    (states,) = value.values()
    return states


def test_the_two_point_example_of_the_notes() -> None:
    """F-MH: Metropolis's rejection tells tables apart by delta(.5) = .3935; Barker's log-ratios stay below .281."""
    metropolis = [min(1.0, math.exp(ratio)) for ratio in (0.0, -0.5)]
    assert metropolis[0] / metropolis[1] == pytest.approx(math.exp(0.5))
    assert 1 - metropolis[1] == pytest.approx(0.3934693403, rel=1e-9)
    laws = [[accept, 1 - accept] for accept in metropolis]
    delta = sum(max(q - math.exp(0.5) * p, 0.0) for p, q in zip(*laws, strict=True))
    assert delta == pytest.approx(0.393469340287, rel=1e-11)
    barker = [sigma(0.0), sigma(-0.5)]
    assert math.log(barker[0] / barker[1]) == pytest.approx(0.28092980362, rel=1e-9)
    assert abs(math.log((1 - barker[0]) / (1 - barker[1]))) <= 0.5
    with pytest.raises(TypeError):
        PrivateMetropolis(epsilon_per_step=1.0, steps=1, acceptance="metropolis")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("model", "space", "spread"),
    [
        (MODEL, {"truncation": 0.1}, 2 * 2.19722457734),
        (dc.NormalMean("m", prior=(2.0, 1.0), sd=2.0), {"interval": (1.0, 3.0)}, 4.0 * 2.0 / 4.0),
        (dc.GammaPoisson("v", prior=(2.0, 1.0)), {"interval": (0.5, 2.0)}, 4.0 * math.log(4.0)),
        (dc.GammaExponential("t", prior=(2.0, 1.0)), {"interval": (0.5, 2.0)}, 2.0 * 1.5),
        (dc.StatisticalQuery("m"), {"truncation": 0.1}, 2 * 2.19722457734),
    ],
)
def test_every_family_of_one_parameter_walks_inside_its_space(model: Any, space: Any, spread: float) -> None:
    query = model.query(SCHEMA)
    mechanism = PrivateMetropolis(epsilon_per_step=0.5, steps=300, **space)
    assert mechanism.temperature(query) == pytest.approx(spread / 0.5, rel=1e-9)
    assert mechanism.guarantee(query) == Repeated(BoundedRange(0.5), 300)
    hot = PrivateMetropolis(epsilon_per_step=100.0, steps=3, **space)
    assert hot.temperature(query) == 1.0
    assert hot.guarantee(query).epsilon(0.0) == pytest.approx(3 * spread, rel=1e-9)
    cells = {"x": np.zeros(N), "m": np.full(N, 0), "v": np.full(N, 2), "t": np.full(N, 0)}
    (states,) = mechanism.apply(SystemNoise(), query, Dataset("d", SCHEMA, CodedRows(cells))).values()
    assert states.shape == mechanism.shapes(query)[query.family.parameter]
    low, high = (float(end) for end in mechanism._bounds(query))
    assert np.all((low <= states) & (states <= high))
    assert np.unique(states).size > 50
    assert np.all(states % mechanism._grid(query) == 0)


def test_the_proposal_is_symmetric() -> None:
    """private_metropolis.md, Lemma 1, with steps so wide that they are folded several times."""
    for scale in (0.05, 0.5, 3.0):
        matrix = proposals(POINTS.size, scale)
        assert matrix.sum(axis=1) == pytest.approx(np.ones(POINTS.size))
        assert np.allclose(matrix, matrix.T, atol=1e-14)


def test_steps_have_the_enumerated_law() -> None:
    """Pairs of successive states of a long chain against the exact transition matrix: all within 5 deviations."""
    mechanism = PrivateMetropolis(epsilon_per_step=1.0, steps=400_000, scale=0.7, **COARSE)
    heat = mechanism.temperature(MODEL.query(SCHEMA))
    places = np.round(chain(mechanism, 4, seed=1) * 16).astype(int) - 2
    exact, visits = step_law(4, heat, 0.7), np.bincount(places[:-1], minlength=13)
    pairs = np.zeros((13, 13))
    np.add.at(pairs, (places[:-1], places[1:]), 1)
    expected = visits[:, None] * exact
    assert np.all(np.abs(pairs - expected) <= 5 * np.sqrt(expected * (1 - exact)) + 1)


def test_long_chains_reach_the_tempered_posterior() -> None:
    """The stationary law is p(theta) p(X|theta)^{1/T} on the grid: exactly so for the step, and seen in the chain."""
    mechanism = PrivateMetropolis(epsilon_per_step=2.0, steps=400_000, scale=0.7, **COARSE)
    heat = mechanism.temperature(MODEL.query(SCHEMA))
    logs = log_target(1, heat)
    target = np.exp(logs - logs.max())
    target /= target.sum()
    assert target @ step_law(1, heat, 0.7) == pytest.approx(target, rel=1e-10)
    found = np.bincount(np.round(chain(mechanism, 1, seed=2) * 16).astype(int) - 2, minlength=13) / 400_000
    assert found == pytest.approx(target, abs=0.01)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_step_is_within_its_certificate_for_all_neighbours(epsilon: float) -> None:
    """By enumeration of all counts and states: level, Renyi curve and profile; half of the charge would not do."""
    mechanism = PrivateMetropolis(epsilon_per_step=epsilon, steps=1, scale=0.7, **COARSE)
    heat = mechanism.temperature(MODEL.query(SCHEMA))
    laws, logs = [step_law(k, heat, 0.7) for k in range(N + 1)], [log_target(k, heat) for k in range(N + 1)]
    worst = 0.0
    for k in range(N):
        for first, second in ((k, k + 1), (k + 1, k)):
            logits = [np.subtract.outer(values, values) for values in (logs[first], logs[second])]
            worst = max(worst, float(np.abs(logits[0] - logits[1]).max()))
            for p, q in zip(laws[first], laws[second], strict=True):
                assert np.abs(np.log(p / q)).max() <= epsilon
                for order in (1.5, 2.0, 10.0):
                    divergence = math.log((p**order * q ** (1 - order)).sum()) / (order - 1)
                    assert divergence <= bounded_range_renyi(epsilon, order)
                for loss in (0.0, 0.5 * epsilon):
                    excess = np.maximum(p - math.exp(loss) * q, 0.0).sum()
                    assert excess <= bounded_range_delta(epsilon, loss)
    assert worst == pytest.approx(epsilon, rel=1e-9)  # the logit of acceptance moves by all of it


def test_excluded_rows_are_in_neither_count() -> None:
    schema = dc.Schema({"x": dc.Binary(missing="exclude")}, n=N)
    mechanism = PrivateMetropolis(epsilon_per_step=50.0, steps=200_000, scale=0.7, **COARSE)
    rows = Dataset("d", schema, CodedRows({"x": np.array([0, 1, -1, -1, -1, 1])}))
    (states,) = mechanism.apply(SeededNoise(3), MODEL.query(schema), rows).values()
    logs = log_target(2, 1.0, n=3)
    target = np.exp(logs) / np.exp(logs).sum()
    assert states.mean() == pytest.approx(float(target @ POINTS), abs=0.01)


def test_the_start_is_the_middle_of_the_space() -> None:
    """With tiny steps nothing leaves it, whatever the rows are."""
    mechanism = PrivateMetropolis(epsilon_per_step=1.0, steps=5, scale=1e-6, **COARSE)
    for ones in (0, 6):
        assert chain(mechanism, ones, seed=4) == pytest.approx(0.5)


def test_requests_round_trip() -> None:
    mechanism = PrivateMetropolis(epsilon_per_step=1, steps=2, interval=(0, 1))
    assert build("m", MECHANISMS, describe(mechanism), GuaranteeError) == mechanism
    assert describe(mechanism)["interval"] == [0.0, 1.0]
    assert "temperature" in PrivateMetropolis(epsilon_per_step=1, steps=2, truncation=0.1).note(MODEL.query(SCHEMA))


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon_per_step": -1.0},
        {"steps": 0},
        {"steps": 1.5},
        {"scale": 0.0},
        {"scale": 10.0},
        {"truncation": 0.5},
        {"interval": (1.0, 1.0)},
        {"interval": (0.0, math.inf)},
        {"grid": -1.0},
        {"label": 3},
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(GuaranteeError, match=f"PrivateMetropolis.{next(iter(arguments))}"):
        PrivateMetropolis(**({"epsilon_per_step": 1.0, "steps": 3} | arguments))


def test_queries_that_cannot_be_answered_are_refused() -> None:
    def refused(match: str, query: Any, **arguments: Any) -> None:
        with pytest.raises(QueryError, match=match):
            PrivateMetropolis(epsilon_per_step=1.0, steps=3, **arguments).guarantee(query)

    levels = dc.Schema({"c": dc.Categorical(["a", "b", "c"]), "x": dc.Binary(), "y": dc.Binary()}, n=N)
    refused("one parameter", dc.DirichletCategorical("c").query(levels), truncation=0.1)
    refused("one probability", dc.NaiveBayes("x", ("y",)).query(levels), truncation=0.1)
    refused("groups", dc.BetaBernoulli("x", by="c").query(levels), truncation=0.1)
    added = dc.Schema({"x": dc.Binary()}, relation="add-remove", n_max=9)
    refused("replace-one", MODEL.query(added), truncation=0.1)
    refused("truncation must be given", MODEL.query(SCHEMA))
    refused("interval must be left out", MODEL.query(SCHEMA), interval=(0.1, 0.9))
    refused("grid", MODEL.query(SCHEMA), truncation=0.1, grid=0.5)
    with pytest.raises(dc.GuaranteeError, match="a finer one shows"):
        PrivateMetropolis(1.0, 3, truncation=0.1, grid=2.0**-60).guarantee(MODEL.query(SCHEMA))
    refused("above 0", dc.GammaPoisson("v").query(SCHEMA), interval=(0.0, 2.0))
