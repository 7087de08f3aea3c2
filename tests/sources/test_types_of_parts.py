"""Types that writers choose from cells decide nothing: not whether files open, and not what any other cell means.

Each file of a glob may hold a column in a type of its own. The answers are those of an oracle that reads texts row by
row and knows no types.
"""

import datetime
import random
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import EXCLUDING, SCHEMA, expected, of_persons, ordinary_rows, plain, query_of

import discreet as dc
from discreet.errors import SchemaError
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.sources.readers import parts

Rows = list[dict[str, str | None]]

TEXTS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), "codes"]
WHOLE = [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(9), pa.decimal256(60)]
FRACTIONS = [pa.float64(), pa.decimal128(9, 2), pa.decimal128(38, 30), pa.decimal256(70, 40)]
NO_CELLS = [pa.null(), pa.timestamp("us"), pa.list_(pa.int64()), pa.date32()]
TYPES: dict[str, list[Any]] = {
    "smoker": [*TEXTS, *WHOLE, pa.bool_()],
    "ward": TEXTS,
    "grade": [*TEXTS, *FRACTIONS],
    "age": [*TEXTS, *FRACTIONS],
    "visits": [*TEXTS, *WHOLE, *FRACTIONS],
    "who": [*TEXTS, *WHOLE, *FRACTIONS],
}


def held(cells: list[str | None], kind: Any) -> pa.Array:
    """These texts as cells of a type."""
    if kind == "codes":
        return pa.array(cells).dictionary_encode()
    if pa.types.is_boolean(kind):
        return pa.array([None if cell is None else cell == "1" for cell in cells])
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return pa.array([None if cell is None else float(cell) for cell in cells]).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.array([None if cell is None else Decimal(cell) for cell in cells], kind)
    if kind in NO_CELLS:
        now = datetime.datetime(2026, 1, 2)
        values = {pa.null(): None, pa.date32(): now.date(), pa.timestamp("us"): now}
        return pa.array([values.get(kind, [7]) for _ in cells], kind)
    return pa.array(cells, pa.string()).cast(kind)


def table(draw: random.Random, n: int) -> Rows:
    rows: Rows = [dict(row) for row in ordinary_rows(n, draw.randrange(10**6))]
    for row in rows:
        row["who"] = str(draw.randrange(9))
        for name in row:
            if draw.random() < 0.1:
                row[name] = None
    return rows


def write_parts(folder: Path, rows: Rows, draw: random.Random) -> Rows:
    """The rows in files whose types are drawn for each file and column; returns the rows as they can be read."""
    folder.mkdir()
    bounds = sorted(draw.sample(range(1, len(rows)), 3))
    read: Rows = []
    for i, (start, stop) in enumerate(zip([0, *bounds], [*bounds, len(rows)], strict=True)):
        part, columns = [dict(row) for row in rows[start:stop]], {}
        for name, kinds in TYPES.items():
            if i and draw.random() < 0.15:
                columns[name] = held([None] * len(part), draw.choice(NO_CELLS))
                if draw.random() < 0.3:  # what has no value in any record may have no column
                    columns["absent " + name] = columns.pop(name)
                for row in part:
                    row[name] = None
            else:
                columns[name] = held([row[name] for row in part], draw.choice(kinds))
        pq.write_table(pa.table(columns), folder / f"{i}.parquet")
        read += part
    return read


def disagreements(folder: Path, seeds: range) -> list[Any]:
    """The seeds whose files are refused or read otherwise than the oracle reads them."""
    found = []
    for seed in seeds:
        draw = random.Random(seed)
        rows = write_parts(folder / f"{seed}", table(draw, 40), draw)
        schema = [SCHEMA, EXCLUDING, of_persons(SCHEMA, 2), of_persons(EXCLUDING, 3)][seed % 4]
        try:
            data = dc.open(str(folder / f"{seed}" / "*.parquet"), schema, id="t")
            if plain(data.source.statistics(query_of(schema))) != expected(query_of(schema), rows):
                found.append(seed)
        except SchemaError as error:
            found.append((seed, str(error)))
    return found


def test_files_of_any_types_mean_what_their_texts_mean(tmp_path: Path) -> None:
    assert disagreements(tmp_path, range(6)) == []


def test_readers_that_want_one_type_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule as it was: several types are refused; and a reader that takes the first file's type for all."""
    rule = parts.slots_of

    def one_type(name: str, kinds: Any) -> Any:
        if len({str(kind) for kind in kinds}) > 1:
            raise SchemaError(f"Schema.columns[{name!r}] must have one type in all files of the source, got several")
        return rule(name, kinds)

    for planted in (one_type, lambda name, kinds: rule(name, kinds)[:1]):
        folder = tmp_path / str(id(planted))
        folder.mkdir()
        with monkeypatch.context() as patched:
            patched.setattr("discreet.sources.readers.parquet.slots_of", planted)
            with pytest.raises(AssertionError):
                assert disagreements(folder, range(3)) == []


def test_rows_keep_their_order_whatever_the_types(tmp_path: Path) -> None:
    """What a convex loss reads: file after file, as if all had the types of the first."""
    schema = dc.Schema({"y": dc.Binary(), "x": dc.Bounded(0, 4096, grid=1.0), "c": dc.Categorical(["1", "2", "b"])})
    x = np.arange(4000)
    y, c = (x * x % 7 < 3).astype(int), np.where(x % 3, "1", "b")
    designs = {}
    kinds = {"same": [pa.float64()] * 3, "several": [pa.int64(), pa.string(), pa.float64()]}
    for name, types in kinds.items():
        (tmp_path / name).mkdir()
        for i, kind in enumerate(types):
            some = slice([0, 7, 2500][i], [7, 2500, 4000][i])
            ages = held([str(value) for value in x[some]], kind)
            part = {"x": ages, "y": y[some], "c": held(list(c[some]), "codes" if i else pa.string())}
            pq.write_table(pa.table(part), tmp_path / name / f"{i}.parquet", row_group_size=900)
        data = dc.open(str(tmp_path / name / "*.parquet"), schema, id="t")
        model = dc.LogisticRegression("y", ("x", "c"))
        with data.source.design(model.query(data.schema)) as design:
            designs[name] = (design.numbers.copy(), design.codes.copy(), design.targets.copy(), design.weights.copy())
    assert len(designs) == 2
    assert all(np.array_equal(a, b) for a, b in zip(*designs.values(), strict=True))
    assert np.unique(designs["same"][0]).size >= 4000


def test_one_number_of_64_bits_rounds_no_other_number(tmp_path: Path) -> None:
    """From 2^53 on numbers are rounded to doubles; once, whatever type another file needs."""
    schema = dc.Schema({"x": dc.Categorical(["other", str(-(2**54 + 8)), str(-(2**54 + 4))])})
    for name, other in {"int64": pa.array([1]), "uint64": pa.array([2**63], pa.uint64()), "text": ["1"]}.items():
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"x": [-(2**54 + 6)]}), tmp_path / name / "a.parquet")
        pq.write_table(pa.table({"x": other}), tmp_path / name / "b.parquet")
        data = dc.open(str(tmp_path / name / "*.parquet"), schema)
        answers = data.source.statistics(Statistics(data.schema, (Counts.over(data.schema, "x", "x"),)))
        assert answers["x"].tolist() == [1, 1, 0], name


def test_a_column_that_is_nowhere_a_cell_is_refused_and_one_of_nothing_is_read(tmp_path: Path) -> None:
    schema = dc.Schema({"k": dc.Categorical(["a", "b"], missing="b")})
    query = Statistics(schema, (Counts.over(schema, "k", "k"),))
    for i, kind in enumerate(NO_CELLS[1:]):
        pq.write_table(pa.table({"k": held([None], kind)}), tmp_path / f"{i}.parquet")
    with pytest.raises(SchemaError, match="got type timestamp"):
        dc.open(str(tmp_path / "*.parquet"), schema)
    for extra, due in ((held([None] * 2, pa.null()), [0, 5]), (pa.array(["a", None]), [1, 4])):
        pq.write_table(pa.table({"k": extra}), tmp_path / "extra.parquet")
        data = dc.open(str(tmp_path / "*.parquet"), schema)
        assert plain(data.source.statistics(query)) == {"k": due}


# D and D' as libraries write them: one cell decides the types

CLEAN: dict[str, list[Any]] = {
    "k": ["a", "b", "a", "b", "a", "c"],
    "g": [1, 2, 1, 2, 2**53 + 1, 1],
    "x": [1, 2, 3, 4, 5, 6],
    "f": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
    "b": [True, False, True, False, True, True],
    "d": [Decimal("1.5"), Decimal("2"), Decimal("1.50"), Decimal("0.1"), Decimal("7"), Decimal("3")],
    "who": [1, 2, 1, 3, 2, 1],
}
OTHERS: dict[str, list[Any]] = {
    "k": [None, "zzz", b"a", b"\xff", float("nan")],
    "g": [None, 2.5, 2**63, Decimal("1.25"), "x"],
    "x": [None, 2.5, 2**63, Decimal("1.25"), 1e300],
    "f": [None, 7, Decimal("1.25"), float("inf")],
    "b": [None, float("nan")],
    "d": [None, Decimal("1E-30"), Decimal("12345678901234567890123456789012345678"), Decimal("NaN"), 1],
    "who": [None, 2.5, 2**53 + 1, 2**63],
}
DECLARED: dict[str, Any] = {
    "k": dc.Categorical(["a", "b", "other"], missing="other"),
    "g": dc.Categorical(["1", "2", "9007199254740993", "other"], missing="other"),
    "x": dc.Bounded(0, 8, grid=1.0),
    "f": dc.Bounded(0, 8),
    "b": dc.Binary(),
    "d": dc.Categorical(["1.5", "2", "other", "1.50"], missing="other"),
}
Writer = Callable[[dict[str, list[Any]], Path], Any]
WRITERS: dict[str, Writer] = {
    "pandas": lambda cells, path: pd.DataFrame(cells).to_parquet(path),
    "polars": lambda cells, path: pl.DataFrame(cells, strict=False).write_parquet(path),
    "pyarrow": lambda cells, path: pq.write_table(pa.table(cells), path),
}


SOME = [("pandas", "rows"), ("polars", "persons")]  # the others: make audit, and under pandas 3


def seen(source: str, schema: dc.Schema) -> tuple[Any, dict[str, Any]]:
    """What is seen of opening and asking, and the answers, which noise would cover."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            data = dc.open(source, schema, id="t")
            levels = [name for name in DECLARED if not isinstance(DECLARED[name], dc.Bounded)]
            tables = [Counts.over(data.schema, name, name) for name in levels]
            query = Statistics(data.schema, (*tables, Sum.of(data.schema, "x", "x"), Sum.of(data.schema, "f", "f")))
            answers = plain(data.source.statistics(query))
            event: Any = (data.schema.n, str(dc.NoisyStatistics(epsilon=1.0).guarantee(query)))
        except Exception as error:
            answers, event = {}, (type(error), str(error))
    return (event, [str(warning.message) for warning in warned]), answers


@pytest.mark.parametrize(
    ("writer", "units"),
    [
        pytest.param(writer, units, id=f"{name}-{units}", marks=[] if (name, units) in SOME else [pytest.mark.audit])
        for name, writer in WRITERS.items()
        for units in ("rows", "persons")
    ],
)
def test_one_cell_changes_no_event_and_no_other_cell(tmp_path: Path, writer: Writer, units: str) -> None:
    """The row whose cell is exchanged is the last, alone with one other in a file, or in the one file there is."""
    schema = dc.Schema(DECLARED)
    if units == "persons":
        schema = dc.Schema(DECLARED, unit=dc.Person("who", 9), relation="add-remove", n_max=9)

    def written(name: str, cells: dict[str, list[Any]]) -> list[str]:
        (tmp_path / name).mkdir()
        writer(cells, tmp_path / name / "whole.parquet")
        for part, some in (("a", slice(0, 4)), ("b", slice(4, 6))):
            writer({key: values[some] for key, values in cells.items()}, tmp_path / name / f"part-{part}.parquet")
        return [str(tmp_path / name / files) for files in ("whole.parquet", "part-*.parquet")]

    usual = [seen(source, schema) for source in written("usual", CLEAN)]
    assert usual[0] == usual[1]
    assert usual[0][1]["k"] == [3, 2, 1]
    columns = DECLARED if units == "rows" else OTHERS
    for i in range(5 if units == "rows" else 4):
        last = {name: OTHERS[name][i] for name in columns if _can_write(writer, tmp_path, name, i)}
        assert last or i
        sources = written(f"{i}", CLEAN | {name: [*CLEAN[name][:-1], cell] for name, cell in last.items()})
        for source, (event, answers) in zip(sources, usual, strict=True):
            found = seen(source, schema)
            assert found[0] == event, last
            assert all(_near(found[1][key], answers[key], key in last or "who" in last) for key in answers), last


def _can_write(writer: Writer, folder: Path, name: str, i: int) -> bool:
    """Whether the library itself takes such a cell into a column, alone with one other and among all."""
    if i >= len(OTHERS[name]):
        return False
    try:
        for start in (0, 4):
            writer({name: [*CLEAN[name][start:-1], OTHERS[name][i]]}, folder / "try.parquet")
            pq.read_schema(folder / "try.parquet")  # polars writes integers of 128 bits, which Arrow cannot read
    except BaseException:  # polars panics
        return False
    return True


def _near(one: Any, other: Any, may_move: bool) -> bool:
    """Whether two tables or sums are equal, or apart by one row where that row may move them."""
    apart = np.abs(np.asarray(one, dtype=object) - np.asarray(other, dtype=object))
    if np.ndim(one):
        return apart.sum() <= 2 * may_move
    return int(apart) <= (2 * 8 / dc.Bounded(0, 8).step if may_move else 0)
