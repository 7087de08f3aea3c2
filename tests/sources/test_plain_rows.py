"""Rows read without the engine: the same design, cell by cell, as the engine's, for every type that Arrow can hold."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.queries.losses.base import Loss
from discreet.schema.cell import number_of
from discreet.sources.engines import duckdb as engine
from discreet.sources.engines.duckdb import is_plain

FIELDS = ("numbers", "codes", "targets", "weights", "shrink")
N = 203

# texts that look like numbers, truth values and nothing at all; written so that no list of levels is lucky
LEVELS = ("a", "b", "é", "0", "1", "2", "-3", "-0", "01", "1.0", "2.5", "1e2", "inf", "-inf", "true", "false", "True")
LEVELS += ("nan", "", " ", "300", "9007199254740993", "18446744073709551615", "١")
WORDS = [level for level in LEVELS if number_of(level) in (None, math.inf, -math.inf)]


def cells_of(kind: Any, rng: np.random.Generator) -> Any:
    """A column of N cells of an Arrow type, some of them missing, many of them levels by luck."""
    if pa.types.is_dictionary(kind):
        return cells_of(kind.value_type, rng).dictionary_encode().cast(kind)
    if pa.types.is_null(kind):
        return pa.nulls(N)
    missing = rng.random(N) < 0.1
    if pa.types.is_boolean(kind):
        return pa.array(rng.random(N) < 0.5, mask=missing)
    if pa.types.is_integer(kind):
        bounds = np.iinfo(kind.to_pandas_dtype())
        values = rng.choice([-3, -1, 0, 1, 2, 5, 100, bounds.min, bounds.max, bounds.max - 1, 2**53, 2**53 + 1], N)
        inside = [min(max(int(value), int(bounds.min)), int(bounds.max)) for value in values]
        return pa.array(inside, kind, mask=missing)
    if pa.types.is_floating(kind):
        values = rng.choice([-3.0, -0.0, 0.0, 1.0, 2.0, 2.5, 1.1, 100.0, math.inf, -math.inf, math.nan, 1e-300], N)
        return pa.array(values).cast(pa.float32()).cast(kind) if pa.types.is_float16(kind) else pa.array(values, kind)
    return pa.array(rng.choice([*LEVELS, "c", "A", "TRUE"], N), pa.string(), mask=missing).cast(kind)


TYPES = [pa.bool_(), pa.null(), pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64(), pa.float16(), pa.float32()]
TYPES += [pa.float64(), pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
TYPES += [pa.dictionary(pa.int32(), pa.int64()), pa.dictionary(pa.int16(), pa.large_string())]


def designs(source: Any, schema: dc.Schema, monkeypatch: pytest.MonkeyPatch) -> tuple[Loss, dict[str, Any]]:
    """The rows as they are read, and as the engine reads them."""
    dataset = dc.open(source, schema, id="t")
    query = dc.LogisticRegression("y", ("x", "c"), radius=1.0).query(dataset.schema)
    found = {}
    for way in ("read", "engine"):
        with monkeypatch.context() as patch:
            if way == "engine":
                patch.setattr(engine, "is_plain", lambda *_: False)
            with dataset.source.design(query) as design:
                found[way] = {field: np.array(getattr(design, field)) for field in FIELDS}
    return query, found


def same(found: dict[str, Any]) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(found["read"][field], found["engine"][field])


@pytest.mark.parametrize("missing", ["exclude", None])
@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("turns", [2, pytest.param(12, marks=pytest.mark.audit)])
def test_levels_mean_what_the_engine_says(
    turns: int, kind: Any, missing: str | None, tmp_path: Path, monkeypatch: Any
) -> None:
    """Random lists of levels, in files and in memory, where they can be read without the engine; `make audit` has more.

    An error in half of the lists of a type is seen with probability 0.75 by 2 of them, 0.9998 by 12; in a fifth of them
    with 0.36 and 0.93; an error in half of the lists of every type by one of the 20 types for certain.
    """
    rng = np.random.default_rng(20)
    plain = 0
    for turn in range(turns):
        among = WORDS if turn % 2 else LEVELS
        levels = [str(level) for level in rng.choice(among, rng.integers(2, 7), replace=False)]
        table = pa.table({"x": rng.random(N), "y": rng.random(N) < 0.5, "c": cells_of(kind, rng)})
        column: Any = dc.Binary(missing=missing) if turn == 1 else dc.Categorical(levels, missing=missing)
        schema = dc.Schema({"x": dc.Bounded(0, 1), "y": dc.Binary(), "c": column})
        pq.write_table(table, tmp_path / "t.parquet", row_group_size=50)
        for source in (table, tmp_path / "t.parquet"):
            dataset = dc.open(source, schema, id="t")
            query = dc.LogisticRegression("y", ("x", "c")).query(dataset.schema)
            if is_plain(query, dataset.source.held):
                same(designs(source, schema, monkeypatch)[1])
                plain += 1
    assert plain >= turns // 2


@pytest.mark.parametrize("column", [dc.Bounded(-3, 2), dc.Bounded(0, 1, missing="exclude", grid=0.3), dc.Count(7)])
@pytest.mark.parametrize("kind", TYPES[:10], ids=str)
def test_numbers_mean_what_the_engine_says(kind: Any, column: Any, tmp_path: Path, monkeypatch: Any) -> None:
    rng = np.random.default_rng(21)
    levels = dc.Categorical(["a", "b"])
    table = pa.table({"x": cells_of(kind, rng), "y": rng.random(N) < 0.5, "c": cells_of(pa.string(), rng)})
    pq.write_table(table, tmp_path / "t.parquet")
    schema = dc.Schema({"x": column, "y": dc.Binary(), "c": levels})
    for source in (table, tmp_path / "t.parquet"):
        query, found = designs(source, schema, monkeypatch)
        same(found)
        assert is_plain(query, dc.open(source, schema, id="t").source.held) == (kind != pa.null())


def test_bytes_that_are_no_text_match_no_level(tmp_path: Path, monkeypatch: Any) -> None:
    """Through both readers: Arrow cannot write them as texts, and then the engine is asked."""
    octets = pa.array([b"a", b"\xff", b"a\xff", b"b"] * 50, pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 200, octets.buffers())
    table = pa.table({"x": np.linspace(0, 1, 200), "y": np.arange(200) % 2, "c": broken})
    pq.write_table(table, tmp_path / "t.parquet")
    for levels in (["a", "b"], ["b", "a\ufffd"]):
        schema = dc.Schema({"x": dc.Bounded(0, 1), "y": dc.Binary(), "c": dc.Categorical(levels, missing="exclude")})
        for source in (tmp_path / "t.parquet", table):
            _, found = designs(source, schema, monkeypatch)
            same(found)
            assert found["read"]["weights"].sum() == 100


def test_files_of_different_widths_are_read_in_turn(tmp_path: Path, monkeypatch: Any) -> None:
    for i, (kind, text) in enumerate([(pa.int8(), pa.string()), (pa.int64(), pa.large_string())]):
        table = {"x": pa.array([0, 1, 2, None], kind), "y": [0, 1, 1, 0], "c": pa.array(["a", "b", None, "d"], text)}
        pq.write_table(pa.table(table), tmp_path / f"{i}.parquet")
    schema = dc.Schema({"x": dc.Count(2), "y": dc.Binary(), "c": dc.Categorical(["a", "b"], missing="b")})
    _, found = designs(str(tmp_path / "*.parquet"), schema, monkeypatch)
    same(found)
    assert found["read"]["weights"].sum() == 8


def test_texts_of_csv_files_are_plain_and_their_numbers_are_not(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "t.csv").write_text("c,y,x\n" + '"a",yes,1\nb,no,2\n,no,x\n' * 40)
    labels = dc.Categorical(["no", "yes"])
    schema = dc.Schema({"x": dc.Bounded(0, 3), "y": labels, "c": dc.Categorical(["a", "b"], missing="exclude")})
    dataset = dc.open(tmp_path / "t.csv", schema, id="t")
    for features, plain in ((("c",), True), (("x", "c"), False)):
        query = dc.LogisticRegression("y", features).query(dataset.schema)
        assert is_plain(query, dataset.source.held) == plain
        with dataset.source.design(query) as design:
            weights = design.weights.ravel()
        assert weights[:6].tolist() == [1, 1, 0, 1, 1, 0]


def test_persons_need_the_engine() -> None:
    table = pa.table({"x": [0.5], "y": [True], "c": ["a"], "who": ["p"]})
    columns = {"x": dc.Bounded(0, 1), "y": dc.Binary(), "c": dc.Categorical(["a", "b"])}
    dataset = dc.open(table, dc.Schema(columns, unit=dc.Person("who", max_records=2)), id="t")
    query = dc.LogisticRegression("y", ("x", "c")).query(dataset.schema)
    assert not is_plain(query, dataset.source.held)


def test_a_file_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [0.5], "y": [True], "c": ["secret"]}), path)
    columns = {"x": dc.Bounded(0, 1), "y": dc.Binary(), "c": dc.Categorical(["a", "b"])}
    dataset = dc.open(path, dc.Schema(columns), id="t")
    path.write_bytes(b"secret")
    query = dc.LogisticRegression("y", ("x", "c")).query(dataset.schema)
    with pytest.raises(dc.errors.ReleaseError) as caught, dataset.source.design(query):
        pass
    assert str(caught.value) == "the source could not be read: no statistic was computed"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_long_texts_are_left_to_the_engine(tmp_path: Path, monkeypatch: Any) -> None:
    """80 MB of different texts in one row group: Arrow would hold them all at once, and above 2^31 bytes fail."""
    cells = [f"{i:08d}" * 250_000 for i in range(40)]
    cells[:3] = ["a", "b", "a"]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": np.linspace(0, 1, 40), "y": np.arange(40) % 2, "c": cells}), path, compression="zstd")
    levels = dc.Categorical(["a", "b"], missing="exclude")
    dataset = dc.open(path, dc.Schema({"x": dc.Bounded(0, 1), "y": dc.Binary(), "c": levels}), id="t")
    with pytest.raises(dc.SchemaError, match="short texts"):
        list(dataset.source.origins[0].batches(["c0", "c1", "c2"]))
    assert len(list(dataset.source.origins[0].batches(["c0", "c1"]))) == 1
    query = dc.LogisticRegression("y", ("x", "c")).query(dataset.schema)
    assert is_plain(query, dataset.source.held)
    with dataset.source.design(query) as design:
        assert design.weights.sum() == 3


def test_texts_of_one_row_group_are_held_at_a_time(tmp_path: Path) -> None:
    """Else the limit for one group would say nothing of many; texts come as codes, so that equal ones are held once."""
    table = pa.table({"x": np.arange(1000), "c": ["a", "b"] * 500})
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        pq.write_table(table.set_column(1, "c", table["c"].cast(kind)), tmp_path / "t.parquet", row_group_size=50)
        source = dc.open(
            tmp_path / "t.parquet", dc.Schema({"x": dc.Count(9), "c": dc.Categorical(["a", "b"])}), id="t"
        ).source
        read = list(source.origins[0].batches(["c0", "c1"]))
        assert [batch.num_rows for batch in read] == [50] * 20
        assert all(pa.types.is_dictionary(batch.schema.field("c1").type) for batch in read)


def test_what_arrow_cannot_read_the_engine_does(monkeypatch: Any) -> None:
    table = pa.table({"x": [0.5, 0.1], "y": [True, False], "c": ["a", "b"]})
    columns = {"x": dc.Bounded(0, 1), "y": dc.Binary(), "c": dc.Categorical(["a", "b"])}
    dataset = dc.open(table, dc.Schema(columns), id="t")
    query = dc.LogisticRegression("y", ("x", "c")).query(dataset.schema)

    def fails(*_: Any) -> Any:
        raise pa.ArrowCapacityError("secret")

    monkeypatch.setattr(engine, "coded_batch", fails)
    with dataset.source.design(query) as design:
        assert design.weights.sum() == 2


def test_a_level_of_many_digits_matches_no_whole_number() -> None:
    table = pa.table({"x": [1, 2, None] * 4, "y": [True, False, True] * 4})
    levels = dc.Categorical(["1" * 5000, "2"], missing="exclude")
    dataset = dc.open(table, dc.Schema({"x": levels, "y": dc.Binary()}), id="t")
    query = dc.LogisticRegression("y", ("x",)).query(dataset.schema)
    assert is_plain(query, dataset.source.held)
    with dataset.source.design(query) as design:
        assert design.weights.sum() == 4
