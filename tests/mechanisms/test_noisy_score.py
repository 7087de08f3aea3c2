"""Noisy scores: what one unit moves in every stage, in the whole numbers that are summed, and what all of it costs.

Moves are searched for among pairs of records, of persons with all their records, and of labels: 100,000 pairs a stage and
case in `make audit`, 3,000 in `make test`. A bound that is one part in ten thousand too small for the case is exceeded by
the search, which attains more than that of each; nothing here is random but the candidates, whose seeds are fixed, so a
bound that holds never fails.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from score_vectors import (
    Asked,
    Vectors,
    asked,
    of_moments,
    of_scores,
    of_totals,
    rounded,
    rounded_squares,
    schema_of,
)

import discreet as dc
from discreet.accounting.gibbs import largest_mu
from discreet.queries.scores import Totals, walk
from discreet.queries.scores.score_law import ScoreLaw
from discreet.recipe import describe

RHO = 0.5
MECHANISM = dc.NoisyScore(rho=RHO, steps=1)
SHARES = (Fraction(8, 100), Fraction(22, 100), Fraction(70, 100))
SHAPES = {"numbers": (3, ()), "categories": (0, (3, 2)), "both": (2, (3, 2)), "one category": (0, (4,))}
CASES: dict[str, dict[str, Any]] = {
    "record": {},
    "vanishing record": {"exclude": True},
    "record that comes or goes": {"relation": "add-remove", "n": None, "n_max": 1000},
    "person": {"unit": dc.Person("id", max_records=3)},
    "person that comes or goes": {
        "unit": dc.Person("id", max_records=3), "relation": "add-remove", "n": None, "n_max": 1000,
    },
    "label": {"unit": dc.LabelOnly("y")},
}  # fmt: skip
CANDIDATES = 1000


def case_of(shape: str, case: str, mechanism: dc.NoisyScore = MECHANISM, seed: int = 0, **of_model: Any) -> Asked:
    """Candidates of one shape of table under one unit and relation."""
    options = dict(CASES[case])
    vanishes = options.pop("exclude", False)
    schema = schema_of(*SHAPES[shape], **options)
    if vanishes:
        column = dc.Binary(missing="exclude")
        schema = dc.Schema({**schema.columns, "y": column}, n=1000)
    return asked(schema, mechanism, np.random.default_rng(seed), CANDIDATES, **of_model)


def units(asked: Asked, vectors: Vectors, count: int, rng: np.random.Generator) -> tuple[Vectors, Vectors]:
    """What `count` units add before and after: a person's records alike or not, some gone where that may happen."""
    unit, many = asked.query.schema.unit, len(vectors)
    sides = []
    alike = rng.random(count) < 0.7
    for _ in range(2):
        rows = rng.integers(many, size=(count, unit.max_records))
        rows[alike] = rows[alike][:, :1]
        kept = np.ones(rows.shape, dtype=bool)
        if asked.query.total is None:
            kept &= rng.random((count, 1)) < 0.9
        sides.append((vectors[rows] * kept[..., np.newaxis]).sum(axis=1))
    if asked.query.schema.relation == "add-remove":
        sides[1] = np.zeros_like(sides[1])
    if isinstance(unit, dc.LabelOnly):
        row = rng.integers(many // 2, size=count)  # the other label of the same record is half of the candidates away
        sides = [vectors[row], vectors[row + many // 2]]
    return sides[0], sides[1]


def squared(move: Vectors) -> float:
    """The largest squared length."""
    return float((np.asarray(move, dtype=float) ** 2).sum(axis=1).max())


def cost_of_totals(asked: Asked, law: ScoreLaw, count: int, rng: np.random.Generator) -> float:
    """The largest cost of stage 0, as rho."""
    vectors, squares = of_totals(asked)
    sigmas, d = law.sigmas, law.numbers
    both = np.column_stack([vectors, squares])
    before, after = units(asked, both, count, rng)
    base = rng.integers(10**9, size=(count, 1))  # of the squares of all others
    move = before - after
    if law.by_label:  # exact and free: labels are not read
        return float(np.abs(move).max())
    cost = np.zeros(count)
    if "count" in sigmas:
        cost += (move[:, 0] / sigmas["count"]) ** 2
    if "levels" in sigmas:
        cost += ((move[:, 1 : -1 - d] / sigmas["levels"]) ** 2).sum(axis=1)
    if d:
        cost += ((move[:, -1 - d : -1] / sigmas["sums"]) ** 2).sum(axis=1)
        ends = [rounded_squares(base + side[:, -1:]) for side in (before, after)]
        cost += ((ends[0] - ends[1])[:, 0] / sigmas["squares"]) ** 2
    return float(cost.max()) / 2.0


def cost_of_moments(asked: Asked, law: ScoreLaw, count: int, rng: np.random.Generator) -> float:
    """The largest cost of stage 1, over several maps."""
    if not law.has_moments:
        return 0.0
    worst, dz = 0.0, law.directions
    above = np.triu_indices(dz, 1)
    for trial in range(4):
        public = 10.0 * rng.normal(size=(dz, law.features + 1))
        if trial % 2:  # of one feature each: two records may be orthogonal
            public = np.zeros_like(public)
            public[np.arange(dz), 1 + rng.permutation(law.features)[:dz]] = 20.0
        kappa = of_moments(asked, public)
        entries = np.column_stack([kappa**2, kappa[:, above[0]] * kappa[:, above[1]]])
        before, after = units(asked, entries, count // 4, rng)
        if law.by_label:
            return float(np.abs(before - after).max())
        move = (before - after).astype(float)
        cost = (move[:, :dz] ** 2).sum(axis=1) / law.sigmas["curvature"] ** 2
        cost += (move[:, dz:] ** 2).sum(axis=1) / law.sigmas["products"] ** 2
        worst = max(worst, float(cost.max()) / 2.0)
    return worst


def cost_of_a_score(asked: Asked, law: ScoreLaw, count: int, rng: np.random.Generator) -> float:
    """The largest cost of one score, over several maps and points; sums of all others are anything."""
    worst, dz = 0.0, law.directions
    for trial in range(8):
        public = rng.normal(size=(dz + 1, law.features + 1)) * 10.0 ** rng.uniform(0.0, 1.5)
        point = rng.normal(size=dz + 1) * (0.0 if trial % 2 else 10.0 ** rng.uniform(-6, 0.5))
        vectors = of_scores(asked, public, point)
        before, after = units(asked, vectors, count // 8, rng)
        base = np.array([int(b) << 20 for b in rng.integers(2**40, size=dz + 1)], dtype=object)
        move = rounded(base + before) - rounded(base + after)
        worst = max(worst, squared(move) / law.sigmas["scores"] ** 2 / 2.0)
    return worst


STAGES: tuple[Callable[..., float], ...] = (cost_of_totals, cost_of_moments, cost_of_a_score)


def costs(asked: Asked, law: ScoreLaw, count: int) -> list[float]:
    """The largest cost that was found in each stage."""
    return [stage(asked, law, count, np.random.default_rng(1)) for stage in STAGES]


def labels_in_halves(asked: Asked) -> Asked:
    """The second half of the candidates is the first with the other label."""
    half = CANDIDATES // 2
    rows = type(asked.rows)(*(np.concatenate([array[:half], array[:half]]) for array in asked.rows))
    rows.targets[half:] = 1.0 - rows.targets[:half]
    return asked._replace(rows=rows)


def budgets(law: ScoreLaw) -> list[float]:
    """Rho of each stage."""
    first, second, third = (float(share) * RHO for share in SHARES)
    if law.by_label:
        return [0.0, 0.0, RHO]
    return [first, second, third] if law.has_moments else [first, 0.0, second + third]


@pytest.mark.parametrize("count", [3_000, pytest.param(100_000, marks=pytest.mark.audit)])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_unit_moves_every_stage_as_far_as_it_is_charged_and_no_further(shape: str, case: str, count: int) -> None:
    found = case_of(shape, case)
    law = found.law
    found = labels_in_halves(found) if law.by_label else found
    for stage, (budget, cost) in enumerate(zip(budgets(law), costs(found, law, count), strict=True)):
        assert cost <= budget * (1 + 1e-12), stage  # the rounding of this sum
        assert cost >= 0.98 * budget, stage  # lengths of .99


@pytest.mark.parametrize(
    "of_model", [{"radius": 1.1}, {"interval": (0.0, 3.0)}, {"interval": (-0.3, 0.2), "radius": 0.9}]
)
@pytest.mark.parametrize("case", ["record", "person that comes or goes"])
def test_shrunk_rows_and_other_intervals_are_within_their_bounds(case: str, of_model: dict[str, Any]) -> None:
    """Their totals cannot all be attained: numbers on one side of 0 are never opposite."""
    found = case_of("both", case, **of_model)
    first, *others = zip(budgets(found.law), costs(found, found.law, 3_000), strict=True)
    assert 0.1 * first[0] <= first[1] <= first[0]
    for budget, cost in others:
        assert 0.95 * budget <= cost <= budget


def unpaid(law: ScoreLaw, stages: tuple[str, ...], factor: float) -> ScoreLaw:
    """The noise of some statistics scaled."""
    return replace(law, sigmas={name: s * factor if name in stages else s for name, s in law.sigmas.items()})


FIRST, SECOND, LAST = ("count", "levels", "sums", "squares"), ("curvature", "products"), ("scores",)
EPSILON, DELTA = 1.0, 1e-5
GAUSSIAN = largest_mu(EPSILON, DELTA, "gdp").value ** 2 / 2.0

PLANTED: dict[str, tuple[str, Callable[[ScoreLaw], ScoreLaw]]] = {
    "persons are bounded in stage 2 only": ("person", lambda law: unpaid(law, (*FIRST, *SECOND), 1.0 / 3.0)),
    "rho / 2 instead of rho": ("record", lambda law: unpaid(law, LAST, 0.5)),
    "stage 1 is not paid": ("record", lambda law: unpaid(law, LAST, (0.70 / 0.92) ** 0.5)),
    "stage 1 is of vectors, not of products": ("record", lambda law: unpaid(law, SECOND, 2.0**-0.5)),
    "squared lengths are free": ("record that comes or goes", lambda law: unpaid(law, FIRST, 2.0**-0.5)),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_noise_that_pays_for_less_is_caught(bug: str) -> None:
    case, plant = PLANTED[bug]
    found = case_of("both", case)
    law = plant(found.law)
    assert sum(costs(found, found.law, 3_000)) <= RHO
    assert sum(costs(found, law, 3_000)) > RHO


def test_a_gaussian_mu_in_the_integer_version_is_caught() -> None:
    """It would overspend rho by about a sixth."""
    right, wrong = dc.NoisyScore(epsilon=EPSILON, delta=DELTA, steps=1), dc.NoisyScore(rho=GAUSSIAN, steps=1)
    found = case_of("both", "record", right)
    paid = dc.NoisyScore(epsilon=EPSILON, delta=DELTA).guarantee(found.query).level
    assert 1.1 * paid < GAUSSIAN
    assert 0.98 * paid <= sum(costs(found, found.law, 3_000)) <= paid
    assert sum(costs(found, wrong.constants(found.query), 3_000)) > paid


def test_what_rounding_adds_is_paid() -> None:
    """A sum that ends just below a half makes both nearest roundings go apart: further than rho alone allows."""
    rng, found = np.random.default_rng(2), case_of("numbers", "record")
    within, paid = (found.law.directions + 1) * 2**40, (found.law.directions + 1) * (2**20 + 1) ** 2
    furthest = 0
    for _ in range(20):
        vectors = of_scores(found, 3.0 * rng.normal(size=(4, 4)), np.zeros(4))
        before, after = units(found, vectors, 2_000, rng)
        base = (2**29 - 1) - np.where(before > after, after, before) % 2**30
        move = rounded(base + before) - rounded(base + after)
        furthest = max(furthest, int((move**2).sum(axis=1).max()))
    assert within < furthest <= paid


def reweighted(law: ScoreLaw, mean: Vectors, target: Vectors, allowed: Vectors) -> Vectors:
    """The planted weights, which use y."""
    apart = mean - target
    return np.floor(2.0**20 * np.minimum(1.0, allowed / np.maximum(np.abs(apart), 1e-9)) * apart + 0.5)


def slopes_of_both_labels(law: ScoreLaw, slopes: Callable[..., Vectors]) -> tuple[Vectors, Vectors, Vectors]:
    """Means, and whole slopes of the first and the second label, over margins and allowances."""
    mean, allowed = (grid.ravel() for grid in np.meshgrid(np.linspace(0.01, 0.99, 99), np.geomspace(1e-3, 2.0, 50)))
    return mean, slopes(law, mean, np.zeros_like(mean), allowed), slopes(law, mean, np.ones_like(mean), allowed)


def shipped(law: ScoreLaw, mean: Vectors, target: Vectors, allowed: Vectors) -> Vectors:
    from discreet.sources.scores.kernels.score_sums import _slopes

    found = mean.copy()
    _slopes(law.by_label, found, target, allowed)
    return found


def test_weights_that_use_the_target_are_caught_by_their_bias() -> None:
    """The expected score at the truth is 0: (1 - f) s(0) + f s(1) is within rounding, for every margin and length."""
    law = case_of("numbers", "record").law
    mean, first, second = slopes_of_both_labels(law, shipped)
    assert np.abs((1.0 - mean) * first + mean * second).max() <= 1.0
    mean, first, second = slopes_of_both_labels(law, reweighted)
    assert np.abs((1.0 - mean) * first + mean * second).max() > 1e4


def test_weights_that_use_the_target_are_caught_where_labels_are_private() -> None:
    """Two labels of one record are as far apart as its allowance, and twice as far under the planted weights."""
    law = case_of("numbers", "label").law
    allowed = np.meshgrid(np.linspace(0.01, 0.99, 99), np.geomspace(1e-3, 2.0, 50))[1].ravel()
    _, first, second = slopes_of_both_labels(law, shipped)
    assert (np.abs(first - second) <= allowed * 2.0**20).all()
    _, first, second = slopes_of_both_labels(law, reweighted)
    assert (np.abs(first - second) > 1.5 * allowed * 2.0**20).any()


TABLE_ROWS = 600
FACTS: dict[str, dict[str, Any]] = {
    "records": {},
    "records that come and go": {"relation": "add-remove", "n_max": 1000},
    "persons": {"unit": dc.Person("who", max_records=3)},
    "persons that come and go": {"unit": dc.Person("who", max_records=3), "relation": "add-remove", "n_max": 1000},
    "labels": {"unit": dc.LabelOnly("y")},
}


def patients(facts: dict[str, Any], **cells: Any) -> dc.Dataset:
    rng = np.random.default_rng(0)
    x, who = rng.uniform(-1, 1, TABLE_ROWS), rng.integers(200, size=TABLE_ROWS)
    y = (rng.random(TABLE_ROWS) < 1 / (1 + np.exp(-3 * x))).astype(int)
    table = pd.DataFrame({"x": x, "ward": rng.choice(["A", "B"], TABLE_ROWS), "y": y, "who": who}).assign(**cells)
    columns = {"x": dc.Bounded(-1, 1, missing="exclude"), "ward": dc.Categorical(["A", "B"]), "y": dc.Binary()}
    columns["x"] = dc.Bounded(-1, 1) if "unit" in facts and isinstance(facts["unit"], dc.LabelOnly) else columns["x"]
    return dc.open(table, dc.Schema(columns, **facts), id="patients")


@pytest.mark.parametrize("features", [("x",), ("ward",), ("x", "ward")])
@pytest.mark.parametrize("name", FACTS)
def test_a_release_is_paid_saved_and_read_under_every_relation_and_unit(
    name: str, features: tuple[str, ...], tmp_path: Path
) -> None:
    data = patients(FACTS[name])
    ledger = dc.Ledger.create(tmp_path / "l.ledger", dc.Budget(epsilon=4.0, delta=1e-5), "zcdp")
    model, mechanism = dc.LogisticRegression("y", features), dc.NoisyScore(epsilon=3.0, delta=1e-6, steps=5)
    release = dc.release(model, data, mechanism, ledger)
    release.save(tmp_path / "r.json")
    assert dc.load(tmp_path / "r.json") == release
    assert dc.release(model, data, mechanism, ledger) == release
    assert release.guarantee.epsilon(1e-6) <= 3.0
    assert set(release.noise) <= {*FIRST, *SECOND, *LAST}
    assert "scores" in release.noise
    assert ("sums" in release.noise) == ("x" in features and name != "labels")
    with pytest.raises(dc.QueryError, match="noisy scores must be noise-aware"):
        release.posterior("plug-in")
    mean = dict(zip(model.query(data.schema).features.names, release.posterior().mean(), strict=True))
    assert "x" not in mean or mean["x"] > 0.0


@pytest.mark.parametrize(
    ("model", "facts", "message"),
    [
        (dc.HingeClassifier("y", ("x",)), {}, "NoisyScore must have a model that declares the mean of its target"),
        (dc.QuadraticMean(("x",)), {}, "NoisyScore must have a model that declares the mean of its target"),
        (dc.ConvexLoss("y", ("x",)), {}, "NoisyScore must have a model that declares the mean of its target"),
        (dc.LogisticRegression("y", ("x",), intercept=False), {}, "NoisyScore must have a model with an intercept"),
    ],
)
def test_what_noisy_scores_cannot_answer_is_refused_before_anything_is_spent(
    model: Any, facts: dict[str, Any], message: str, tmp_path: Path
) -> None:
    ledger = dc.Ledger.create(tmp_path / "l.ledger", dc.Budget(epsilon=4.0, delta=1e-5))
    columns = {"x": dc.Bounded(-1, 1), "y": dc.Binary()}
    table = pd.DataFrame({"x": [0.0, 1.0], "y": [0, 1]})
    with pytest.raises(dc.QueryError, match=message):
        dc.release(model, dc.open(table, dc.Schema(columns), id="t"), dc.NoisyScore(rho=0.1), ledger)
    assert not ledger.entries()


def test_a_column_that_excludes_is_refused_where_labels_are_private() -> None:
    """Whether a row is used would depend on its label, and totals are released exactly."""
    for column, target in (
        (dc.Bounded(-1, 1, missing="exclude"), dc.Binary()),
        (dc.Bounded(-1, 1), dc.Binary(missing="exclude")),
    ):
        schema = dc.Schema({"x": column, "y": target}, n=10, unit=dc.LabelOnly("y"))
        with pytest.raises(dc.QueryError, match="no column that excludes rows where only labels are private"):
            MECHANISM.guarantee(dc.LogisticRegression("y", ("x",)).query(schema))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "must get epsilon and delta, or rho"),
        ({"epsilon": 1.0}, "must get epsilon and delta, or rho"),
        ({"epsilon": 1.0, "delta": 1e-6, "rho": 1.0}, "must get epsilon and delta, or rho"),
        ({"rho": 0.0}, "NoisyScore.rho must be"),
        ({"rho": 1.0, "steps": 0}, "NoisyScore.steps must be a whole number from 1"),
        ({"rho": 1.0, "steps": True}, "NoisyScore.steps must be a whole number from 1"),
        ({"rho": 1.0, "shares": (1.0, 1.0)}, "NoisyScore.shares must be three numbers"),
        ({"rho": 1.0, "shares": (1.0, 0.0, 1.0)}, "NoisyScore.shares must be"),
        ({"rho": 1.0, "headroom": 0.5}, "NoisyScore.headroom must be from 1 to 10"),
    ],
)
def test_arguments_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(dc.GuaranteeError, match=message):
        dc.NoisyScore(**options)


@pytest.mark.parametrize("headroom", [1.0, 3.0, 10.0])
@pytest.mark.parametrize("case", ["record", "person that comes or goes", "label"])
def test_headroom_moves_the_rule_alone(case: str, headroom: float) -> None:
    """Whatever was released, at the maps and points of the rule itself; noise for typical lengths would be too little."""
    found = case_of("both", case, replace(MECHANISM, headroom=headroom))
    found = labels_in_halves(found) if found.law.by_label else found
    plain, law, rng = case_of("both", case).law, found.law, np.random.default_rng(3)
    assert (law.sigmas, law.shapes, law.has_moments) == (plain.sigmas, plain.shapes, plain.has_moments)
    worst, dz = 0.0, law.directions
    for _ in range(6):
        levels = tuple(10.0 ** rng.uniform(-1, 4) * rng.normal(size=size) for size in law.blocks)
        noise = rng.normal(size=(dz, dz)) * 1e3
        path = walk(law.terms, Totals(500.0, levels, 1e3 * rng.normal(size=law.numbers), 1e3), noise + noise.T)
        path = path.after(10.0 ** rng.uniform(0, 5) * rng.normal(size=dz + 1))
        before, after = units(found, of_scores(found, path.map, path.point), 500, rng)
        worst = max(worst, squared(rounded(before) - rounded(after)) / law.sigmas["scores"] ** 2 / 2.0)
    budget = budgets(law)[2]
    assert worst <= budget
    assert worst * headroom**2 > (0.9 if headroom == 1.0 else 2.0) * budget  # the twin


def test_a_headroom_of_one_is_the_same_request() -> None:
    assert dc.NoisyScore(rho=1.0, headroom=1) == dc.NoisyScore(rho=1.0)
    assert "headroom" not in describe(dc.NoisyScore(rho=1.0, headroom=1.0))


def test_a_calibration_says_the_noise_of_a_score() -> None:
    """The deviation that a release has, without a table."""
    found = dc.NoisyScore.calibrate(directions=4, epsilon=1.0, delta=1e-6, steps=10)
    schema = dc.Schema({"x": dc.Bounded(-1, 1), "ward": dc.Categorical(["A", "B", "C"]), "y": dc.Binary()}, n=100_000)
    mechanism = dc.NoisyScore(epsilon=1.0, delta=1e-6, steps=10)
    law = mechanism.constants(dc.LogisticRegression("y", ("x", "ward")).query(schema))
    assert law.has_moments
    assert found.name == "sigma"
    assert found.value == pytest.approx(law.terms.scores_sd, rel=1e-12)
    assert found.guarantee == dc.ZCDP(mechanism.guarantee(dc.LogisticRegression("y", ("x",)).query(schema)).level)
