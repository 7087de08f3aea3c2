"""A text that is no text (bytes that are not UTF-8, half a surrogate pair) is a bad cell in every kind of column.

Columns of pandas that are backed by Arrow hold whatever bytes they were made of, and the engine refuses a whole table
for one of them. Since pandas 3 such columns are what texts are read into.
"""

import random
import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import discreet as dc
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import arrow_cell

LEVELS = dc.Categorical(["A", "Bé", "other"], missing="other")
SCHEMA = dc.Schema({"k": LEVELS, "smoker": dc.Binary(missing=1), "x": dc.Bounded(0, 4)})
PERSONS = dc.Schema(dict(SCHEMA.columns), unit=dc.Person("who", 2), relation="add-remove", n_max=99)
CLEAN = [b"A", "Bé".encode(), b"A", None, b"A", b"0"]
BAD = [b"\xff", b"A\xff", b"\xed\xa0\x80", b"\xc3", b"\xf8\x88\x80\x80\x80", b"\xc0\x80", b"\xed\xa0\xbd\xed\xb8\x80"]


def arrow(cells: list[bytes | None]) -> pa.Array:
    """Texts of any bytes, as readers of foreign files make them."""
    octets = pa.array(cells, pa.large_binary())
    return pa.Array.from_buffers(pa.large_string(), len(octets), octets.buffers())


def backed(kind: Any) -> Callable[[list[bytes | None]], pd.Series]:
    """A column of pandas whose texts lie in Arrow, made without being looked at."""

    def column(cells: list[bytes | None]) -> pd.Series:
        like = pd.Series(["x"], dtype=kind)
        named = {"dtype": like.dtype} if kind == "str" else {}
        return pd.Series(type(like.array)(pa.chunked_array([arrow(cells)]), **named))

    return column


def from_arrow(cells: list[bytes | None]) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([arrow(cells)])))


def objects(kind: Any) -> Callable[[list[bytes | None]], pd.Series]:
    def column(cells: list[bytes | None]) -> pd.Series:
        texts = [None if cell is None else cell.decode("utf-8", "surrogateescape") for cell in cells]
        return pd.Series(texts, dtype=kind)

    return column


def categories(cells: list[bytes | None]) -> pd.Series:
    texts = objects(object)(cells)
    known = list(dict.fromkeys(text for text in texts if text is not None))
    codes = [-1 if text is None else known.index(text) for text in texts]
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(known, dtype=object)))


COLUMNS: dict[str, Callable[[list[bytes | None]], Any]] = {
    "string[pyarrow]": backed("string[pyarrow]"),
    "string[python]": objects("string[python]"),
    "ArrowDtype": from_arrow,
    "object": objects(object),
    "category": categories,
    "arrow": arrow,
    "bytes": lambda cells: pa.array(cells, pa.binary()),
    "polars bytes": lambda cells: pl.Series(cells, dtype=pl.Binary),
}
if pd.Series(["a"]).dtype != object:  # pandas 3
    COLUMNS["str"] = backed("str")
    COLUMNS["string"] = backed("string")


def seen(column: Any, schema: dc.Schema = SCHEMA) -> tuple[Any, list[Any]]:
    """What is seen of opening and asking, and the counts, which noise would cover."""
    held: Any = dict.fromkeys(("k", "smoker", "x", "who"), column)
    frame = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}.get(type(column), pa.table)(held)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            data = dc.open(frame, schema, id="t")
            asked = (Counts.over(data.schema, "k", "k"), Counts.over(data.schema, "smoker", "smoker"))
            query = Statistics(data.schema, (*asked, Sum.of(data.schema, "x", "x")))
            counts = [found.tolist() for found in data.source.statistics(query).values()]
            event: Any = str(dc.NoisyStatistics(epsilon=1.0).guarantee(query))
        except Exception as error:
            counts, event = [], (type(error), str(error))
    return (event, [str(warning.message) for warning in warned]), counts


def moves(make: Callable[[list[bytes | None]], Any], seed: int, cases: int) -> None:
    """Bad texts of many kinds, each in another place, stop nothing and count as missing."""
    draw = random.Random(seed)
    usual, counts = seen(make([*CLEAN, b"?"]))
    assert counts[:2] == [[3, 1, 3], [1, 6]]
    for _ in range(cases):
        bad = draw.choice([*BAD, bytes(draw.choices(range(128, 192), k=draw.randint(1, 40)))])
        place = draw.randrange(len(CLEAN) + 1)
        assert seen(make([*CLEAN[:place], bad, *CLEAN[place:]])) == (usual, counts)


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
def test_a_bad_text_is_a_bad_cell_in_every_kind_of_column(make: Callable[[list[bytes | None]], Any]) -> None:
    moves(make, 1, 6)


@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
def test_a_bad_identifier_stops_nothing(make: Callable[[list[bytes | None]], Any]) -> None:
    usual, counts = seen(make([*CLEAN, b"?"]), PERSONS)
    assert counts
    for bad in BAD[:2]:
        assert seen(make([bad, *CLEAN]), PERSONS)[0] == usual


def test_a_reader_that_hands_on_raw_bytes_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as planted:
        planted.setattr(arrow_cell, "scannable", lambda name, cells, longest: cells)
        with pytest.raises(AssertionError):
            moves(COLUMNS["string[pyarrow]"], 1, 3)


def test_a_column_of_texts_in_pieces_is_read_whole() -> None:
    pieces = pa.chunked_array([arrow([b"A", b"\xff"]), arrow([]), arrow([None, "Bé".encode()])])
    column = pd.Series(pd.arrays.ArrowStringArray(pieces))
    for ordered in (column, column[::-1]):
        assert seen(ordered)[1][:2] == [[1, 1, 2], [0, 4]]
