"""A plan of tables as they are expected to be: widths of such tables, whatever the prior allows; wrong words are refused."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.planning import expected_tables

COLUMNS = {
    "smoker": dc.Binary(zero="no", one="yes"),
    "ward": dc.Categorical(["A", "B", "C"]),
    "age": dc.Bounded(0, 100, cut=[30, 60]),
    "visits": dc.Count(10),
}
SCHEMA = dc.Schema(COLUMNS, n=400)
NOISE = dc.NoisyStatistics(epsilon=1.0)


def found_width(table: pd.DataFrame, model: Any, runs: int = 20) -> float:
    """Of releases of one table."""
    made = dc.simulate(model, dc.open(table, SCHEMA, id="own"), NOISE, runs=runs, seed=4)
    ends = (run.posterior().interval(0.9) for run in made)
    return float(np.mean([np.mean(np.subtract(upper, lower)) for lower, upper in ends]))


@pytest.mark.parametrize(
    ("model", "expect", "column"),
    [
        (dc.BetaBernoulli("smoker"), {"smoker": 0.03}, {"smoker": np.repeat(["no", "yes"], [388, 12])}),
        (
            dc.DirichletCategorical("ward"),
            {"ward": [0.9, 0.06, 0.04]},
            {"ward": np.repeat(["A", "B", "C"], [360, 24, 16])},
        ),
    ],
    ids=["share", "levels"],
)
def test_the_width_is_that_of_such_a_table_and_not_of_the_prior(model: Any, expect: Any, column: Any) -> None:
    """Releases of one table: widths vary by a tenth with the noise, so 20 of them by 2% and the tables by as much."""
    others = {"smoker": "no", "ward": "A", "age": 50.0, "visits": 1}
    right = found_width(pd.DataFrame({**dict.fromkeys(COLUMNS), **others, **column}, index=range(400)), model)
    (told,) = dc.plan(model, NOISE, schema=SCHEMA, expect=expect, runs=20).width.values()
    (prior,) = dc.plan(model, NOISE, schema=SCHEMA, runs=20).width.values()
    assert told == pytest.approx(right, rel=0.1)
    assert prior > 1.4 * right


def test_cells_are_what_was_said_and_are_read_like_any_others() -> None:
    """Numbers are clamped, counts are whole, cut columns are cut, persons have as many rows as they may."""
    people = dc.Schema(COLUMNS, n=200, unit=dc.Person("who", max_records=2))
    cells = expected_tables._cells(people, tuple(COLUMNS), {"smoker": [0.7, 0.3], "ward": (0.2, 0.3, 0.5), "age": (90, 30), "visits": (2, 1)})  # fmt: skip
    query = dc.NaiveBayes("smoker", ("ward", "age")).query(people)
    data = expected_tables._table(people, query, cells, np.random.default_rng(1))
    counts = data.source.statistics(query)
    assert data.schema.n == 200
    total = next(array for array in counts.values() if np.sum(array) == 400)
    assert np.sum(total) == 400
    drawn = {name: one.drawn(4000, np.random.default_rng(2)) for name, one in cells.items()}
    assert np.mean(np.array(drawn["smoker"]) == "yes") == pytest.approx(0.3, abs=0.03)
    assert np.mean(np.array(drawn["ward"]) == "C") == pytest.approx(0.5, abs=0.03)
    assert drawn["age"].max() == 100.0
    assert np.median(drawn["age"]) == pytest.approx(90, abs=2)


def test_it_says_what_it_is_and_is_the_same_every_time() -> None:
    made = [dc.plan(dc.BetaBernoulli("smoker"), NOISE, schema=SCHEMA, expect={"smoker": 0.3}, runs=5) for _ in range(2)]
    assert made[0] == made[1]
    assert made[0].expected
    assert made[0].coverage is None
    assert "on average for 90% intervals, of tables as they are expected to be" in str(made[0])
    assert json.loads(json.dumps(made[0].to_json()))["expected"] is True
    prior = dc.plan(dc.BetaBernoulli("smoker", prior=(0.2, 0.2)), NOISE, schema=SCHEMA, runs=40)
    assert "in 8 of 10 tables that the prior allows" in str(prior)
    assert prior.tables is not None
    assert all(low < high for low, high in prior.tables.values())


def test_groups_and_releases_of_every_kind_of_interval_are_planned() -> None:
    grouped = dc.BetaBernoulli("smoker", by="ward")
    made = dc.plan(grouped, NOISE, schema=SCHEMA, expect={"smoker": 0.3, "ward": [0.4, 0.3, 0.3]}, runs=3)
    (alone,) = dc.plan(dc.BetaBernoulli("smoker"), NOISE, schema=SCHEMA, expect={"smoker": 0.3}, runs=3).width.values()
    assert made.width["probability"] > 1.3 * alone
    draw = dc.PosteriorSample(epsilon=1.0, truncation=0.05)
    assert (
        dc.plan(dc.BetaBernoulli("smoker"), draw, schema=SCHEMA, expect={"smoker": 0.3}, runs=3).width["probability"]
        > 0
    )
    own = dc.Schema(COLUMNS, n_max=100, relation="add-remove")
    assert dc.plan(dc.BetaBernoulli("smoker"), NOISE, schema=own, expect={"smoker": 0.3}, runs=3).rows == ""


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a name": ({"smokr": 0.3}, "must name declared columns, got 'smokr'; did you mean 'smoker'"),
    "nothing of a column": ({"ward": [0.5, 0.3, 0.2]}, "say something of every column .*, got nothing of 'smoker'"),
    "shares": (
        {"smoker": 1.3},
        "of 'smoker' must be the shares of 2 levels, which add to 1, or that of the second, got",
    ),
    "no shares": ({"smoker": [0.3, 0.3]}, "which add to 1"),
    "a text": ({"smoker": "few"}, "which add to 1"),
    "no mapping": ([0.3], "must name columns and what is expected of them, got a list"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_expectation_is_refused(name: str) -> None:
    expect, words = REFUSED[name]
    with pytest.raises(dc.QueryError, match=words):
        dc.plan(dc.BetaBernoulli("smoker"), NOISE, schema=SCHEMA, expect=expect)


def test_numbers_have_a_mean_within_their_bounds_and_a_deviation() -> None:
    for said, words in (
        ((50.0,), "must be a mean and a deviation above 0"),
        ((50.0, 0.0), "must be a mean and a deviation above 0"),
        ((150.0, 5.0), "within the bounds, 0 to 100"),
    ):
        with pytest.raises(dc.QueryError, match=words):
            dc.plan(dc.Normal("age"), NOISE, schema=SCHEMA, expect={"age": said})


def test_it_does_not_go_with_a_width_that_is_asked_for_nor_with_draws_without_intervals() -> None:
    asked = {"schema": SCHEMA, "expect": {"smoker": 0.3}}
    with pytest.raises(dc.QueryError, match="expect, or a width or an error that is asked for, got both"):
        dc.plan(dc.BetaBernoulli("smoker"), NOISE, width=0.1, **asked)
    chain = dc.PrivateMetropolis(epsilon_per_step=0.1, steps=10, truncation=0.1)
    with pytest.raises(dc.QueryError, match="said of a release with intervals"):
        dc.plan(dc.BetaBernoulli("smoker"), chain, **asked)
