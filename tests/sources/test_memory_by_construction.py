"""Every text that is grouped, sorted or joined has a public length: no cell, and no number of them, stops a release."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import plain
from sqlglot import exp

import discreet as dc
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Bounded, Categorical, Person, Record, Schema, arrow_cell
from discreet.schema.cell import LONGEST_IDENTIFIER, LONGEST_TEXT, ROOM_FOR_A_NUMBER, longest_text
from discreet.sources.engines import duckdb as engine
from discreet.sources.engines.duckdb import connect
from discreet.sources.open import open_dataset
from discreet.sources.readers import identifiers, parquet
from discreet.sources.sql import cell_sql
from readers_of_identifiers import READERS

COLUMNS = {
    "ward": Categorical(["A", "Ü" * 40, "other"], missing="other"),
    "grade": Categorical(["1", "2"], missing="exclude"),
    "smoker": Binary(missing=1),
    "age": Bounded(0, 16, grid=1.0, missing="exclude"),
}
SCHEMA = Schema(COLUMNS, unit=Person("who", 3), relation="add-remove", n_max=10**6)
LEVEL = longest_text(COLUMNS["ward"].levels)


def rows_of(lengths: list[int]) -> list[dict[str, str]]:
    """Rows whose texts are as long as this; in ASCII and not, and also numbers with many zeros."""
    found = [{"who": f"p{i % 5}", "ward": "AB"[i % 2], "grade": "1", "smoker": "0", "age": "7"} for i in range(20)]
    for i, length in enumerate(lengths):
        found += [dict.fromkeys(["who", *COLUMNS], letter * length + str(i % 3)) for letter in ("0", "é", "x")]
    return found


def sources(folder: Path, rows: list[dict[str, str]]) -> Iterator[Any]:
    table = pa.Table.from_pylist(rows)
    frame = pd.DataFrame(rows)
    yield from (table, frame, frame.astype("category"), frame.astype("string[pyarrow]"), pl.from_arrow(table))
    for name, coded in (("coded", True), ("plain", False)):
        pq.write_table(table, folder / f"{name}.parquet", use_dictionary=coded)
        yield folder / f"{name}.parquet"
    frame.to_csv(folder / "t.csv", index=False)
    yield folder / "t.csv"


def handed_over(source: Any) -> Iterator[dict[str, int]]:
    """The longest text of each column, in bytes, as each reader of a source hands it to the engine."""
    for origin in open_dataset(source, SCHEMA, id="t").source.origins:
        with connect(origin.files) as connection:
            origin.attach(connection, "rows")
            names = [*(f"c{i}" for i, _ in enumerate(COLUMNS)), "person"]
            asked = ", ".join(f"max(strlen({name}))" for name in names)
            found = connection.execute(f"SELECT {asked} FROM rows").fetchall()[0]
            yield dict(zip([*COLUMNS, "person"], found, strict=True))


LENGTHS = [0, 63, 64, LEVEL - 1, LEVEL, ROOM_FOR_A_NUMBER - 1, ROOM_FOR_A_NUMBER, LONGEST_IDENTIFIER, 70_000]


def check_lengths(folder: Path) -> None:
    for source in sources(folder, rows_of(LENGTHS)):
        for found in handed_over(source):
            assert found["person"] <= len("sha256:") + 64
            for name, column in COLUMNS.items():
                # the beginning of a text has as many letters, of at most four bytes
                assert found[name] <= 4 * (longest_text(column.levels) + 1), name


def test_every_reader_hands_over_short_texts(tmp_path: Path) -> None:
    check_lengths(tmp_path)


@pytest.mark.parametrize(("module", "forgotten"), [(cell_sql, "_short"), (parquet, "begun")])
def test_a_reader_that_hands_over_long_texts_is_caught(
    tmp_path: Path, module: Any, forgotten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, forgotten, lambda text, longest: text)
    with pytest.raises(AssertionError):
        check_lengths(tmp_path)


def test_a_reader_that_hands_over_long_identifiers_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifiers, "LONGEST_AS_IT_IS", 2**20)
    with pytest.raises(AssertionError):
        check_lengths(tmp_path)


def test_a_text_that_is_too_long_is_a_bad_cell_and_nothing_is_cut_into_a_level_or_a_person(tmp_path: Path) -> None:
    """Rows with a long text mean what rows with a missing cell mean; long names are nobody's, not one person."""
    long = {
        "ward": ["A" + "x" * LEVEL, "Ü" * 4000],
        "grade": ["0" * 2000 + "1", "1." + "0" * 2000],
        "smoker": ["0" * 3000],
    }
    long |= {"age": ["0" * 2000 + "9", "9." + "0" * 3000]}
    rows = rows_of([])
    for name, cells in long.items():
        rows += [{**rows[0], "who": f"{name}{i}", name: cell} for i, cell in enumerate(cells)]
    names = ["y" * LONGEST_IDENTIFIER + letter for letter in "ab"] + ["z" * LONGEST_IDENTIFIER, "z" * 4095 + "y"]
    rows += [{**rows[0], "who": name} for name in names for _ in range(2)]
    read = [{name: None if name in long and cell in long[name] else cell for name, cell in row.items()} for row in rows]
    due = [row for row in read if row["who"] not in names[:2]]
    for unit in (SCHEMA.unit, Record()):
        schema = replace(SCHEMA, unit=unit)
        asked = [Counts.over(schema, name, name) for name in ("ward", "grade", "smoker")]
        query = Statistics(schema, (*asked, Sum.of(schema, "age", "age")))
        expected = plain(
            open_dataset(pa.Table.from_pylist(read if unit == Record() else due), schema, id="t").source.statistics(
                query
            )
        )
        for source in sources(tmp_path, rows):
            dataset = open_dataset(source, schema, id="t")
            for origin in dataset.source.origins:
                assert plain(replace(dataset.source, origins=(origin,)).statistics(query)) == expected


# One person, many rows, long texts: within a small memory, every source answers.


def crowd(folder: Path, long: str) -> Iterator[Any]:
    """Tables in which one person has many rows, with equal or different long identifiers and long cells."""
    few = [(f"p{i}", "AB"[i % 2]) for i in range(20)]
    for many in (
        [(long, "A")] * 400,
        [("p1", f"{i}{long}") for i in range(200)],
        [(f"{i}{long}", "A") for i in range(200)],
    ):
        who, ward = zip(*few, *many, strict=True)
        table = pa.table({"who": pa.array(who).dictionary_encode(), "ward": pa.array(ward).dictionary_encode()})
        for coded in (True, False):
            pq.write_table(table, folder / "t.parquet", use_dictionary=coded, compression="zstd")
            yield folder / "t.parquet"
        yield table
        yield pd.DataFrame({"who": who, "ward": ward})


def answered(folder: Path, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MEMORY_LIMIT", "24MB")
    schema = Schema({"ward": COLUMNS["ward"]}, unit=Person("who", 3), relation="add-remove", n_max=10**6)
    for source in crowd(folder, "x" * length):
        for unit in (schema.unit, Record()):
            declared = replace(schema, unit=unit)
            query = Statistics(declared, (Counts.over(declared, "ward", "ward"), Counts("used", (), ())))
            used = int(open_dataset(source, declared, id="t").source.statistics(query)["used"])
            assert used in ((20, 22, 23) if unit == schema.unit else (220, 420))


def test_one_person_of_many_rows_and_long_texts_does_not_stop_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered(tmp_path, 200_000, monkeypatch)


def test_four_hundred_rows_of_one_long_identifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 50 kB that needs 400 MB once its texts are copied from row to row, with the memory that there is."""
    names = pa.array(["x" * 2**20, *map(str, range(100))])
    who = pa.DictionaryArray.from_arrays(np.r_[np.zeros(400, np.int32), np.arange(1, 101, dtype=np.int32)], names)
    pq.write_table(pa.table({"who": who, "smoker": [1] * 500}), tmp_path / "t.parquet")
    schema = Schema({"smoker": Binary()}, unit=Person("who", 3), relation="add-remove", n_max=10**6)
    query = Statistics(schema, (Counts.over(schema, "smoker", "smoker"),))

    def released() -> Any:
        return plain(open_dataset(tmp_path / "t.parquet", schema, id="t").source.statistics(query))

    assert released() == {"smoker": [0, 100]}
    # the twin: identifiers up to 2^20 bytes are sorted as they are
    for limit in ("LONGEST_IDENTIFIER", "LONGEST_TEXT"):
        monkeypatch.setattr(arrow_cell, limit, 2**20)
    for module in READERS:
        monkeypatch.setattr(module, "identifier", lambda cell, name: exp.column(cell.column, name, quoted=True))
    with pytest.raises(dc.ReleaseError):
        released()


# One text that many rows share is one text, not as many.


def sharing(n: int, text: str) -> Iterator[Any]:
    """Frames of small size whose first rows hold the same long text, in a column of levels and as identifiers."""
    codes = [0] * (n - 2) + [1, 2]
    texts = [text, "A", "p1"]
    cells = [texts[code] for code in codes]  # the same object
    for kind in (object, "string[python]"):
        yield pd.DataFrame({"ward": pd.Series(cells, dtype=kind), "who": pd.Series(cells, dtype=kind)})
    categories = pd.Series(pd.Categorical.from_codes(codes, texts))
    yield pd.DataFrame({"ward": categories, "who": categories})
    coded = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(texts))
    yield pa.table({"ward": coded, "who": coded})
    shared = pl.concat([pl.repeat(text, n - 2, eager=True), pl.Series(["A", "p1"])])
    for column in (shared, shared.cast(pl.Binary), pl.Series(texts).cast(pl.Categorical).gather(codes)):
        yield pl.DataFrame({"ward": column, "who": column})
    views = shared.to_arrow(compat_level=pl.CompatLevel.newest())
    yield pa.table({"ward": views, "who": views})


def check_shared() -> None:
    """What a frame becomes is as small for a long text as for a missing one."""
    n, length = 400, 60_000
    schema = Schema({"ward": COLUMNS["ward"]}, unit=Person("who", 3), relation="add-remove", n_max=10**6)
    for frame in sharing(n, "x" * length):
        dataset = open_dataset(frame, schema, id="t")
        (rows,) = dataset.source.origins
        assert rows.rows.nbytes < 100 * n
        assert dataset.source.count() == 2


def test_a_text_that_many_rows_share_is_not_copied_to_each() -> None:
    check_shared()


@pytest.mark.parametrize("name", ["ward", "who"])
def test_a_copy_of_a_long_text_for_every_row_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted twin: texts of up to 64 KiB were copied to the rows first."""
    longest = arrow_cell.longest_texts
    monkeypatch.setattr(arrow_cell, "longest_texts", lambda schema: longest(schema) | {name: LONGEST_TEXT})
    with pytest.raises(AssertionError):
        check_shared()
