"""BadCells: classes of cells counted with noise, whatever `missing` says; and declarations that stay what they were."""

import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.cli.study import Request
from discreet.posterior import dirichlet_from_counts
from discreet.queries.cell_classes import cell_classes, cells_in_words
from discreet.release import recipe_of
from discreet.sources import open as open_table

COLUMNS = {
    "age": dc.Bounded(0, 110, missing="exclude", cut=[18, 65]),
    "ward": dc.Categorical(["A", "B"], missing="exclude", other="B"),
    "smoker": dc.Binary(),
}
AGES = [-1.0, 0.0, 50.0, 110.0, 1e9, float("nan"), None, "x", "110.0"]
WARDS = ["A", "B", "C", "", None, "a"]
SMOKERS = [0, "yes", None, "TRUE"]
MODEL = dc.BadCells(("age", "ward", "smoker"))


def tables(schema: dc.Schema, rows: list[tuple[Any, ...]]) -> dict[str, np.ndarray]:
    frame = pd.DataFrame(rows, columns=["age", "ward", "smoker", "who"], dtype=object)
    return open_table(frame, schema, id="t").source.statistics(MODEL.query(sized(schema)))


def sized(schema: dc.Schema) -> dc.Schema:
    return schema if schema.n_max is not None else dc.Schema(schema.columns, schema.unit, n=4)


SCHEMAS = {
    "replaced": dc.Schema(COLUMNS),
    "added": dc.Schema(COLUMNS, relation="add-remove", n_max=9),
    "a person replaced": dc.Schema(COLUMNS, dc.Person("who", 2)),
    "a person added": dc.Schema(COLUMNS, dc.Person("who", 2), relation="add-remove", n_max=9),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_real_cells_of_a_unit_move_the_tables_by_the_declared_sensitivity(name: str) -> None:
    """Neighbours as frames of hostile cells, through the engine: never further than declared, and so far somewhere."""
    schema = SCHEMAS[name]
    query = MODEL.query(sized(schema))
    units = 2 if schema.unit.identifier else 1
    cells = [*itertools.product(AGES[:6:2], WARDS[::3], SMOKERS[:2]), *zip(AGES, WARDS, SMOKERS * 2, strict=False)]
    rng, moves = np.random.default_rng(1), []
    other = [(*cells[i], "other") for i in (0, 3)]
    furthest = ((-1.0, "A", 0), (50.0, "C", "yes"))  # another class in every column
    random = [tuple(cells[i] for i in rng.integers(len(cells), size=2)) for _ in range(3)]
    for pair in (furthest, *random):
        old, new = ([(*row, "unit")] * (units + 1) for row in pair)
        if not schema.unit.identifier:
            old, new = old[:1], new[:1]
        first = tables(schema, other + old)
        second = tables(schema, other + (new if schema.relation == "replace-one" else []))
        differences = np.concatenate([first[column] - second[column] for column in query.names])
        moves.append((int(np.abs(differences).sum()), int((differences**2).sum())))
    assert max(l1 for l1, _ in moves) == query.l1
    assert max(squared for _, squared in moves) == query.squared_l2
    assert not max(l1 for l1, _ in moves) <= query.l1 * Fraction(2, 3)  # one of three columns forgotten


def test_every_row_is_counted_though_other_models_leave_it_out() -> None:
    rows = [(age, "C", None, "a") for age in AGES]
    found = tables(dc.Schema(COLUMNS), rows)
    counted = dict(zip(cell_classes(dc.Schema(COLUMNS), "age"), found["age"].tolist(), strict=True))
    assert counted == {
        "below the bounds": 1,
        "on the lower bound": 1,
        "inside": 1,
        "on the upper bound": 2,
        "above the bounds": 1,
        "bad": 3,
    }
    assert found["ward"].tolist() == [0, len(AGES), 0]
    assert found["smoker"].tolist() == [0, len(AGES)]
    assert MODEL.query(dc.Schema(COLUMNS, n=9)).total == 9
    assert dc.DirichletCategorical("age").query(dc.Schema(COLUMNS, n=9)).total is None


def test_the_posterior_is_that_of_each_table() -> None:
    schema = dc.Schema(COLUMNS, n=20)
    query, value = MODEL.query(schema), {"age": [3, 0, 12, -2, 1, 4], "ward": [15, 3, 1], "smoker": [18, 3]}
    mechanism = dc.NoisyStatistics(epsilon=2.0)
    laws = mechanism.laws(query)
    posterior = MODEL.posterior(query, value, laws)
    for name in MODEL.columns:
        levels = cell_classes(schema, name)
        own = dirichlet_from_counts(value[name], query.sizes, 1.0, laws[name], levels)
        assert posterior.mean()[name].tolist() == own.mean().tolist()
        assert posterior.interval()[name][0].tolist() == own.interval()[0].tolist()
    assert list(posterior.summary().index)[:2] == ["age: below the bounds", "age: on the lower bound"]
    assert list(posterior.summary().index)[-5:] == [
        "ward: declared",
        "ward: other",
        "ward: bad",
        "smoker: declared",
        "smoker: bad",
    ]
    assert {name: draws.shape for name, draws in posterior.sample(5).items()} == {
        "age": (5, 6),
        "ward": (5, 3),
        "smoker": (5, 2),
    }
    assert posterior.predict(5, np.random.default_rng(1))["age"].max() < 6
    plug_in = MODEL.plug_in(query, value)
    assert plug_in.mean()["ward"].tolist() == pytest.approx([16 / 22, 4 / 22, 2 / 22])


def test_public_rows_strengthen_the_prior() -> None:
    public = open_table(
        pd.DataFrame({"age": [5.0, 200.0], "ward": ["A", "C"], "smoker": [1, 1]}), dc.Schema(COLUMNS), id="p"
    )
    stronger = MODEL.updated(public)
    assert stronger.prior == {"age": (1, 1, 2, 1, 2, 1), "ward": (2, 2, 1), "smoker": (3, 1)}
    assert dc.BadCells(("age", "ward", "smoker"), stronger.prior).query(public.schema).cells == 11


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: dc.BadCells(()), "BadCells.columns must be the names"),
        (lambda: dc.BadCells(("age", "age")), "BadCells.columns must be the names"),
        (lambda: dc.BadCells("age", prior=0), "BadCells.prior must be a finite number above 0"),
        (lambda: dc.BadCells("age", prior={"ward": (1.0, 1.0)}), "BadCells.prior must name exactly the columns"),
        (lambda: dc.BadCells("age", prior={"age": (1.0, 1.0)}).query(SCHEMAS["added"]), "one per level"),
        (lambda: dc.BadCells("ages").query(SCHEMAS["added"]), "Schema.columns must contain 'ages'"),
        (lambda: dc.BadCells("age", by="age").query(SCHEMAS["added"]), "by must be a column the model does not use"),
    ],
)
def test_what_means_nothing_is_refused(make: Any, words: str) -> None:
    with pytest.raises(dc.DiscreetError, match=words):
        make()


# --- declarations of cuts


def test_labels_and_recipes() -> None:
    plain, cut = dc.Bounded(0, 110), dc.Bounded(0, 110, cut=[18, 65])
    assert plain.to_json() == {"kind": "bounded", "lower": 0.0, "upper": 110.0, "grid": plain.grid}
    assert dc.Count(9).to_json() == {"kind": "count", "upper": 9}
    assert cut.to_json() == {**plain.to_json(), "cut": [18.0, 65.0]}
    assert cut == dc.Bounded(0.0, 110, cut=(18.0, 65))
    schema = dc.Schema({"a": cut, "b": dc.Count(9, cut=[1, 5, 9]), "c": dc.Bounded(-1, 1, cut=[0.25])}, n=3)
    assert dc.Schema.from_json(schema.to_json()) == schema
    labels = {name: column.as_levels.levels for name, column in schema.columns.items()}  # type: ignore[union-attr]
    assert labels == {
        "a": ("[0, 18)", "[18, 65)", "[65, 110]"),
        "b": ("0", "1 to 4", "5 to 8", "9"),
        "c": ("[-1, 0.25)", "[0.25, 1]"),
    }
    model, mechanism = dc.DirichletCategorical("a"), dc.NoisyStatistics(epsilon=1.0)
    query = model.query(schema)
    assert query.schema.column("a").levels == labels["a"]
    assert recipe_of(model, "t", schema, mechanism)["schema"] == schema.only(["a"]).to_json()  # no view


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: dc.Bounded(0, 9, cut=[]),
            r"Bounded.cut must be a list of numbers strictly between the bounds, got \[\]",
        ),
        (lambda: dc.Bounded(0, 9, cut=[0, 3]), "strictly between the bounds"),
        (lambda: dc.Bounded(0, 9, cut=[9]), "strictly between the bounds"),
        (lambda: dc.Bounded(0, 9, cut=["3"]), "strictly between the bounds"),
        (lambda: dc.Bounded(0, 9, cut="34"), "strictly between the bounds"),
        (lambda: dc.Bounded(0, 9, cut=3), "strictly between the bounds"),
        (lambda: dc.Bounded(0, 9, cut=[float("nan")]), "strictly between the bounds"),
        (lambda: dc.Bounded(0, 9, cut=[3, 3]), "Bounded.cut must increase"),
        (lambda: dc.Bounded(0, 9, cut=[4, 3]), "Bounded.cut must increase"),
        (lambda: dc.Bounded(0, 9, grid=1, cut=[0.3]), "Bounded.cut must increase, by a step of the grid"),
        (lambda: dc.Count(9, cut=[0]), "Count.cut must be a list of whole numbers from 1 to 9"),
        (lambda: dc.Count(9, cut=[1.5]), "Count.cut must be a list of whole numbers from 1 to 9"),
        (lambda: dc.Count(9, cut=[2, 2]), "Count.cut must increase"),
        (
            lambda: dc.NaiveBayes("a", ("b",)).query(dc.Schema({"a": dc.Count(9), "b": dc.Binary()}, n=3)),
            "without cut=",
        ),
    ],
)
def test_cuts_that_mean_nothing_are_refused(make: Any, words: str) -> None:
    with pytest.raises(dc.DiscreetError, match=words):
        make()


def test_every_model_of_levels_takes_cut_numbers() -> None:
    """As classes, features, nodes, regions, groups and labels; as a number the column is what it was."""
    schema = dc.Schema({**COLUMNS, "visits": dc.Count(9, cut=[3]), "month": dc.Bounded(1, 12, cut=[4, 7])}, n=40)
    plain = dc.Schema({**schema.columns, "age": dc.Bounded(0, 110, missing="exclude"), "visits": dc.Count(9)}, n=40)
    models = [
        dc.NaiveBayes("visits", ("age", "smoker")),
        dc.BayesianNetwork({"age": (), "visits": ("age",)}),
        dc.EventLogHMM("age", "month", ("visits",)),
        dc.BetaBernoulli("smoker", by="age"),
        dc.NormalMean("month", sd=3.0, by="visits"),
    ]
    for model in models:
        (release,) = dc.simulate(model, None, dc.NoisyStatistics(epsilon=5.0), runs=1, seed=1, schema=schema)
        assert {name: np.shape(value) for name, value in release.value.items()} == {
            s.name: s.shape for s in model.query(schema).statistics
        }
    assert dc.BetaBernoulli("smoker", by="age").query(schema).groups == ("[0, 18)", "[18, 65)", "[65, 110]")
    label = dc.LogisticRegression("visits", ("age",)).query(schema)
    assert label.schema.column("visits").levels == ("0 to 2", "3 to 9")
    assert label.features == dc.LogisticRegression("smoker", ("age",)).query(plain).features
    for asks in (dc.Normal("age"), dc.LinearRegression("age", ("visits", "ward")), dc.GammaPoisson("visits")):
        assert asks.query(schema).statistics == asks.query(plain).statistics


def test_rows_without_a_group_are_in_none_and_the_words_say_what_is_counted() -> None:
    """Bad cells of a counted column exclude no row, those of the column of groups do if it says so."""
    columns = {"age": dc.Bounded(0, 110, missing="exclude"), "ward": dc.Categorical(["A", "B"], missing="exclude")}
    columns["kind"] = dc.Categorical(["x", "y"], missing="exclude", other="y")
    schema = dc.Schema(columns, n=4)
    frame = pd.DataFrame({"age": ["x", 3, "x", 5], "ward": ["A", "B", None, "A"], "kind": ["x", "z", None, "y"]})
    model = dc.BadCells(("age", "kind"), by="ward")
    query = model.query(schema)
    found = open_table(frame, schema, id="t").source.statistics(query)
    assert found["age"].tolist() == [[0, 0, 1, 0, 0, 1], [0, 0, 1, 0, 0, 0]]
    assert found["kind"].sum(axis=1).tolist() == [2, 1]
    said = {
        "age": "any cell that is no number counts as 'bad'",
        "kind": "unlisted levels count as 'other', missing cells count as 'bad'",
        "ward": "unlisted levels and missing cells exclude the row",
    }
    assert cells_in_words(schema, query) == said
    asked = Request("bad", model, dc.NoisyStatistics(epsilon=1.0), Path("bad.release.json"))
    assert asked.cells(schema) == said
    used = dc.NaiveBayes("ward", ("kind",)).query(schema)
    assert cells_in_words(schema, used)["kind"] == "unlisted levels count as y, missing cells exclude the row"
