"""Unequal identifiers are unequal persons or nobody, and equal ones are one person, whatever holds them."""

import hashlib
import importlib
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from decimal import Decimal, localcontext
from math import isfinite
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import plain
from hostile_objects import ASKED, hostile
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Count, Person, Schema
from discreet.schema.cell import LONGEST_IDENTIFIER, MENDED
from discreet.sources.coded import CodedRows
from discreet.sources.engines.duckdb import connect
from discreet.sources.open import open_dataset
from discreet.sources.readers import csv as csv_reader
from discreet.sources.readers import identifiers
from discreet.sources.readers.identifiers import Owner
from discreet.sources.sql.cell_sql import printed
from readers_of_identifiers import READERS
from thinned import thinned

frames = importlib.import_module("discreet.sources.open")  # whose name in the package is the function

# What is listed here was once one person, or is close to it.
SCHEMA = Schema({"row": Count(2**30)}, unit=Person("who", 1), relation="add-remove", n_max=1000)
LISTED = [2369154870355324928, 2369154870355324929]
WHOLE = [*LISTED, 0, 1, -1, 17, 170, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1]
REAL = [17.0, -17.0, 0.0, -0.0, 0.1, 17.5, 1e-5, 5e-324, 2.0**53 - 1, 2.0**53, 2.0**53 + 2, 1e300, *map(float, LISTED)]
REAL += [float("nan"), float("inf"), float("-inf")]
EXACT = [
    Decimal(text) for text in ("17", "17.0", "17.000", "-0.0", "100", "1E+2", "0.1", "0.10", "1234567890.0000000001")
]
EXACT += [Decimal(LISTED[0]), Decimal(LISTED[1]), Decimal("1234567890.0000000002")]
LONG = "x" * 65
TEXT = [
    "17",
    "17.0",
    "017",
    "17.00",
    " 17",
    "1.7e1",
    "1e+16",
    "12.1",
    "12.10",
    "",
    " ",
    "nan",
    "None",
    "é",
    "e\u0301",
    "É",
]
TEXT += [LONG, LONG + "x", "sha256:" + hashlib.sha256(LONG.encode()).hexdigest(), "x" * 64, "é" * 32, "é" * 33]
TEXT += ["x" * LONGEST_IDENTIFIER, "x" * (LONGEST_IDENTIFIER - 1) + "y", "x" * (LONGEST_IDENTIFIER + 1), "a\0b", "a\0c"]
TEXT += [MENDED, f"a{MENDED}", "'; --", "a,b", 'say "hi"', "true", "9007199254740993", "9007199254740993.0"]
HALVES = ["\ud800", "\udcff", "a\udcff", "?", "a?"]
OCTETS = [b"\xff", b"\xfe", b"a\xff", b"a\xfe", b"\xed\xa0\x80", b"a", b"\xc3\xa9", b"", b"?", b"\xef\xbf\xbd"]


def owners(source: Any) -> list[list[Any]]:
    """The persons of the rows in order, as each of the readers of this source says."""
    found = []
    for origin in open_dataset(source, SCHEMA, id="t").source.origins:
        with connect(origin.files) as connection, suppress(duckdb.Error):  # the first reader may pass on to the next
            origin.attach(connection, "rows")
            rows = connection.execute("SELECT CAST(c0 AS BIGINT), person FROM rows").fetchall()
            found.append([who for _, who in sorted(rows, key=lambda row: row[0])])
    assert found
    return found


def nobody(cell: Any) -> bool:
    """Whether a cell must be nobody's, on every source."""
    if isinstance(cell, str):
        return not cell or MENDED in cell or "\0" in cell or any("\ud800" <= letter <= "\udfff" for letter in cell)
    if isinstance(cell, bytes):
        return nobody(cell.decode("utf-8", "replace"))
    return not isfinite(cell)


def same(one: Any, other: Any) -> bool:
    """Whether two cells are one person: numbers by exact value, texts by their letters."""
    return type(one) is type(other) and one == other if isinstance(one, str | bytes) else bool(one == other)


def as_in_csv(text: str) -> Any:
    """A field that is written as writers of tables write whole floats is that number; there are no other types."""
    whole, point, zeros = text.partition(".")
    if point and zeros and not zeros.strip("0") and whole.removeprefix("-").isdecimal() and str(int(whole)) == whole:
        return whole if abs(int(whole)) < 2**53 else None
    return text


def check(cells: list[Any], found: list[Any], same: Callable[[Any, Any], bool] = same) -> None:
    """Injective or nobody; and one person is not two."""
    assert len(cells) == len(found)
    for i, (one, who) in enumerate(zip(cells, found, strict=True)):
        assert who is None or not nobody(one), (one, who)
        for other, they in zip(cells[:i], found[:i], strict=True):
            assert who is None or (who == they) == same(one, other), (one, other)
            assert (who is None) == (they is None) or not same(one, other), (one, other)


def table(column: Any) -> pa.Table:
    return pa.table({"row": np.arange(len(column)), "who": column})


def frame(column: Any) -> pd.DataFrame:
    return pd.DataFrame({"row": np.arange(len(column)), "who": column})


def in_arrow(folder: Path, columns: Iterable[Any]) -> Iterator[Any]:
    for column in columns:
        yield table(column)
        for coded in (True, False):
            pq.write_table(table(column), folder / f"{coded}.parquet", use_dictionary=coded)
            yield folder / f"{coded}.parquet"


def of_whole(folder: Path, cells: list[int]) -> Iterator[Any]:
    kinds = ["int64", "Int64", object, "category", pd.ArrowDtype(pa.int64())]
    kinds += ["uint64", "UInt64"] * (min(cells) >= 0)
    yield from (frame(pd.Series(cells, dtype=kind)) for kind in kinds)
    yield frame(pd.Series([np.int64(cell) for cell in cells], dtype=object))
    yield pl.DataFrame({"row": np.arange(len(cells)), "who": cells})
    yield pl.DataFrame({"row": np.arange(len(cells)), "who": pl.Series(cells, dtype=pl.Int128)})
    yield from in_arrow(
        folder, [pa.array(cells), pa.array(cells, pa.decimal128(38, 3)), pa.array(cells, pa.decimal256(70, 3))]
    )
    frame(cells).to_csv(folder / "t.csv", index=False)
    yield folder / "t.csv"


def of_real(folder: Path, cells: list[float]) -> Iterator[Any]:
    yield from (
        frame(pd.Series(cells, dtype=kind)) for kind in ("float64", "Float64", object, "complex128", np.longdouble)
    )
    yield pl.DataFrame({"row": np.arange(len(cells)), "who": cells})
    yield from in_arrow(folder, [pa.array(cells)])
    if all(map(isfinite, cells)):  # in a text "inf" and "nan" may be names
        frame(cells).to_csv(folder / "t.csv", index=False)
        yield folder / "t.csv"


def of_exact(folder: Path, cells: list[Decimal]) -> Iterator[Any]:
    yield frame(pd.Series(cells, dtype=object))
    kinds = [pa.decimal128(38, 12), pa.decimal256(38, 12), pa.decimal256(76, 12)]
    yield from in_arrow(folder, [pa.array(cells, kind) for kind in kinds])
    yield pl.DataFrame({"row": np.arange(len(cells)), "who": pl.Series(cells, dtype=pl.Decimal(38, 12))})


def of_text(folder: Path, cells: list[str]) -> Iterator[Any]:
    yield from (frame(pd.Series(cells, dtype=kind)) for kind in (object, "string[python]"))
    if any("\ud800" <= letter <= "\udfff" for cell in cells for letter in cell):
        return  # other libraries do not hold them
    yield from (frame(pd.Series(cells, dtype=kind)) for kind in ("category", "string[pyarrow]"))
    yield pl.DataFrame({"row": np.arange(len(cells)), "who": cells})
    columns = [pa.array(cells, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())]
    yield from in_arrow(folder, [*columns, pa.array(cells).dictionary_encode()])


def of_octets(folder: Path, cells: list[bytes]) -> Iterator[Any]:
    held = pa.array(cells, pa.binary())
    yield from in_arrow(folder, [pa.Array.from_buffers(pa.string(), len(cells), held.buffers())])


def fields(folder: Path, cells: list[bytes]) -> Path:
    lines = [b"%d,%s\n" % (i, b'"' + cell.replace(b'"', b'""') + b'"') for i, cell in enumerate(cells)]
    (folder / "t.csv").write_bytes(b"row,who\n" + b"".join(lines))
    return folder / "t.csv"


KINDS: dict[str, tuple[Any, list[Any], Any]] = {
    "whole": (of_whole, WHOLE, st.integers(-(2**63), 2**63 - 1)),
    "real": (of_real, REAL, st.floats()),
    "finite": (of_real, [cell for cell in REAL if isfinite(cell)], st.floats(allow_nan=False, allow_infinity=False)),
    "exact": (of_exact, EXACT, st.decimals(-(10**25), 10**25, places=11)),
    "text": (of_text, TEXT, st.text(max_size=4)),
    "halves": (of_text, [*HALVES, *TEXT], st.text(st.characters(), max_size=3)),
    "octets": (of_octets, OCTETS, st.binary(max_size=3)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_tells_persons_apart(tmp_path: Path, kind: str) -> None:
    read, listed, _ = KINDS[kind]
    cells = [*listed, *listed]
    for source in read(tmp_path, cells):
        for found in owners(source):
            check(cells, found)
            assert len({who for who in found if who is not None}) > 2  # most are somebody


@pytest.mark.parametrize("kind", thinned(KINDS, lambda kind: kind in ("text", "exact")))
@settings(
    max_examples=2, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
)
@given(data=st.data())
def test_generated_cells_are_told_apart(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    read, listed, more = KINDS[kind]
    cells = data.draw(st.lists(st.one_of(st.sampled_from(listed), more), min_size=4, max_size=20))
    for source in list(read(tmp_path, cells))[:: data.draw(st.integers(2, 4))]:
        for found in owners(source):
            check(cells, found)


def test_fields_of_csv_files_are_texts_or_the_floats_that_writers_make_of_whole_numbers(tmp_path: Path) -> None:
    octets = [text.encode() for text in TEXT if "\n" not in text] + OCTETS
    octets += [b"-0.0", b"0", b"-0", b"1e+16", b"1E+16", b"2.369154870355325e+18", b"+1", b"1.5", b"9007199254740991.0"]
    cells = [cell.decode("utf-8", "replace") for cell in octets]
    (found,) = owners(fields(tmp_path, octets))
    known = dict(zip(cells, found, strict=True))
    check(cells, found, lambda one, other: same(as_in_csv(one), as_in_csv(other)) or {one, other} == {"0", "-0.0"})
    assert known["17"] == known["17.0"] == known["17.00"] == "17"
    assert len({known[cell] for cell in ("017", " 17", "1.7e1", "17", "12.1", "12.10", "-0", "0")}) == 8
    assert known["9007199254740991.0"] == "9007199254740991"
    for lost in ("1e+16", "1E+16", "9007199254740993.0", "2.369154870355325e+18"):
        assert known[lost] is None
    assert known["9007199254740993"] == "9007199254740993"


def test_numbers_have_one_text_in_every_type_and_in_parts_of_different_types(tmp_path: Path) -> None:
    small = ["0.5", "-0.5", "0", "0.0001", "0.5000"]
    for kind in (pa.decimal128(4, 4), pa.decimal128(10, 5), pa.decimal256(38, 38), pa.decimal256(70, 6)):
        for source in in_arrow(tmp_path, [pa.array(map(Decimal, small)).cast(kind)]):
            assert all(found == ["0.5", "-0.5", "0", "0.0001", "0.5"] for found in owners(source))
    columns = [
        pa.array([17, 2**53 + 1, 100]),
        pa.array([17.0, float(2**53), None]),
        pa.array(["17", str(2**53 + 1), ""]),
    ]
    columns += [
        pa.array([Decimal("17.00"), Decimal(2**53 + 1), Decimal(100)]),
        pa.nulls(3),
        pa.array([17, 4, 2**64 - 1], pa.uint64()),
    ]
    for i, column in enumerate(columns):
        pq.write_table(pa.table({"row": np.arange(3 * i, 3 * i + 3), "who": column}), tmp_path / f"part{i}.parquet")
    large, most = str(2**53 + 1), str(2**64 - 1)
    persons = [
        "17",
        large,
        "100",
        "17",
        None,
        None,
        "17",
        large,
        None,
        "17",
        large,
        "100",
        None,
        None,
        None,
        "17",
        "4",
        most,
    ]
    assert owners(tmp_path / "part*.parquet") == [persons]


def test_objects_are_one_person_if_they_print_alike(tmp_path: Path) -> None:
    cells = [
        17,
        17.0,
        Decimal("17.00"),
        "17",
        np.int8(17),
        np.float32(17),
        "17.0",
        10**30,
        str(10**30),
        Decimal(10) ** 30,
    ]
    cells += [
        2**53 + 1,
        float(2**53),
        np.longdouble(2**53) + 1,
        np.longdouble("17.000000000000000001"),
        10**4095,
        10**4096,
    ]
    cells += [
        Decimal("1E+1000000"),
        Decimal("0E+1000000"),
        0,
        True,
        "true",
        None,
        pd.NA,
        b"17",
        10**5000,
        np.timedelta64(17),
    ]
    persons = (
        ["17"] * 6 + ["17.0"] + [str(10**30)] * 3 + [str(2**53 + 1), None, None, None, identifiers.known(str(10**4095))]
    )
    persons += [None, None, "0", "0", "true", "true", None, None, None, None, None]
    with localcontext() as context:
        context.prec = 3
        small = [
            who if isinstance(cell, str) or str(who)[:3] not in ("100", "900", "sha") else None
            for cell, who in zip(cells, persons, strict=True)
        ]
        assert owners(frame(pd.Series(cells, dtype=object))) == [small]  # pandas chooses this type by the cells
        known = [identifiers.known(identifiers.text_of_identifier(cell)) for cell in cells]
    assert known == persons
    assert owners(pl.DataFrame({"row": np.arange(len(cells)), "who": pl.Series(cells, dtype=pl.Object)})) == [persons]
    assert CodedRows({"row": np.arange(len(cells))}, np.array(cells, dtype=object)).count() == len({*persons} - {None})


def test_no_method_of_an_identifier_is_ever_called() -> None:
    cells = [hostile(seed) for seed in range(400)]
    column = pd.Series([None] * len(cells), dtype=object)
    for i, cell in enumerate(cells):
        column.iat[i] = cell
    ASKED.clear()
    owners(frame(column))
    assert not ASKED


# One row of nobody's must not change anybody else's identifier, although writers then change the type of the column.


def answers(source: Any) -> Any:
    schema = Schema({"a": Binary(), "x": Count(99)}, unit=Person("who", 2))
    query = Statistics(schema, (Counts.over(schema, "a", "a"), Sum.of(schema, "x", "x")))
    dataset = open_dataset(source, schema, id="t")
    return dataset.schema.n, plain(dataset.source.statistics(query))


def move_with_nobody(folder: Path) -> None:
    draw = random.Random(2)
    rows = pd.DataFrame({"who": [draw.choice([17, 4, 2**53 - 1, 100]) for _ in range(40)], "a": 1, "x": range(40)})
    missing = pd.DataFrame({"who": [float("nan")], "a": [1], "x": [5]})
    both = (rows, pd.concat([rows, missing]))
    assert [str(table["who"].dtype) for table in both] == ["int64", "float64"]
    assert answers(both[0]) == answers(both[1])
    found = []
    for table in both:
        table.to_csv(folder / "t.csv", index=False)
        table.to_parquet(folder / "t.parquet")
        found += [answers(folder / "t.csv"), answers(folder / "t.parquet")]
    assert all(answer == answers(rows) for answer in found)


def test_a_row_of_nobodys_changes_nobodys_identifier(tmp_path: Path) -> None:
    move_with_nobody(tmp_path)


def test_the_count_and_the_statistics_know_the_same_persons(tmp_path: Path) -> None:
    """Each listed text thrice: of every person two rows are kept, of nobody none."""
    for cells, source in ((TEXT, of_text), (OCTETS, of_octets)):
        for rows in source(tmp_path, cells * 3):
            table = rows.with_columns(a=pl.lit(1), x=pl.lit(1)) if isinstance(rows, pl.DataFrame) else None
            if isinstance(rows, pa.Table):
                table = rows.append_column("a", pa.array([1] * len(rows))).append_column("x", pa.array([1] * len(rows)))
            if table is not None:
                n, found = answers(table)
                assert found["a"] == [0, 2 * n]
                assert 0 < n < len(cells)


# Planted twins: what readers did before.


def as_printed(owner: Owner, name: str) -> Any:
    """The old rule: the cell as the engine prints it."""
    from sqlglot import exp

    return printed(exp.column(owner.column, name, quoted=True))


def test_integers_that_go_through_floats_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "pandas_owners", lambda rows: None)
    for module in READERS:
        monkeypatch.setattr(module, "identifier", as_printed)
    with pytest.raises(AssertionError):
        test_every_source_tells_persons_apart(tmp_path, "whole")


@pytest.mark.parametrize("kind", ["text", "octets"])
def test_texts_that_are_mended_or_empty_are_caught(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in READERS:
        monkeypatch.setattr(module, "identifier", as_printed)
    with pytest.raises(AssertionError):
        test_every_source_tells_persons_apart(tmp_path, kind)


def test_fields_that_are_only_texts_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "Owner", lambda column, storage: Owner(column, "text"))
    with pytest.raises(AssertionError):
        move_with_nobody(tmp_path)
