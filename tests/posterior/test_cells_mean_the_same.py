"""A cell of a new record means what it meant in the private table, whatever holds it; what means nothing is refused."""

import datetime
import math
import random
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.noise import DiscreteLaplace
from discreet.posterior import CoefficientDraws, NaiveBayesPosterior, naive_bayes_from_tables
from discreet.posterior.new_rows import new_rows
from discreet.queries.centred_columns import Axis
from discreet.queries.statistics import Counts, Statistics, Sum
from discreet.schema.row_counts import KnownSize

Read = Callable[[dict[str, Any], Any], dict[str, list[float]]]

LEVELS: dict[str, list[Any]] = {
    "words": ["yes", "no", "Yes"],
    "numbers": [1, 2, "3.5"],
    "the same number twice": ["1", "1.0", "2", "x"],
    "words for nothing": ["None", "nan", "<NA>", "", "NaN", "null"],
    "truth": ["True", "false", "0"],
    "large": ["9007199254740993", "1e308", "inf"],
    "accents": ["Ü", "ü 'x'", "²", "٣"],
}
TEXTS = [
    "yes",
    "no",
    "Yes",
    "YES",
    " yes",
    "1",
    "1.0",
    "01",
    "+1",
    " 1 ",
    "1e0",
    "2",
    "2.00",
    "3.5",
    "3.50",
    "x",
    "",
    " ",
]
TEXTS += [
    "None",
    "nan",
    "NaN",
    "<NA>",
    "null",
    "True",
    "true",
    "TRUE",
    "false",
    "0",
    "-0",
    "0.0",
    "inf",
    "-inf",
    "1e400",
]
TEXTS += [
    "9007199254740993",
    "9007199254740992",
    "1e308",
    "Ü",
    "ü 'x'",
    "²",
    "٣",
    "1_000",
    "0x1",
    "a\x00b",
    "\ud800",
    "y" * 5000,
]
FLOATS = [0.0, -0.0, 1.0, 2.0, 3.5, 0.1, 1e308, -1e308, 2.5, math.nan, math.inf, -math.inf, 9007199254740993.0]
OBJECTS = [
    None,
    pd.NA,
    pd.NaT,
    True,
    False,
    1,
    2,
    -1,
    2**53 + 1,
    10**400,
    Decimal("1.00"),
    Decimal("3.5"),
    Decimal("NaN"),
]
OBJECTS += [
    np.float32(0.1),
    np.int8(2),
    np.bool_(True),
    np.str_("yes"),
    b"yes",
    ["yes"],
    datetime.date(2026, 1, 1),
    object(),
]

COLUMNS: dict[str, Any] = {
    **{f"{name}, {rule}": dc.Categorical(levels, missing=levels[1] if rule == "counts as the second" else None)
       for name, levels in LEVELS.items() for rule in ("counts as the second", "complete")},
    "words, left out": dc.Categorical(LEVELS["words"], missing="exclude"),
    "binary, one": dc.Binary(missing=1),
    "binary, complete": dc.Binary(),
    "binary, left out": dc.Binary(missing="exclude"),
    "bounded": dc.Bounded(-3, 110.5, missing=40.25),
    "bounded, complete": dc.Bounded(-3, 110.5),
    "count": dc.Count(20, missing=7),
    "count, left out": dc.Count(20, missing="exclude"),
}  # fmt: skip
WITH_LEVELS = {name: column for name, column in COLUMNS.items() if isinstance(column, dc.Binary | dc.Categorical)}
FRAGMENTS = [
    "1",
    "2",
    "3.5",
    "0",
    ".",
    "e",
    "+",
    "-",
    " ",
    "_",
    "yes",
    "no",
    "true",
    "n",
    "a",
    "N",
    "inf",
    "Ü",
    "x",
    "\t",
]


def cells_of(kind: str) -> list[Any]:
    """Cells of one type, as a column holds them; or of all."""
    draw = random.Random(kind)
    texts = [*TEXTS, *("".join(draw.choices(FRAGMENTS, k=draw.randint(1, 4))) for _ in range(40))]
    return {
        "objects": [*texts, *FLOATS, *OBJECTS],
        "texts": [*texts, None],
        "well-formed texts": [text for text in texts if text != "\ud800"] + [None],
        "floats": FLOATS,
        "whole": [0, 1, 2, 3, -1, 2**53 + 1],
        "truth": [True, False, None],
        "decimals": [Decimal("1.00"), Decimal("3.50"), Decimal("0.10"), None],
    }[kind]


def pandas_objects(cells: list[Any]) -> Any:
    return pd.DataFrame(dict.fromkeys(COLUMNS, pd.Series(cells, dtype=object)))


# How new records hold cells; a private table holds them in the same way, mappings as a frame.
HOLDERS: dict[str, tuple[str, Callable[[list[Any]], Any]]] = {
    "objects": ("objects", pandas_objects),
    "mapping": ("objects", lambda cells: dict.fromkeys(COLUMNS, cells)),
    "mapping of arrays": ("floats", lambda cells: dict.fromkeys(COLUMNS, np.array(cells))),
    "texts": ("texts", lambda cells: pd.DataFrame(dict.fromkeys(COLUMNS, cells))),
    "truth": ("truth", lambda cells: pd.DataFrame(dict.fromkeys(COLUMNS, pd.array(cells, dtype="boolean")))),
    "categories": (
        "well-formed texts",
        lambda cells: pd.DataFrame(dict.fromkeys(COLUMNS, pd.Series(cells).astype("category"))),
    ),
    "polars": ("well-formed texts", lambda cells: pl.DataFrame(dict.fromkeys(COLUMNS, cells))),
    "arrow": ("whole", lambda cells: pa.table(dict.fromkeys(COLUMNS, pa.array(cells, pa.int64())))),
    "arrow decimals": ("decimals", lambda cells: pa.table(dict.fromkeys(COLUMNS, pa.array(cells)))),
}


def numbered(frame: Any) -> Any:
    """A private table with one more column, in which every row has a level of its own."""
    if isinstance(frame, dict):
        frame = pd.DataFrame({name: pd.Series(list(cells), dtype=object) for name, cells in frame.items()})
    places = list(map(str, range(len(frame))))
    if isinstance(frame, pd.DataFrame):
        return frame.assign(i=places)
    return (
        frame.with_columns(pl.Series("i", places))
        if isinstance(frame, pl.DataFrame)
        else frame.append_column("i", [places])
    )


@cache
def trained(holder: str, second: bool) -> dict[str, list[float]]:
    """What every cell counts as in a private table, where a bad one counts as the first or the second of two values."""

    def counting(column: Any) -> Any:
        ends = column.levels[:2] if column.levels else (column.lower, column.upper)
        chosen = ends[second] if isinstance(column, dc.Categorical | dc.Bounded) else int(ends[second])
        return type(column)(**{**vars(column), "missing": chosen})

    kind, hold = HOLDERS[holder]
    table = numbered(hold(cells_of(kind)))
    rows = dc.Categorical(list(map(str, range(len(table)))))
    data = dc.open(
        table, dc.Schema({**{name: counting(column) for name, column in COLUMNS.items()}, "i": rows}), id="t"
    )
    schema, numeric = data.schema, [name for name in COLUMNS if name not in WITH_LEVELS]
    sums = {name: Sum.of(schema, name, name, within="i") for name in numeric}
    counts = [Counts.over(schema, name, "i", name) for name in WITH_LEVELS]
    found = data.source.statistics(Statistics(schema, (*counts, *sums.values())))
    codes = {name: found[name].argmax(axis=1).tolist() for name in WITH_LEVELS}
    return codes | {name: [float(x) / of.axes[0].reach for x in found[name]] for name, of in sums.items()}


def by_regression(columns: dict[str, Any], records: Any) -> dict[str, list[float]]:
    """The levels and positions that a regression takes cells for."""
    query = dc.LogisticRegression("y", tuple(columns)).query(dc.Schema({**columns, "y": dc.Binary()}, n=9))
    z, features = new_rows(query, records), query.features
    found = {axis.column: z[:, 1 + j].tolist() for j, axis in enumerate(features.numbers)}
    for name, offset, levels in zip(features.categories, features.offsets, features.levels, strict=True):
        found[name] = z[:, offset : offset + len(levels)].argmax(axis=1).tolist()
    return found


def by_classifier(columns: dict[str, Any], records: Any) -> dict[str, list[float]]:
    """The levels that a classifier takes cells for; it has no numbers."""
    known = {name: column for name, column in columns.items() if name in WITH_LEVELS}
    codes = classifier(known)._codes(records)
    return {name: row.tolist() for name, row in zip(known, codes, strict=True)}


def classifier(columns: dict[str, Any]) -> NaiveBayesPosterior:
    tables = {name: np.full((2, len(column.levels)), 3.0) for name, column in columns.items()}
    laws, levels = (
        dict.fromkeys(columns, DiscreteLaplace(1.0)),
        {name: column.levels for name, column in columns.items()},
    )
    priors = dict.fromkeys(columns, 1.0)
    return naive_bayes_from_tables(tables, KnownSize(6), 1.0, priors, laws, ("A", "B"), levels, columns)


def chosen(records: Any, places: dict[str, list[int]]) -> Any:
    """Some cells of each column."""
    if isinstance(records, dict):
        return {name: [records[name][place] for place in at] for name, at in places.items()}
    if isinstance(records, pd.DataFrame):
        return pd.DataFrame({name: records[name].iloc[at].array for name, at in places.items()})
    if isinstance(records, pl.DataFrame):
        return pl.DataFrame({name: records[name][at] for name, at in places.items()})
    return pa.table({name: records[name].take(at) for name, at in places.items()})


def check(read: Read, holder: str, refusals: int = 3) -> None:
    """Cells count for the same; those without a declared meaning are refused, in words about the column."""
    kind, hold = HOLDERS[holder]
    records = hold(cells_of(kind))
    size = len(cells_of(kind))
    first, second = trained(holder, False), trained(holder, True)
    kept, expected, refused = {}, {}, []
    for name, column in COLUMNS.items():
        bad = [place for place in range(size) if first[name][place] != second[name][place]]
        unsaid = column.missing in (None, "exclude")
        places = [place for place in range(size) if not (unsaid and place in bad)]
        refused += [(name, place) for place in bad if unsaid]
        if places:
            kept[name] = (places * size)[:size]
            default = _default(column)
            expected[name] = [default if place in bad else first[name][place] for place in kept[name]]
    found = read({name: COLUMNS[name] for name in kept}, chosen(records, kept))
    for name, counted in found.items():
        np.testing.assert_allclose(counted, expected[name], rtol=1e-12, atol=1e-15, err_msg=name)
    told = [pair for pair in refused if pair[0] in found]
    for name, place in random.Random(holder).sample(told, min(refusals, len(told))):
        with pytest.raises(dc.QueryError, match=rf"new rows must have .* in column '{name}', .*, got one in row 0"):
            read({name: COLUMNS[name]}, chosen(records, {name: [place]}))


def _default(column: Any) -> float:
    """What a bad cell counts as: a code, or a position between -1 and 1."""
    if column.missing in (None, "exclude") or column.levels:
        return math.nan if column.missing in (None, "exclude") else column.levels.index(str(column.missing))
    axis = Axis.of(dc.Schema({"x": column}), "x")
    return float(axis.values(np.array([float(column.missing)]))[0] / axis.reach)


@pytest.mark.parametrize("holder", HOLDERS)
def test_cells_mean_the_same_to_a_regression(holder: str) -> None:
    check(by_regression, holder)


@pytest.mark.parametrize("holder", ["objects", "mapping", "texts"])
def test_cells_mean_the_same_to_a_classifier(holder: str) -> None:
    check(by_classifier, holder)


def a_rule_of_its_own(columns: dict[str, Any], records: Any) -> dict[str, list[float]]:
    """Planted: the rule for cells written once more: whatever has another text or number is the default, or the first."""
    found = {}
    for name, column in columns.items():
        if name in WITH_LEVELS:
            numbers = {_number(level): code for code, level in enumerate(column.levels)}
            texts = [str(cell).lower() if isinstance(column, dc.Binary) else str(cell) for cell in records[name]]
            default = column.default_code or 0
            found[name] = [
                column.levels.index(text) if text in column.levels else numbers.get(_number(text), default)
                for text in texts
            ]
    return found


def levels_as_written(columns: dict[str, Any], records: Any) -> dict[str, list[float]]:
    """Planted: only the texts of levels are known, and there is no rule for other cells."""
    found: dict[str, list[float]] = {}
    for name, column in columns.items():
        for cell in records[name] if name in WITH_LEVELS else ():
            text = f"{cell:.0f}" if isinstance(cell, float) and cell.is_integer() else str(cell)
            if text not in column.levels:
                raise dc.QueryError(
                    f"new rows must have a level in column '{name}', known by its text, got one in row 0"
                )
            found.setdefault(name, []).append(column.levels.index(text))
    return found


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def test_a_second_rule_for_cells_is_found() -> None:
    with pytest.raises(AssertionError):
        check(a_rule_of_its_own, "objects")


def test_a_rule_that_knows_no_missing_cells_is_found() -> None:
    with pytest.raises(dc.QueryError, match="known by its text"):
        check(levels_as_written, "texts")


def test_a_missing_cell_predicts_as_the_level_it_trained_as() -> None:
    frame = pd.DataFrame({"y": [0, 1] * 20, "ward": ["A", "B", None, "C"] * 10})
    schema = dc.Schema({"y": dc.Binary(), "ward": dc.Categorical(["A", "B", "C"], missing="B")})
    data = dc.open(frame, schema, id="wards")
    (made,) = dc.simulate(dc.NaiveBayes("y", ("ward",)), data, dc.NoisyStatistics(epsilon=5.0), runs=1, seed=0)
    for posterior in (made.posterior(), coefficients(schema)):
        unsaid = posterior.predict_proba({"ward": [None, math.nan, "Z", "b", ""]})
        np.testing.assert_array_equal(unsaid, posterior.predict_proba({"ward": ["B"] * 5}))


def test_an_unknown_level_is_refused_in_words_about_the_column() -> None:
    schema = dc.Schema({"y": dc.Binary(), "ward": dc.Categorical(["A", "B", "C"])})
    with pytest.raises(dc.QueryError) as told:
        coefficients(schema).predict_proba({"ward": ["A", "A", "secret-4217", None]})
    assert str(told.value) == (
        "new rows must have a declared level, ['A', 'B', 'C'], in column 'ward', which declares no `missing` value for "
        "other cells, got one in row 2"
    )
    many = dc.Schema({"y": dc.Binary(), "ward": dc.Categorical(range(1000))})
    with pytest.raises(dc.QueryError, match=r"'11'\] and 988 more, in column 'ward'"):
        coefficients(many).predict_proba({"ward": ["-1"]})


def test_no_records_have_no_predictions() -> None:
    schema = dc.Schema({"y": dc.Binary(), "ward": dc.Categorical(["A", "B", "C"])})
    assert coefficients(schema).predict_proba({"ward": []}).shape == (0, 2)
    assert classifier({"x": dc.Binary()}).predict_proba({"x": []}).shape == (0, 2)


@pytest.mark.parametrize(
    "records", [{}, {"ward": 3}, None, "ward", {"ward": pl.LazyFrame()}, pd.DataFrame({"word": ["A"]})]
)
def test_records_without_the_columns_are_refused(records: Any) -> None:
    schema = dc.Schema({"y": dc.Binary(), "ward": dc.Categorical(["A", "B", "C"])})
    with pytest.raises(dc.QueryError, match=r"new rows must have the columns \['ward'\]"):
        coefficients(schema).predict_proba(records)


def coefficients(schema: dc.Schema) -> CoefficientDraws:
    query = dc.LogisticRegression("y", ("ward",)).query(schema.with_n(40))
    values = {query.parameter: np.random.default_rng(1).normal(size=(3, query.features.size))}
    return CoefficientDraws(values, query, 0.3, 2.0, stationary=True)
