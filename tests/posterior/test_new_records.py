"""One meaning of simulate, predict and table across posteriors: declared names, levels and bounds, one draw a table."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.posterior import beta_from_count
from discreet.posterior.chains import ChainsPosterior
from discreet.posterior.records.declared_records import DeclaredRecords, LevelCells, NumberColumn

COLUMNS = {
    "smoker": dc.Binary(zero="no", one="yes"),
    "ward": dc.Categorical(["A", "B", "C"]),
    "month": dc.Categorical(["jan", "feb"]),
    "visits": dc.Count(4),
    "wait": dc.Bounded(0, 8, grid=0.5),
}
SCHEMA = dc.Schema(COLUMNS, n=60)
LEVELS: dict[str, set[Any]] = {
    "smoker": {"no", "yes"},
    "ward": {"A", "B", "C"},
    "month": {"jan", "feb"},
    "visits": set(range(5)),
    "wait": set(np.arange(0, 8.25, 0.5)),
}
MODELS = [
    dc.BetaBernoulli("smoker"),
    dc.BetaBernoulli("smoker", by="ward"),
    dc.DirichletCategorical("ward"),
    dc.NaiveBayes("ward", ("smoker", "month")),
    dc.GammaPoisson("visits"),
    dc.GammaExponential("wait"),
    dc.NormalMean("wait", sd=2.0),
    dc.Normal("wait"),
    dc.MultivariateNormal(("visits", "wait")),
    dc.BayesianNetwork({"ward": (), "smoker": ("ward",)}),
    dc.EventLogHMM("ward", "month", ("smoker",)),
]


def posterior(model: Any, mechanism: Any = None, kind: str = "plug-in") -> Any:
    how = dc.NoisyStatistics(epsilon=5.0) if mechanism is None else mechanism
    (release,) = dc.simulate(model, None, how, runs=1, seed=2, n=60, schema=SCHEMA)
    return release.posterior(kind) if mechanism is None else release.posterior()


def flat(records: Any, by: bool) -> dict[str, np.ndarray]:
    """Columns by name; of one column or of groups under its own."""
    if by:
        return {"groups": np.concatenate(list(records.values()))}
    return records if isinstance(records, dict) else {"alone": records}


@pytest.mark.parametrize("model", MODELS, ids=[f"{type(m).__name__}{'-by' if m.by else ''}" for m in MODELS])
def test_records_are_in_declared_columns_levels_and_bounds(model: Any) -> None:
    read = posterior(model)
    made = read.table(200, np.random.default_rng(1))
    held = made.to_pandas()
    assert len(held) == (600 if model.by else 200)
    assert set(held.columns) == set(made.column_names) <= set(COLUMNS)
    for name in held:
        assert set(held[name]) <= LEVELS[name]
    found = flat(read.simulate(50, np.random.default_rng(3)), model.by is not None)
    alias = flat(read.predict(50, np.random.default_rng(3)), model.by is not None)
    for name, column in found.items():
        np.testing.assert_array_equal(column, alias[name])
        due = LEVELS[name] if name in LEVELS else set().union(*(LEVELS[n] for n in made.column_names))
        assert set(column.tolist()) <= due
    again = read.tables(2, 100, np.random.default_rng(1))
    assert not again[0].equals(again[1])
    assert again[1].equals(read.tables(2, 100, np.random.default_rng(1))[1])


def test_rows_are_predicted_where_there_is_a_target_only() -> None:
    rows = pd.DataFrame({"smoker": ["yes", "no"], "month": ["jan", "feb"], "ward": ["A", "B"]})
    for model in (dc.DirichletCategorical("ward"), dc.GammaPoisson("visits"), MODELS[-1]):
        with pytest.raises(dc.QueryError, match="must be of a model with a target"):
            posterior(model).predict(rows)
    with pytest.raises(dc.QueryError, match="must be of a model with a target"):
        posterior(dc.BetaBernoulli("smoker", by="ward")).predict(rows)
    grouped = posterior(dc.NaiveBayes("smoker", ("month",), by="ward"))
    columns = grouped.predicted_columns(rows)
    assert list(columns) == ["ward", "prediction", "probability"]
    assert columns["ward"].tolist() == ["A", "B"]
    assert columns["prediction"].tolist() == grouped.predict(rows).tolist()
    due = [grouped[ward].predict_proba(rows)[i].max() for i, ward in enumerate(rows["ward"])]
    assert columns["probability"].tolist() == due
    for kind in ("plug-in", "noise-aware"):
        read = posterior(dc.NaiveBayes("smoker", ("ward", "month")), kind=kind)
        probabilities = read.predict_proba(rows)
        assert read.predict(rows).tolist() == [("no", "yes")[int(p > 0.5)] for p in probabilities[:, 1]]
        assert list(read.predicted_columns(rows)) == ["prediction", "probability"]
    plug_in = posterior(dc.NaiveBayes("smoker", ("ward",))).mean()
    due = plug_in["class"] * plug_in["ward"][:, 1]
    found = posterior(dc.NaiveBayes("smoker", ("ward",))).predict_proba({"ward": ["B"]})[0]
    np.testing.assert_allclose(found, due / due.sum())


def test_regressions_have_no_law_of_their_features() -> None:
    mechanism = dc.GibbsPosterior(epsilon=1.0, delta=1e-6)
    read = posterior(dc.PoissonRegression("visits", ("ward",), radius=2.0), mechanism)
    for ask in (read.simulate, read.table, read.predict):
        with pytest.raises(dc.QueryError, match="must not be asked for new records"):
            ask(3)
    assert np.all(read.predict({"ward": ["A", "B"]}) <= 4)
    assert list(read.predicted_columns({"ward": ["A"]})) == ["prediction"]


def test_every_table_has_one_draw_of_its_own() -> None:
    """Shares of 4,000 records of 200 tables deviate as the posterior and sampling do, not as sampling alone."""
    read = posterior(dc.BetaBernoulli("smoker"))
    tables = read.tables(200, 4000, np.random.default_rng(5))
    shares = np.array([np.mean(table["smoker"].to_numpy(zero_copy_only=False) == "yes") for table in tables])
    due = np.sqrt(read.sd() ** 2 + read.mean() * (1 - read.mean()) / 4000)
    assert shares.std() == pytest.approx(due, rel=0.25)  # five standard errors
    assert due > 5 * np.sqrt(read.mean() * (1 - read.mean()) / 4000)


def test_released_draws_make_one_table_each() -> None:
    read = posterior(dc.BetaBernoulli("smoker"), dc.PosteriorSample(epsilon=1.0, truncation=0.05, draws=2))
    assert [table.num_rows for table in read.tables(2, 10)] == [10, 10]
    with pytest.raises(dc.QueryError, match=r"at most one for each released draw, 2, got 3"):
        read.tables(3, 10)


def test_long_tables_are_made_in_parts_of_one_draw() -> None:
    table = posterior(dc.DirichletCategorical("ward")).table(70_000, np.random.default_rng(1))
    wards = table["ward"].to_numpy(zero_copy_only=False)
    first, second = (np.mean(part == "A") for part in (wards[:65_536], wards[65_536:]))
    assert abs(first - second) < 5 * np.sqrt(0.25 / 4464)


def test_pooled_groups_make_a_table() -> None:
    (release,) = dc.simulate(
        dc.BetaBernoulli("smoker", by="ward"),
        None,
        dc.NoisyStatistics(epsilon=5.0),
        runs=1,
        seed=2,
        n=60,
        schema=SCHEMA,
    )
    held = release.posterior(pooling="partial").table(30, np.random.default_rng(1)).to_pandas()
    assert held["ward"].value_counts().to_dict() == {"A": 30, "B": 30, "C": 30}
    assert set(held["smoker"]) == {"no", "yes"}


CUT = {
    "age": dc.Bounded(0.3, 110, cut=[18, 65]),
    "height": dc.Bounded(1, 2, grid=0.3, cut=[1.5]),  # neither bound is on the grid
    "visits": dc.Count(9, cut=[1, 5]),
}


@pytest.mark.parametrize("name", CUT)
def test_numbers_in_a_table_lie_in_the_range_that_was_drawn(name: str) -> None:
    """Every range, its ends too, as the number would be read again."""
    column, rng = CUT[name], np.random.default_rng(2)
    ranges = LevelCells.of(dc.Schema(CUT), name)
    codes = np.repeat(np.arange(len(ranges.levels)), 4000)
    numbers = ranges.arrow(codes, rng).to_numpy()
    assert np.array_equal(np.searchsorted(ranges.seen.breaks, numbers, side="right"), codes)
    assert (numbers.min(), numbers.max()) == pytest.approx((column.lower, column.upper), abs=0.1)


def test_a_posterior_without_columns_gives_codes_and_no_table() -> None:
    read = beta_from_count(3.0, 10, (1.0, 1.0), dc.DiscreteLaplace(1.0))
    assert set(read.simulate(50, np.random.default_rng(1)).tolist()) == {0, 1}
    with pytest.raises(dc.QueryError, match=r"BetaMixture\.declared must be columns"):
        read.table(5)
    for asked in (0, -1, 2.5):
        with pytest.raises(dc.QueryError, match="whole number of"):
            read.of_columns(DeclaredRecords.alone(NumberColumn("x", 0.0, 1.0, 1.0))).tables(1, asked)
    with pytest.raises(dc.QueryError, match="must have a law of records"):
        ChainsPosterior({"mu": np.zeros((2, 10))}).tables(1, 5)


def test_the_bounds_win_over_the_grid() -> None:
    column = NumberColumn("x", 0.0, 0.16, 0.1)
    np.testing.assert_allclose(column.cells(np.array([-3.0, 0.06, 9.0])), [0.0, 0.1, 0.16])
