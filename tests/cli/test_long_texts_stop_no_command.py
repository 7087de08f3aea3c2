"""Tables that differ in one whole person, however many rows and however long texts: the command line shows no more."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp
from test_cli_neighbours import leaves

from discreet.guarantee import Budget
from discreet.ledger import Ledger
from discreet.schema import arrow_cell
from discreet.sources.engines import duckdb as engine
from readers_of_identifiers import READERS

STUDY = """
id = "patients-2026"
data = "patients.parquet"
ledger = "study.ledger"
relation = "add-remove"
n_max = 100
unit = {kind="person", column="who", max_records=3}

[columns]
ward = {kind="categorical", levels=["A","B"], missing="B"}
age = {kind="bounded", lower=0, upper=110, missing="exclude"}

[[release]]
name = "wards"
model = {kind="DirichletCategorical", column="ward"}
mechanism = {kind="NoisyStatistics", epsilon=0.5}
out = "wards.release.json"

[[release]]
name = "ages"
model = {kind="NormalMean", column="age", sd=10}
mechanism = {kind="NoisyStatistics", epsilon=0.5}
out = "ages.release.json"
"""
Person = tuple[int, int, int]  # rows, bytes of the identifier, bytes of the other cells


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Person], Path]:
    def written(folder: str, person: Person) -> Path:
        place = tmp_path / folder
        place.mkdir()
        (place / "study.toml").write_text(STUDY)
        Ledger.create(place / "study.ledger", Budget(3.0))
        rows, name, cell = person
        names = [*(f"p{i}" for i in range(30)), "x" * name]
        who = pa.DictionaryArray.from_arrays([*(i // 2 for i in range(60)), *[30] * rows], names)
        different = min(rows, 1 + 8_000_000 // (cell + 1))  # as many long cells as there is memory for in a test
        cells = ["A", "B", *(f"{i}".ljust(cell, "0") for i in range(different))]
        places = [i % 2 for i in range(60)] + [2 + i % max(different, 1) for i in range(rows)]
        other = pa.DictionaryArray.from_arrays(places, cells)
        pq.write_table(
            pa.table({"who": who, "ward": other, "age": other}), place / "patients.parquet", compression="zstd"
        )
        monkeypatch.chdir(place)
        return place

    return written


def persons(seed: int, times: int) -> list[Person]:
    draw = random.Random(seed)
    return [
        (draw.choice([1, 3, 400]), draw.choice([1, 64, 65, 4096, 4097, 2**20]), draw.choice([0, 8, 1100, 10**6]))
        for _ in range(times)
    ]


def shown(run: Callable[..., Any], study: Callable[[str, Person], Path], cases: list[Person]) -> None:
    usual = leaves(run, study("usual", (0, 0, 0)))
    assert (usual["text"].code, usual["text"].err) == (0, "")
    for i, person in enumerate(cases):
        assert leaves(run, study(str(i), person)) == usual, person


def test_one_person_more_changes_released_numbers_only(run: Callable[..., Any], study: Callable[..., Path]) -> None:
    shown(run, study, [(400, 2**20, 8), (400, 1, 10**6), *persons(7, 3)])


def test_a_reader_that_sorts_long_identifiers_is_caught(
    run: Callable[..., Any], study: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MEMORY_LIMIT", "30MB")
    shown(run, study, [])
    for limit in ("LONGEST_IDENTIFIER", "LONGEST_TEXT"):
        monkeypatch.setattr(arrow_cell, limit, 2**20)
    for module in READERS:
        monkeypatch.setattr(module, "identifier", lambda cell, name: exp.column(cell.column, name, quoted=True))
    study("long", (400, 2**20, 8))
    with pytest.raises(AssertionError):
        assert run("release", "study.toml").code == 0
