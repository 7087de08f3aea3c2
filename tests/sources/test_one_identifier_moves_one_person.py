"""Whatever one identifier becomes, every other row stays with its person, although writers change types with it."""

import importlib
import random
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
from cell_oracle import plain
from test_identifiers_are_injective import owners

from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Count, Person, Schema
from discreet.sources.open import open_dataset
from discreet.sources.readers import owners as owners_module
from discreet.sources.readers import parquet
from discreet.sources.readers.identifiers import identifier_texts
from thinned import thinned

frames = importlib.import_module("discreet.sources.open")  # whose name in the package is the function

SMALL = [0, 1, 17, 100, 2**31, 2**53 - 1]
LARGE = [2**53, 2**53 + 1, 2**53 + 2, 2369154870355324928, 2369154870355324929, 2**63 - 1]
CHANGES = [None, "abc", 2**70, 2**64 - 1, 0.5, float("nan"), 1e300, Decimal("1.5"), Decimal(2**80), True, -1, 18]

Ids = list[Any]


def frame(ids: Ids, kind: Any = None) -> pd.DataFrame:
    n = np.arange(len(ids))
    return pd.DataFrame(
        {"row": n, "a": n % 2, "part": n % 3, "who": ids if kind is None else pd.Series(ids, dtype=kind)}
    )


def table(ids: Any) -> pa.Table:
    n = np.arange(len(ids))
    return pa.table({"row": n, "a": n % 2, "who": ids})


def polars(ids: Ids) -> pl.DataFrame:
    return pl.DataFrame(
        {"row": np.arange(len(ids)), "a": np.arange(len(ids)) % 2, "who": pl.Series(ids, dtype=pl.Int64)}
    )


def file(folder: Path, rows: pd.DataFrame, **options: Any) -> Path:
    rows.to_parquet(folder / "t.parquet", **options)
    return folder / "t.parquet"


def partitioned(folder: Path, rows: pd.DataFrame) -> Path:
    rows.to_parquet(folder / "split", partition_cols=["part"])
    return folder / "split" / "**" / "*.parquet"


def in_parts(folder: Path, rows: pd.DataFrame) -> Path:
    for part, some in rows.groupby("part"):
        pd.DataFrame({"row": some["row"], "a": some["a"], "who": some["who"].tolist()}).to_parquet(
            folder / f"part{part}.parquet"
        )
    return folder / "part*.parquet"


def arrow_file(folder: Path, rows: pa.Table) -> Path:
    pq.write_table(rows, folder / "t.parquet")
    return folder / "t.parquet"


def polars_file(folder: Path, rows: pl.DataFrame) -> Path:
    rows.write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def comma_separated(folder: Path, rows: pd.DataFrame) -> Path:
    rows.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def polars_csv(folder: Path, rows: pl.DataFrame) -> Path:
    rows.write_csv(folder / "t.csv")
    return folder / "t.csv"


def texts(ids: Ids) -> Ids:
    return [None if who is None else str(who) for who in ids]


# Types that pandas chooses by the cells: nobody is somebody from 2^53 on.
CHOSEN: dict[str, Callable[[Path, Ids], Any]] = {
    "frame": lambda folder, ids: frame(ids),
    "frame of objects": lambda folder, ids: frame(ids, object),
    "frame of categories": lambda folder, ids: frame(ids).astype({"who": "category"}),
    "table": lambda folder, ids: pa.Table.from_pandas(frame(ids)),
    "table of objects": lambda folder, ids: pa.Table.from_pandas(frame(ids, object)),
    "batch": lambda folder, ids: pa.RecordBatch.from_pandas(frame(ids)),
    "table of categories": lambda folder, ids: pa.Table.from_pandas(frame(ids).astype({"who": "category"})),
    "file": lambda folder, ids: file(folder, frame(ids)),
    "file of objects": lambda folder, ids: file(folder, frame(ids, object)),
    "file of categories": lambda folder, ids: file(folder, frame(ids).astype({"who": "category"})),
    "index": lambda folder, ids: file(folder, frame(ids).set_index("who")),
    "partitioned": lambda folder, ids: partitioned(folder, frame(ids)),
    "parts": lambda folder, ids: in_parts(folder, frame(ids, object)),
}
# Types that are declared: large numbers are somebody.
DECLARED: dict[str, Callable[[Path, Ids], Any]] = {
    "Int64": lambda folder, ids: frame(ids, "Int64"),
    "UInt64": lambda folder, ids: frame(ids, "UInt64"),
    "arrow type": lambda folder, ids: frame(ids, pd.ArrowDtype(pa.int64())),
    "categories of Int64": lambda folder, ids: frame(ids, "Int64").astype({"who": "category"}),
    "table of Int64": lambda folder, ids: pa.Table.from_pandas(frame(ids, "Int64")),
    "file of UInt64": lambda folder, ids: file(folder, frame(ids, "UInt64")),
    "partitioned Int64": lambda folder, ids: partitioned(folder, frame(ids, "Int64")),
    "file of an arrow type": lambda folder, ids: file(folder, frame(ids, pd.ArrowDtype(pa.int64()))),
    "arrow": lambda folder, ids: table(pa.array(ids)),
    "arrow file": lambda folder, ids: arrow_file(folder, table(pa.array(ids))),
    "polars": lambda folder, ids: polars(ids),
    "polars file": lambda folder, ids: polars_file(folder, polars(ids)),
    "polars CSV": lambda folder, ids: polars_csv(folder, polars(ids)),
    "texts": lambda folder, ids: frame(texts(ids)),
    "texts as objects": lambda folder, ids: frame(texts(ids), object),
    "file of texts": lambda folder, ids: file(folder, frame(texts(ids), "string")),
    "parts of texts": lambda folder, ids: in_parts(folder, frame(texts(ids), object)),
    "CSV of texts": lambda folder, ids: comma_separated(folder, frame(texts(ids))),
}


NOT_WRITTEN = (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError, OverflowError, RuntimeWarning)


def check(folder: Path, write: Callable[[Path, Ids], Any], large: Ids = LARGE) -> int:
    """No other row changes hands, whatever one identifier becomes; how many changes the writer could write."""
    draw, written = random.Random(3), 0
    ids = [*SMALL, *large, *(draw.choice([*SMALL, *large, draw.getrandbits(50)]) for _ in range(4))]
    draw.shuffle(ids)
    before = owners(write(folder, ids))[-1]
    assert all(before[i] == str(who) for i, who in enumerate(ids) if who < 2**53)
    for change in CHANGES:
        at = draw.randrange(len(ids))
        place = folder / str(CHANGES.index(change))
        place.mkdir()
        try:
            source = write(place, [*ids[:at], change, *ids[at + 1 :]])
        except NOT_WRITTEN:
            continue
        for after in owners(source):
            assert [*before[:at], *before[at + 1 :]] == [*after[:at], *after[at + 1 :]]
        written += 1
    return written


# what lies in memory, one file, a folder of parts, and texts; the others run in `make audit` and under pandas 3
SOME = {"frame of objects", "index", "parts", "Int64", "file of UInt64", "arrow", "polars CSV", "parts of texts"}


@pytest.mark.parametrize("name", thinned(CHOSEN, SOME.__contains__))
def test_types_that_pandas_chooses_move_one_person(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, CHOSEN[name]) > 3
    (tmp_path / "all").mkdir()
    assert set(owners(CHOSEN[name](tmp_path / "all", [*SMALL, *LARGE]))[-1]) == {*map(str, SMALL), None}


@pytest.mark.parametrize("name", thinned(DECLARED, SOME.__contains__))
def test_declared_types_move_one_person_and_know_large_numbers(tmp_path: Path, name: str) -> None:
    assert check(tmp_path, DECLARED[name]) > 2
    (tmp_path / "all").mkdir()
    assert owners(DECLARED[name](tmp_path / "all", [*SMALL, *LARGE]))[-1] == [str(who) for who in (*SMALL, *LARGE)]


def test_a_csv_file_that_pandas_wrote_moves_one_person_below_the_limit_of_floats(tmp_path: Path) -> None:
    assert check(tmp_path, lambda folder, ids: comma_separated(folder, frame(ids)), large=[]) == len(CHANGES)


def test_one_file_that_pandas_wrote_decides_for_its_glob(tmp_path: Path) -> None:
    """Which library wrote a file does not follow from its cells."""
    ids = [2**53 + 1, 17, 2**60, 5]
    arrow_file(tmp_path, table(pa.array(ids[:2]))).rename(tmp_path / "g0.parquet")
    file(tmp_path, frame(ids[2:])).rename(tmp_path / "g1.parquet")
    found = sorted(filter(None, owners(tmp_path / "g*.parquet")[0]))
    assert found == ["17", "5"]
    assert sorted(owners(tmp_path / "g0.parquet")[0]) == ["17", str(2**53 + 1)]


def answers(source: Any) -> Any:
    schema = Schema({"a": Binary(), "row": Count(99)}, unit=Person("who", 2))
    dataset = open_dataset(source, schema, id="t")
    query = Statistics(schema, (Counts.over(schema, "a", "a"), Sum.of(schema, "row", "row")))
    return dataset.schema.n, plain(dataset.source.statistics(query))


MISSING = ["frame", "table", "file", "partitioned", "Int64", "polars file"]


@pytest.mark.parametrize("name", thinned(MISSING, lambda name: name in ("frame", "partitioned", "polars file")))
def test_a_missing_identifier_is_a_missing_row(tmp_path: Path, name: str) -> None:
    """The kept rows of everybody else are the same ones, and counted the same."""
    write = (CHOSEN | DECLARED)[name]
    ids = [random.Random(7).choice([*SMALL[:3], *LARGE]) for _ in range(3)] + [17, 17, 17, 17, 100, 100, 100, 2**60]
    for at in (3, 10):
        for folder in ("with", "none"):
            (tmp_path / f"{folder}{at}").mkdir()
        missing = answers(write(tmp_path / f"with{at}", [*ids[:at], None, *ids[at + 1 :]]))
        nobody = answers(write(tmp_path / f"none{at}", [*ids[:at], 2**53 if name in CHOSEN else None, *ids[at + 1 :]]))
        assert missing == nobody


@pytest.mark.parametrize(
    ("module", "rule", "name"),
    [(frames, "pandas_typed", "frame"), (frames, "is_typed", "table"), (parquet, "is_typed", "partitioned")],
)
def test_exact_numbers_in_chosen_types_are_caught(
    tmp_path: Path, module: Any, rule: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted twin: 64-bit numbers were exact, whoever had chosen their type."""
    monkeypatch.setattr(module, rule, lambda *_: True)
    with pytest.raises(AssertionError):
        check(tmp_path, CHOSEN[name])


def test_exact_objects_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners_module, "identifier_texts", lambda cells, typed: identifier_texts(cells))
    with pytest.raises(AssertionError):
        check(tmp_path, CHOSEN["frame"])
