"""Labels as privacy units: features are public, one cell of the target is not. Constants, texts, refusals, audits."""

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.auditing import loss_attack
from discreet.queries.losses import Loss, Tabulated
from discreet.schema import Schema

DELTA, EPSILON = 0.02, 2.0
CELL = dc.Bounded(-1, 1, grid=2.0**-8)
COLUMNS: dict[str, Any] = {"a": CELL, "b": CELL, "y": dc.Binary(), "t": CELL, "k": dc.Count(4)}


def labelled(column: str, **changed: Any) -> Schema:
    return Schema(COLUMNS | changed, n=4, unit=dc.LabelOnly(column))


SLOPES = {"slope": "0.001 * t - y", "precision": 1.0}
MODELS: dict[str, Any] = {
    "logistic": dc.LogisticRegression("y", ("a", "b"), precision=1.0),
    "no intercept": dc.LogisticRegression("y", ("a",), precision=1.0, intercept=False),
    "hinge": dc.HingeClassifier("y", ("a", "b"), precision=1.0),
    "huber": dc.HuberRegression("t", ("a", "b"), threshold=0.6, precision=1.0),
    "wide huber": dc.HuberRegression("t", ("a", "b"), threshold=3.0, precision=1.0),
    "poisson": dc.PoissonRegression("k", ("a",), ball=0.7),
    "table": dc.ConvexLoss("t", ("a", "b"), **SLOPES),
}


def slope(name: str, query: Loss, t: Any, y: Any) -> Any:
    """The derivative of each loss, from its definition; labels as the columns hold them."""
    if name in ("logistic", "no intercept"):
        return 1.0 / (1.0 + np.exp(-t)) - y
    if name == "hinge":
        sign = 2.0 * y - 1.0
        return -sign * np.clip((1.0 - sign * t) / query.width + 0.5, 0.0, 1.0)
    if "huber" in name:
        return np.clip(t - y, -query.threshold, query.threshold)
    return np.exp(t) - y if name == "poisson" else 0.001 * t - y


@pytest.mark.parametrize("excluded", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_two_labels_differ_by_at_most_G(name: str, excluded: bool) -> None:
    """Random rows, the longest among them, and coefficients near and far; the bound is nearly reached."""
    model, rng = MODELS[name], np.random.default_rng(3)
    column = model.target
    kind = replace(COLUMNS[column], missing="exclude") if excluded else COLUMNS[column]
    query = model.query(labelled(column, **{column: kind}))
    size = query.features.size
    z = np.ones((400, size))
    z[:, size - len(model.features) :] = rng.choice([-1.0, 1.0], (400, len(model.features)))
    w = rng.normal(size=(400, size)) * rng.choice([0.01, 1.0, 30.0], (400, 1))
    w *= np.minimum(1.0, query.ball / np.linalg.norm(w, axis=1, keepdims=True))
    margins, labels = np.sum(z * w, axis=1), {"y": (0.0, 1.0), "t": (-1.0, 0.3, 1.0), "k": (0.0, 2.0, 4.0)}[column]
    slopes = [slope(name, query, margins, y) for y in labels]
    if excluded:
        slopes.append(np.zeros_like(margins))
    lengths = np.linalg.norm(z, axis=1)
    furthest = max(np.max(np.abs(one - other) * lengths) for one in slopes for other in slopes)
    assert furthest <= query.gradient * (1 + 1e-12)
    assert furthest > 0.99 * query.gradient or (name == "table" and furthest > 0.95 * query.gradient)
    assert query.gradient <= model.query(replace(query.schema, unit=dc.Record())).gradient


def test_the_logistic_constants_are_those_of_the_notes() -> None:
    """G = r, with an intercept √(r² + 1): half of what a whole record costs, and β is twice as large."""
    for radius in (0.5, 1.2):
        for intercept, due in ((False, radius), (True, np.sqrt(radius**2 + 1))):
            model = dc.LogisticRegression("y", ("a", "b"), radius=radius, intercept=intercept, precision=9.0)
            query = model.query(labelled("y"))
            whole = replace(query, schema=replace(query.schema, unit=dc.Record()))
            assert query.gradient == pytest.approx(due, rel=1e-9)
            assert whole.gradient == pytest.approx(2 * due, rel=1e-9)
            exact = dc.GibbsPosterior(0.1, 1e-6, sampler="exact")
            assert exact.law(query).beta == pytest.approx(2 * exact.law(whole).beta, rel=1e-6)


def test_the_guarantee_says_what_is_public() -> None:
    mechanism = dc.GibbsPosterior(EPSILON, DELTA)
    said = str(mechanism.guarantee(MODELS["logistic"].query(labelled("y"))))
    assert "Neighbours: one label (y; all other columns are public) replaced." in said


def test_a_ledger_that_paid_for_labels_pays_for_nothing_else(tmp_path: Path) -> None:
    rows = pa.table({"a": [0.1, 0.2], "b": [0.3, 0.4], "y": [0, 1], "t": [0.0, 0.1], "k": [1, 2]})
    ledger = dc.Ledger.create(tmp_path / "l.ledger", budget=dc.Budget(epsilon=9, delta=0.1), filter="gdp")
    labels = dc.open(rows, Schema(COLUMNS, unit=dc.LabelOnly("y")), id="rows")
    found = dc.release(MODELS["logistic"], labels, dc.GibbsPosterior(1.0, 1e-3, steps=5), ledger=ledger)
    assert "all other columns are public" in str(found.guarantee)
    records = dc.open(rows, Schema(COLUMNS), id="rows")
    with pytest.raises(dc.GuaranteeError, match="must hold for replace-one of a label"):
        dc.release(MODELS["logistic"], records, dc.GibbsPosterior(1.0, 1e-3, steps=5), ledger=ledger)


def test_everything_else_is_refused() -> None:
    with pytest.raises(dc.QueryError, match="LabelOnly: it is for losses"):
        dc.BetaBernoulli("y").query(labelled("y"))
    with pytest.raises(dc.QueryError, match="must be 't', the only private column"):
        MODELS["logistic"].query(labelled("t"))
    with pytest.raises(dc.QueryError, match="must be 'y', the only private column"):
        dc.QuadraticMean(("a", "b")).query(labelled("y"))
    with pytest.raises(dc.SchemaError, match="must be a declared column"):
        labelled("nothing")
    with pytest.raises(dc.SchemaError, match="must be replace-one"):
        Schema(COLUMNS, unit=dc.LabelOnly("y"), relation="add-remove", n_max=9)
    with pytest.raises(dc.SchemaError, match="name of a column"):
        dc.LabelOnly("")


def test_a_schema_of_labels_is_read_back() -> None:
    schema = labelled("y")
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema


@dataclass(frozen=True)
class HalvedSpread(Tabulated):
    """A loss whose slopes are said to be half as far apart."""

    @property
    def spread(self) -> float:
        return 0.5 * super().spread


@dataclass(frozen=True)
class Halved(dc.ConvexLoss):
    def query(self, schema: Schema) -> Loss:
        honest = super().query(schema)
        return HalvedSpread(**{f.name: getattr(honest, f.name) for f in fields(honest)})


def test_audits_replace_labels_only_and_stay_below_the_claim() -> None:
    """8,000 draws a side, 99.9% bounds on a fixed seed; the halved spread is seen, and so is a replaced record."""
    schema, options = labelled("t"), {"runs": 8000, "delta": DELTA, "seed": 4}
    model, mechanism = MODELS["table"], dc.GibbsPosterior(EPSILON, DELTA)
    pair = loss_attack.furthest_pair(mechanism, model.query(schema))
    before, after = (table.source.columns for table in (pair.dataset, pair.neighbour))
    assert {name for name in before if np.any(before[name] != after[name])} == {"t"}
    found = dc.audit(model, mechanism, schema=schema, **options)
    assert 0.3 * EPSILON < found.epsilon <= EPSILON
    twin = Halved("t", ("a", "b"), **SLOPES)
    assert mechanism.guarantee(twin.query(schema)).epsilon(DELTA) <= EPSILON * (1 + 1e-9)
    assert dc.audit(twin, mechanism, schema=schema, **options).epsilon > EPSILON


def test_a_replaced_record_is_not_protected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slopes between 0 and 1, where a whole row moves further than its label: the weaker unit is weaker in fact."""
    monkeypatch.setattr(
        loss_attack, "may_replace", lambda _, corners: np.ones((len(corners), len(corners)), dtype=bool)
    )
    model = dc.ConvexLoss("y", ("a", "b"), slope="0.001 * t + 0.5 - 0.5 * y", precision=1.0)
    mechanism, schema = dc.GibbsPosterior(EPSILON, DELTA), labelled("y")
    assert dc.audit(model, mechanism, schema=schema, runs=8000, delta=DELTA, seed=5).epsilon > EPSILON


@pytest.mark.parametrize("formula", ["tanh(t)", "tanh(t) - 1e-15 * y", "1e6 * tanh(t) - 1e-9 * y"])
def test_targets_that_hardly_matter_cost_their_rounding(formula: str) -> None:
    """Slopes are rounded at their own size, which is all that two targets differ by here."""
    from discreet.mechanisms.gibbs_posterior.kernels.margins import slopes

    bound = 1e6 if "1e6" in formula else 1.0
    query = dc.ConvexLoss("t", ("a",), slope=formula, bound=bound).query(labelled("t"))
    margins = np.random.default_rng(1).uniform(-9, 9, 20_000)
    seen = [margins.copy() for _ in range(2)]
    for found, target in zip(seen, (-1.0, 1.0), strict=True):
        ones = np.ones(margins.size)
        slopes(*query.branch, found, target * ones, ones)
    assert np.max(np.abs(seen[1] - seen[0])) <= query.spread
    assert dc.GibbsPosterior(1.0, 1e-6, steps=100).law(query).beta == 1.0
