"""Numbers that are cut into levels, and classes of cells: one oracle, every way a cell is read."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from cell_oracle import meaning, number, with_points, written
from hostile_cells import COLUMNS as HOSTILE
from test_one_meaning_of_a_cell import HOLDERS, NOTATIONS, cells_of, in_csv, in_parquet

import discreet as dc
from discreet.posterior.new_rows import new_codes
from discreet.queries.cell_classes import cell_class_query, cell_classes
from discreet.queries.counts_and_sums import Counts
from discreet.queries.statistics import Statistics
from discreet.schema import coded_cells as meanings
from discreet.schema import number_columns
from discreet.schema.arrow_cell import arrow_coded, frame_columns
from discreet.sources import CodedRows
from discreet.sources.sql import statements

CUT = {
    "years": dc.Bounded(-3, 110.5, missing=40.25, cut=[0, 3.5, 40.25, 100]),
    "complete": dc.Bounded(-3, 110.5, cut=[0.1]),
    "coarse": dc.Bounded(0, 10, grid=0.5, cut=[1, 3.5, 9.9]),
    "thirds": dc.Bounded(0, 4, missing=2, grid=1 / 3, cut=[1, 2.5]),
    "counted": dc.Count(20, missing=7, cut=[1, 3, 20]),
    "left out": dc.Bounded(-3, 110.5, missing="exclude", cut=[1, 2.0]),
    "counts left out": dc.Count(20, missing="exclude", cut=[2]),
}
WORDS = ["words, complete", "numbers, others", "truth, others", "words, others, left out", "large, others"]
TWO = ["no and yes", "binary, left out", "x or nothing", "long words", "binary, complete"]
CLASSED = {name: HOSTILE[name] for name in (*WORDS, *TWO, "bounded", "count, left out")} | {
    "years": CUT["years"],
    "up to the last double": dc.Bounded(0, math.nextafter(math.inf, 0.0)),
}
# values next to every cut, where rounding decides, and next to every bound
EDGES = [
    near
    for column in CUT.values()
    for point in (*column.cut, column.lower, column.upper)  # type: ignore[misc]
    for half in (0.0, -0.5 * column.step)
    for value in (point + half,)
    for near in (value, math.nextafter(value, -math.inf), math.nextafter(value, math.inf))
]
HELD: dict[str, tuple[Any, Any]] = {
    **{name: (cells_of(kind), hold) for name, (kind, hold) in HOLDERS.items()},
    "edges in pandas": (EDGES, pd.Series),
    "edges in arrow": (EDGES, pa.array),
    "edges as texts": ([*map(repr, EDGES), "", None], pa.array),
}
FILES = ["arrow texts", "edges as texts"]
Codes = dict[str, list[int | None]]


def level(column: Any, cell: Any, commas: bool = False) -> int | None:
    """The range of a cell: its grid step compared with those of the cuts, in whole numbers; None excludes the row."""
    bare = type(column)(**{**vars(column), "cut": None})
    step = meaning(bare, cell, commas)
    return None if step is None else sum(step >= meaning(bare, float(point)) for point in column.cut)  # type: ignore[operator,misc]


def class_of(column: Any, cell: Any, commas: bool = False) -> str:
    """What becomes of a cell, in words."""
    text = written(column, cell)
    if isinstance(column, dc.Bounded | dc.Count):
        value = number(with_points(text) if commas else text)
        if value is None:
            return "bad"
        if value < column.lower or value > column.upper:
            return "below the bounds" if value < column.lower else "above the bounds"
        ends = {column.lower: "on the lower bound", column.upper: "on the upper bound"}
        return ends.get(value, "inside")
    strict = type(column)(
        **{**vars(column), "missing": "exclude", **({"other": None} if hasattr(column, "other") else {})}
    )
    if meaning(strict, cell, commas) is not None:
        return "declared"
    return "other" if getattr(column, "other", None) is not None and text else "bad"


def frame(holder: str, columns: Any) -> tuple[list[Any], Any]:
    cells, hold = HELD[holder]
    held = pd.DataFrame if holder.endswith("pandas") or holder.startswith("pandas") else pa.table
    if holder == "polars":
        import polars as pl

        held = pl.DataFrame
    return cells, held({**dict.fromkeys(columns, hold(cells)), "i": [f"row {i}" for i in range(len(cells))]})


def schema_of(columns: Any, rows: int) -> dc.Schema:
    return dc.Schema({**columns, "i": dc.Categorical([f"row {i}" for i in range(rows)])})


def asked(query: Any, source: Any, names: Any) -> Codes:
    """What statistics of single rows say of their cells."""
    found = source.statistics(query)
    return {name: [int(row.argmax()) if row.sum() else None for row in found[name]] for name in names if name != "i"}


def by_statistics(source: Any, schema: dc.Schema) -> Codes:
    """All columns at once, but those that exclude rows each alone."""
    data, names = dc.open(source, schema, id="t"), [name for name in schema.columns if name != "i"]
    alone = [[name] for name in names if schema.columns[name].missing == "exclude"]
    codes: Codes = {}
    for together in ([name for name in names if [name] not in alone], *alone):
        tables = tuple(Counts.over(data.schema, name, "i", name) for name in together)
        codes |= asked(Statistics(data.schema, tables), data.source, together)
    return codes


def of_persons(source: Any, schema: dc.Schema) -> Codes:
    """Each row is a person of its own: rows are coded before they are grouped."""
    return by_statistics(source, dc.Schema(schema.columns, unit=dc.Person("i", 1)))


def classes(source: Any, schema: dc.Schema) -> Codes:
    names = tuple(name for name in schema.columns if name != "i")
    data = dc.open(source, schema, id="t")
    return asked(cell_class_query(data.schema, names, by="i"), data.source, names)


def check(read: Any, holder: str, *, columns: Any = CUT, notation: dc.Csv | None = None, expected: Any = level) -> None:
    cells, table = frame(holder, columns)
    commas = notation is not None and notation.decimal == ","
    if notation is not None:
        texts = ["" if cell is None else cell for cell in cells]
        cells = [text.encode(notation.encoding, "replace").decode(notation.encoding) for text in texts]
    schema, wrong = schema_of(columns, len(cells)), {}
    for name, found in read(table, schema).items():
        column = columns[name]
        if expected is class_of:
            found = [None if code is None else cell_classes(schema, name)[code] for code in found]
        right = [expected(column, cell, commas) for cell in cells]
        wrong |= {(name, repr(cell)): (f, e) for cell, f, e in zip(cells, found, right, strict=True) if f != e}
    assert wrong == {}


@pytest.mark.parametrize(
    "holder", ["pandas texts", "pandas truth", "polars", "arrow whole", "arrow decimals", "edges in arrow"]
)
def test_cut_numbers_in_frames(holder: str) -> None:
    check(by_statistics, holder)


@pytest.mark.parametrize("holder", ["edges in pandas", "pandas objects", "arrow texts"])
def test_cut_numbers_of_persons(holder: str) -> None:
    check(of_persons, holder)


@pytest.mark.parametrize(
    "holder", ["pandas objects", "pandas texts", "pandas truth", "polars", "arrow decimals", "edges in pandas"]
)
def test_classes_in_frames(holder: str) -> None:
    check(classes, holder, columns=CLASSED, expected=class_of)


@pytest.mark.parametrize("holder", FILES)
def test_cut_numbers_and_classes_in_parquet_files(holder: str, tmp_path: Path) -> None:
    check(in_parquet(by_statistics, tmp_path), holder)
    check(in_parquet(classes, tmp_path), holder, columns=CLASSED, expected=class_of)


@pytest.mark.parametrize("notation", NOTATIONS[:2], ids=str)
def test_cut_numbers_and_classes_in_csv_files(notation: dc.Csv, tmp_path: Path) -> None:
    check(in_csv(by_statistics, tmp_path, notation), "arrow texts", notation=notation)
    check(
        in_csv(classes, tmp_path, notation),
        "arrow texts",
        columns=CLASSED,
        notation=notation,
        expected=class_of,
    )


@pytest.mark.filterwarnings("ignore::discreet.errors.UnknownLevels")
@pytest.mark.parametrize("holder", HELD)
def test_without_an_engine_and_as_new_rows(holder: str) -> None:
    """Cells straight from Arrow, as codes in memory and as new records, which are refused where nothing is declared."""
    cells, table = frame(holder, CUT)
    seen = schema_of(CUT, len(cells)).seen_as({name: column.as_levels for name, column in CUT.items()})
    held = frame_columns(table, seen)
    for name, column in CUT.items():
        expected = [level(column, cell) for cell in cells]
        codes = arrow_coded(seen.column(name), held[name])
        assert [None if code < 0 else int(code) for code in codes] == expected, name
        query = Statistics(seen, (Counts.over(seen, name, name),))
        used = [code for code in expected if code is not None]
        assert (
            CodedRows({name: codes}).statistics(query)[name].tolist()
            == np.bincount(
                used,
                minlength=len(column.cut) + 1,  # type: ignore[arg-type]
            ).tolist()
        )
        decided = column if column.missing is not None else type(column)(**{**vars(column), "missing": "exclude"})
        new = {name: column.as_levels}
        for i, cell in enumerate(cells):
            if level(decided, cell) is None:
                with pytest.raises(dc.QueryError, match="must have a number in column"):
                    new_codes(new, {name: [cell]})
            elif i % 7 == 0:
                assert new_codes(new, {name: [cell]})[name].tolist() == [level(decided, cell)]


def test_a_naive_bayes_reads_new_rows_as_its_table() -> None:
    schema = dc.Schema({"age": dc.Bounded(0, 110, cut=[18, 65]), "ill": dc.Binary()}, n=300)
    ages = [5.0, 17.9999999, 18, 40, 65, 200]
    table = pd.DataFrame({"age": ages * 50, "ill": [0, 0, 1, 1, 0, 0] * 50})
    data = dc.open(table, schema, id="t")
    release = dc.simulate(dc.NaiveBayes("ill", ("age",)), data, dc.NoisyStatistics(epsilon=100.0), runs=1, seed=1)[0]
    ill = release.posterior().predict_proba(pd.DataFrame({"age": ages}))[:, 1]  # type: ignore[attr-defined]
    assert ill[1:4].tolist() == pytest.approx([2 / 3] * 3, abs=0.02)  # 17.9999999 is rounded to 18, as it is summed
    assert (ill[[0, 4, 5]] < 0.05).all()


@pytest.mark.parametrize(
    ("read", "holder", "module", "rule", "planted"),
    [
        (by_statistics, "edges in arrow", number_columns, "_least", lambda lower, upper, step, point: float(point)),
        (of_persons, "pandas floats", statements, "range_code", lambda value, column: value),
        (classes, "pandas texts", statements, "class_code", lambda level, there, column: level),
        (by_statistics, "arrow texts", statements, "number", lambda raw, storage: raw),
    ],
)
def test_a_rule_of_its_own_is_found(
    read: Any, holder: str, module: Any, rule: str, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, rule, planted)
    how = {"columns": CLASSED, "expected": class_of} if read is classes else {}
    with pytest.raises((AssertionError, dc.ReleaseError)):
        check(read, holder, **how)  # type: ignore[arg-type]


def test_ranges_of_arrow_that_forget_the_bad_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(column: Any, values: Any) -> Any:
        return np.searchsorted(np.array(column.breaks), values, side="right").astype(np.int64)

    monkeypatch.setattr(meanings, "coded_numbers", planted)
    with pytest.raises(AssertionError):
        test_without_an_engine_and_as_new_rows("arrow texts")


@pytest.mark.parametrize("declared", [dc.Bounded(0, 10, cut=[5]), dc.Count(9), dc.Binary(), dc.Categorical(["a", "b"])])
def test_what_a_query_sees_is_not_declared(declared: Any) -> None:
    """It was once taken for a column, and failed with an unexpected error where the schema was written."""
    for view in (declared.as_levels, declared.told_apart):
        if view is None or view is declared:
            continue
        with pytest.raises(dc.SchemaError, match=r"Schema.columns\['x'\] must be a column such as dc.Binary\(\)"):
            dc.Schema({"x": view})
    schema = dc.Schema({"x": declared}, n=5)
    seen = schema.seen_as({"x": declared.told_apart})
    assert seen.with_n(5).only(["x"]).column("x") == declared.told_apart
    assert seen.relation == schema.relation
    assert schema.seen_as({"x": declared}) is schema
