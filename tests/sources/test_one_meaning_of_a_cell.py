"""One oracle, every way a cell is read: frames by SQL, plain Arrow rows, new rows of predictions, CSV and Parquet.

Every way and every holder of cells is in `make test`; `make audit`, and the tests under pandas 3, have all of both.
"""

import csv
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import meaning
from hostile_cells import COLUMNS, cells_of

import discreet as dc
from discreet.posterior import new_rows as new_records
from discreet.posterior.new_rows import new_rows
from discreet.queries.counts_and_sums import Axis, Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import coded_cells as meanings
from discreet.schema.arrow_cell import arrow_coded
from discreet.schema.cell import number_of
from discreet.sources.engines import duckdb as engine
from discreet.sources.engines.duckdb import DuckDB, connect
from discreet.sources.sql import cell_sql, level_sql
from thinned import thinned

Codes = dict[str, list[int | None]]
Read = Callable[[Any, dc.Schema], Codes]

# What holds cells of which kind (`cells_of`), as one column of a frame.
HOLDERS: dict[str, tuple[str, Callable[[list[Any]], Any]]] = {
    "pandas objects": ("objects", lambda cells: pd.Series(cells, dtype=object)),
    "pandas texts": ("well-formed texts", lambda cells: pd.Series(cells)),
    "pandas floats": ("floats", lambda cells: pd.Series(cells)),
    "pandas truth": ("truth", lambda cells: pd.Series(pd.array(cells, dtype="boolean"))),
    "pandas categories": ("well-formed texts", lambda cells: pd.Series(cells).astype("category")),
    "polars": ("well-formed texts", pl.Series),
    "arrow texts": ("well-formed texts", pa.array),
    "arrow whole": ("whole", lambda cells: pa.array(cells, pa.int64())),
    "arrow floats": ("floats", pa.array),
    "arrow decimals": ("decimals", pa.array),
    "arrow truth": ("truth", pa.array),
}
IN_FILES = [name for name in HOLDERS if name.startswith("arrow")]

# Columns that are read together; one that excludes rows is read alone.
TOGETHER = {name: column for name, column in COLUMNS.items() if column.missing != "exclude"}
ALONE = [{name: column} for name, column in COLUMNS.items() if name not in TOGETHER]


def table_of(holder: str) -> tuple[list[Any], Any]:
    """The cells, and a frame with a column of them for every declared one, a label, and a name for each row."""
    kind, hold = HOLDERS[holder]
    cells = cells_of(kind)
    frame = pd.DataFrame if holder.startswith("pandas") else pl.DataFrame if holder == "polars" else pa.table
    columns = dict.fromkeys(COLUMNS, hold(cells))
    return cells, frame({**columns, "y": [0] * len(cells), "i": [f"row {i}" for i in range(len(cells))]})


def schema_of(columns: Any, rows: int) -> dc.Schema:
    return dc.Schema({**columns, "y": dc.Binary(), "i": dc.Categorical([f"row {i}" for i in range(rows)])})


def by_statistics(source: Any, schema: dc.Schema) -> Codes:
    """What the statistics of single rows say of their cells."""
    data = dc.open(source, schema, id="t")
    names = [name for name in data.schema.columns if name not in ("y", "i")]
    levels = {name: data.schema.column(name).levels for name in names}
    asked = [
        Counts.over(data.schema, name, "i", name) if levels[name] else Sum.of(data.schema, name, name, within="i")
        for name in names
    ]
    found = data.source.statistics(Statistics(data.schema, (Counts.over(data.schema, "used", "i"), *asked)))
    codes: Codes = {}
    for name in names:
        if levels[name]:
            read = found[name].argmax(axis=1).tolist()
        else:
            axis = Axis.of(data.schema, name)
            read = [axis.low + (int(value) + axis.reach) // 2 for value in found[name]]
        codes[name] = [code if n else None for code, n in zip(read, found["used"], strict=True)]
    return codes


def by_rows(source: Any, schema: dc.Schema) -> Codes:
    """What a mechanism that asks for all rows is given."""
    data = dc.open(source, schema, id="t")
    query = query_of(data.schema)
    features, n = query.features, data.schema.n
    with data.source.design(query) as design:
        used = design.weights.ravel()[:n] > 0
        levels = [column.ravel()[:n].astype(int) for column in np.moveaxis(design.codes, 1, 0)]
        numbers = [column.ravel()[:n].copy() for column in np.moveaxis(design.numbers, 1, 0)]
    read = {axis.column: steps_of(axis, row) for axis, row in zip(features.numbers, numbers, strict=True)}
    for name, offset, row in zip(features.categories, features.offsets, levels, strict=True):
        read[name] = (row - offset).tolist()
    return {name: [code if here else None for code, here in zip(row, used, strict=True)] for name, row in read.items()}


def by_engine(source: Any, schema: dc.Schema) -> Codes:
    """The same, by SQL."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "is_plain", lambda *_: False)
        return by_rows(source, schema)


def without_engine(source: Any, schema: dc.Schema) -> Codes:
    """The same, where no engine would answer; texts and decimals that are numbers are left to it."""
    data = dc.open(source, schema, id="t")
    parsed = [n for n, held in data.source.held.items() if held.storage in ("decimal", "text")]
    plain = {n: column for n, column in schema.columns.items() if n not in parsed or column.levels}
    if plain.keys() <= {"y", "i"}:
        return {}
    assert engine.is_plain(query_of(dc.Schema(plain, n=9)), data.source.held)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DuckDB, "asked", lambda *_: pytest.fail("the engine was asked"))
        return by_rows(source, dc.Schema(plain))


def as_new_rows(source: Any, schema: dc.Schema) -> Codes:
    """What a regression takes the cells of new records for; the refused ones, which are asked one by one, are None."""
    codes: Codes = {}
    for name, column in schema.columns.items():
        if name not in ("y", "i"):
            query = query_of(dc.Schema({name: column, "y": dc.Binary()}, n=9))
            alone = source.select([name]) if isinstance(source, pa.Table) else source[[name]]
            slices = [alone[i : i + 1] for i in range(len(alone))] if column.missing in (None, "exclude") else [alone]
            codes[name] = [code for records in slices for code in _as_new_rows(query, records)]
    return codes


def _as_new_rows(query: Any, records: Any) -> list[int | None]:
    try:
        z = new_rows(query, records)[:, 1:]
    except dc.QueryError as refusal:
        if "which declares no `missing` value" not in str(refusal):
            raise
        return [None]
    return z.argmax(axis=1).tolist() if query.features.categories else steps_of(query.features.numbers[0], z.ravel())


def query_of(schema: dc.Schema) -> Any:
    return dc.LogisticRegression("y", tuple(name for name in schema.columns if name not in ("y", "i"))).query(schema)


def steps_of(axis: Axis, positions: Any) -> list[int]:
    return [axis.low + (round(position * axis.reach) + axis.reach) // 2 for position in positions]


def in_parquet(read: Read, folder: Path) -> Read:
    def answer(source: Any, schema: dc.Schema) -> Codes:
        pq.write_table(source, folder / "t.parquet")
        return read(str(folder / "t.parquet"), schema)

    return answer


NOTATIONS = [
    dc.Csv(),
    dc.Csv(";", ",", encoding="latin-1"),
    dc.Csv("\t", ",", "'"),
    dc.Csv("|", ".", "~", encoding="cp1252"),
]


def in_csv(read: Read, folder: Path, notation: dc.Csv) -> Read:
    """The texts of the cells in a file; what is missing is an empty field, which is a text there."""

    def answer(source: Any, schema: dc.Schema) -> Codes:
        with open(folder / "t.csv", "w", newline="", encoding=notation.encoding, errors="replace") as file:
            signs = {"delimiter": notation.delimiter, "quotechar": notation.quote}
            writer = csv.writer(file, lineterminator="\n", **signs)
            writer.writerow(source.column_names)
            writer.writerows(zip(*(column.to_pylist() for column in source.columns), strict=True))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dc, "open", partial(dc.open, csv=notation))
            return read(str(folder / "t.csv"), schema)

    return answer


def check(read: Read, holder: str, *, notation: dc.Csv | None = None, alone: bool = True) -> None:
    """Every cell means what the oracle says, in every column; new records are refused where nothing is declared."""
    cells, table = table_of(holder)
    commas = notation is not None and notation.decimal == ","
    if notation is not None:  # what the encoding cannot write is a question mark
        texts = ["" if cell is None else cell for cell in cells]
        cells = [text.encode(notation.encoding, "replace").decode(notation.encoding) for text in texts]
    wrong = {}
    for columns in (TOGETHER, *(ALONE if alone else ())):
        for name, found in read(table, schema_of(columns, len(cells))).items():
            column = columns[name]
            if read is as_new_rows and column.missing is None:
                column = type(column)(**{**vars(column), "missing": "exclude"})
            expected = [meaning(column, cell, commas) for cell in cells]
            wrong |= {(name, repr(cell)): (f, e) for cell, f, e in zip(cells, found, expected, strict=True) if f != e}
    assert wrong == {}


SOME = {"pandas objects", "pandas categories", "polars", "arrow decimals"}
BY_SQL = [(holder, read) for holder in HOLDERS for read in (by_statistics, by_engine)]
IN_PARQUET = [(holder, read) for holder in IN_FILES for read in (by_statistics, by_engine, by_rows)]
IN_CSV = [(read, notation) for notation in NOTATIONS for read in (by_statistics, by_engine, by_rows)]


@pytest.mark.parametrize(
    ("holder", "read"),
    thinned(BY_SQL, lambda cell: (cell[0] in SOME) == (cell[1] is by_statistics), several=True),
)
def test_frames_read_by_sql(holder: str, read: Read) -> None:
    check(read, holder)


@pytest.mark.filterwarnings("ignore::discreet.errors.UnknownLevels")
@pytest.mark.parametrize("holder", thinned(HOLDERS, lambda holder: holder in SOME))
def test_new_rows_of_predictions(holder: str) -> None:
    check(as_new_rows, holder)


@pytest.mark.parametrize("holder", ["arrow texts", "arrow floats"])
def test_levels_in_a_table_of_their_own(holder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(level_sql, "MOST_WRITTEN", 0)
    check(by_statistics, holder, alone=False)


def test_a_table_of_levels_with_each_other_s_codes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = engine.listed_levels

    def turned(asked: Any) -> dict[str, dict[Any, int]]:
        tables = right(asked).items()
        return {name: dict(zip(levels, reversed(levels.values()), strict=True)) for name, levels in tables}

    monkeypatch.setattr(level_sql, "MOST_WRITTEN", 0)
    monkeypatch.setattr(engine, "listed_levels", turned)
    with pytest.raises(AssertionError):
        check(by_statistics, "arrow texts", alone=False)


@pytest.mark.parametrize("holder", HOLDERS)
def test_plain_arrow_rows(holder: str) -> None:
    check(without_engine, holder)


@pytest.mark.parametrize(
    ("holder", "read"), thinned(IN_PARQUET, lambda cell: IN_PARQUET.index(cell) % 4 == 0, several=True)
)
def test_parquet_files(holder: str, read: Read, tmp_path: Path) -> None:
    check(in_parquet(read, tmp_path), holder)


@pytest.mark.parametrize(
    ("read", "notation"),
    thinned(IN_CSV, lambda cell: IN_CSV.index(cell) % 4 == 0 or cell[0] is by_rows, several=True),
    ids=lambda part: getattr(part, "__name__", str(part)),
)
def test_csv_files(read: Read, notation: dc.Csv, tmp_path: Path) -> None:
    check(in_csv(read, tmp_path, notation), "arrow texts", notation=notation)


@pytest.mark.parametrize(
    ("module", "rule", "planted"),
    [
        (cell_sql, "swapped", lambda written: written),
        (level_sql, "swapped", lambda written: written),
        (engine, "is_plain", lambda query, held: all(query.schema.column(name).levels for name in query.columns)),
    ],
)
def test_a_file_read_in_another_notation_is_found(
    module: Any, rule: str, planted: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, rule, planted)
    read = by_rows if module is engine else by_statistics
    levels_alone = {name: column for name, column in TOGETHER.items() if column.levels}
    if module is engine:
        monkeypatch.setitem(globals(), "TOGETHER", levels_alone)
    with pytest.raises(AssertionError, match=r"assert \{.*\} == \{\}"):
        check(in_csv(read, tmp_path, NOTATIONS[1]), "arrow texts", notation=NOTATIONS[1], alone=False)


def test_a_text_is_the_number_that_the_engine_parses() -> None:
    """20,000 texts of fragments of numbers, the sign of zero included."""
    draw = random.Random(15)
    fragments = ["1", "2", "3.5", "0", ".", "e", "E", "+", "-", " ", "_", "inf", "Infinity", "nan", "9", "308", "-400"]
    fragments += [
        "\t",
        "\v",
        "\0",
        "\x1c",
        "\x85",
        "\u00a0",
        "x",
        "0x",
        "5e-324",
        "00",
        "٣",
        "d",
        "(",
        "n",
        "true",
        "ınf",
        "İnfinity",
    ]
    texts = ["".join(draw.choices(fragments, k=draw.randint(1, 6))) for _ in range(20_000)]
    texts += ["1" * 310, "0." + "0" * 330 + "1", "1.7976931348623159e308", "2.4e-324", "2.5e-324", "9" * 400 + "e-390"]
    with connect() as connection:
        connection.register("texts", pa.table({"text": texts}))
        parsed = connection.execute("SELECT try_cast(text AS DOUBLE) FROM texts").fetchall()
    assert [repr(number_of(text)) for text in texts] == [repr(None if value != value else value) for (value,) in parsed]


def _lax(text: str) -> float | None:
    """Planted: numbers as Python reads them."""
    try:
        return float(text)
    except ValueError:
        return None


@pytest.mark.filterwarnings("ignore::discreet.errors.UnknownLevels")
@pytest.mark.parametrize(
    ("read", "holder", "module", "rule", "planted"),
    [
        (as_new_rows, "pandas texts", new_records, "number_of", _lax),
        (without_engine, "arrow texts", arrow_coded, "__defaults__", (lambda text: None,)),
        (by_engine, "pandas texts", level_sql, "level_numbers", lambda column: {}),
        (by_statistics, "arrow texts", level_sql, "level_numbers", lambda column: {}),
        (as_new_rows, "pandas objects", meanings, "text_of", lambda cell, truths, longest: str(cell)),
        (by_statistics, "arrow truth", level_sql, "text", lambda raw, storage, truths: cell_sql.text(raw, storage)),
        (by_engine, "pandas texts", dc.Categorical, "other_code", None),
        (without_engine, "arrow texts", dc.Categorical, "other_code", property(lambda column: column.default_code)),
        (by_statistics, "pandas texts", dc.Binary, "any_case", True),
    ],
)
def test_a_rule_of_its_own_is_found(
    read: Read, holder: str, module: Any, rule: str, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, rule, planted)
    with pytest.raises(AssertionError, match=r"assert \{.*\} == \{\}"):
        check(read, holder, alone=False)
