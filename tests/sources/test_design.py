"""Rows as kernels read them: DuckDB, coded rows and a plain Python oracle agree cell by cell, bad cells included."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import EXCLUDING, SCHEMA, coded_cells, first_rows, of_persons, ordinary_rows, table_of

import discreet as dc
from discreet.mechanisms.gibbs_posterior.kernels import langevin_steps
from discreet.noise.sources import SeededNoise
from discreet.queries.losses.base import CHUNK, Loss
from discreet.schema import Binary, Categorical, Schema
from discreet.sources import Dataset
from discreet.sources import dataset as dataset_module
from discreet.sources.coded import NO_NUMBER, CodedRows
from discreet.sources.dataset import Design
from discreet.sources.open import open_dataset

MODELS = {
    "logistic": dc.LogisticRegression("smoker", ("age", "visits", "ward", "grade"), radius=1.2),
    "hinge": dc.HingeClassifier("smoker", ("ward", "age"), interval=(0.0, 2.0), intercept=False),
    "huber": dc.HuberRegression("age", ("ward", "visits")),
    "poisson": dc.PoissonRegression("visits", ("age", "grade"), ball=0.5, radius=1.0),
}


def features_of(query: Loss, cells: dict[str, int | None]) -> list[float]:
    """One row (features, target, weight) by plain arithmetic; None where a bad cell excludes it."""
    features, (low, high) = query.features, query.features.interval
    row = [1.0] if features.intercept else []
    for axis in features.numbers:
        bottom, top = axis.ends
        x = bottom + (top - bottom) * (cells[axis.column] - axis.low) / axis.reach
        row.append(low + (high - low) * (x - bottom) / (top - bottom))
    for name, levels in zip(features.categories, features.levels, strict=True):
        row += [float(cells[name] == code) for code in range(len(levels))]
    at = int(features.intercept)
    length = math.hypot(*row[at:])
    if features.declared_radius is not None and length > features.declared_radius:
        row[at:] = [x * features.declared_radius / length for x in row[at:]]
    return row


def target_of(query: Loss, cells: dict[str, int | None]) -> float:
    column = query.target.column
    if query.target.labels is not None:
        return query.target.labels[cells[column]]
    axis = query.target.axis
    bottom, top = axis.ends
    value = bottom + (top - bottom) * (cells[column] - axis.low) / axis.reach
    return value if query.name == "poisson" else 2 * (value - bottom) / (top - bottom) - 1


def oracle(query: Loss, rows: list[dict[str, str | None]], dataset: str = "t") -> list[tuple[float, ...] | None]:
    read = [coded_cells(query, row) for row in first_rows(query, rows, dataset)]
    return [None if None in cells.values() else (*features_of(query, cells), target_of(query, cells)) for cells in read]


def dense(query: Loss, design: Design) -> list[tuple[float, ...] | None]:
    """What the kernels see, row by row; the filling of the last chunk is left out."""
    features = query.features
    chunks, p, size = design.numbers.shape
    z = np.zeros((chunks * size, features.size))
    start = int(features.intercept)
    z[:, start : start + p] = design.numbers.transpose(0, 2, 1).reshape(chunks * size, p)
    for j in range(design.codes.shape[1]):
        z[np.arange(len(z)), design.codes[:, j].ravel()] = 1.0
    if design.shrink.size:
        z *= design.shrink.reshape(-1, 1)
    if features.intercept:
        z[:, 0] = 1.0
    used = design.weights.ravel()
    assert set(np.unique(used)) <= {0.0, 1.0}
    lengths = np.linalg.norm(z[used > 0], axis=1)
    assert np.all(lengths <= features.reach)
    return [(*row, y) if weight > 0 else None for row, y, weight in zip(z, design.targets.ravel(), used, strict=True)]


def same(found: list[tuple[float, ...] | None], due: list[tuple[float, ...] | None]) -> None:
    assert [row is None for row in found[: len(due)]] == [row is None for row in due]
    assert all(row is None for row in found[len(due) :])
    for one, other in zip(found, due, strict=False):
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def coded_rows(query: Loss, rows: list[dict[str, str | None]]) -> CodedRows:
    read = [coded_cells(query, row) for row in rows]
    bad = {
        name: -1 if isinstance(query.schema.column(name), Binary | Categorical) else NO_NUMBER for name in query.columns
    }
    columns = {name: [bad[name] if row[name] is None else row[name] for row in read] for name in query.columns}
    persons = np.array([row.get("who") for row in rows], dtype=object) if "who" in rows[0] else None
    return CodedRows(columns, persons, id="t")


@pytest.mark.parametrize("schema", [SCHEMA, EXCLUDING], ids=["default", "exclude"])
@pytest.mark.parametrize("name", MODELS)
def test_every_source_gives_the_rows_of_the_oracle_in_their_order(name, schema, tmp_path) -> None:
    rows = [{key: cell for key, cell in row.items() if key != "who"} for row in table_of(300)]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=17)
    for source in (pd.DataFrame(rows), table, tmp_path / "t.parquet"):
        dataset = open_dataset(source, schema, id="t")
        query = MODELS[name].query(dataset.schema)
        due = oracle(query, rows)
        assert (None in due) == (schema is EXCLUDING)
        with dataset.source.design(query) as design:
            same(dense(query, design), due)
            kept = design
        with coded_rows(query, rows).design(query) as other:
            for field in ("numbers", "codes", "targets", "weights", "shrink"):
                np.testing.assert_array_equal(getattr(kept, field), getattr(other, field))


@pytest.mark.parametrize("threads", [1, 4])
def test_places_of_rows_in_parquet_follow_the_file(tmp_path, threads: int) -> None:
    """Many row groups and several threads: batches are runs of places, which must not depend on either."""
    n = 60_000
    x = np.arange(n) / n
    pq.write_table(pa.table({"x": x, "y": np.arange(n) % 2}), tmp_path / "t.parquet", row_group_size=2048)
    schema = Schema({"x": dc.Bounded(0, 1), "y": dc.Binary()})
    dataset = open_dataset(tmp_path / "t.parquet", schema, id="t")
    query = dc.LogisticRegression("y", ("x",)).query(dataset.schema)
    with replace(dataset.source, threads=threads).design(query) as design:
        found = design.numbers[:, 0].ravel()[:n]
        np.testing.assert_allclose(found, 2 * x - 1, atol=1e-6)
        assert design.weights.sum() == n


@pytest.mark.parametrize("schema", [SCHEMA, EXCLUDING], ids=["default", "exclude"])
@pytest.mark.parametrize("k", [1, 3])
def test_of_each_person_the_same_rows_are_kept(schema, k: int) -> None:
    """Which rows, not their order: a person's batch is the whole table."""
    declared, rows = of_persons(schema, k), table_of(300)
    dataset = open_dataset(pd.DataFrame(rows), declared, id="t")
    query = MODELS["logistic"].query(dataset.schema)
    due = oracle(query, rows)

    def used(found: list[tuple[float, ...] | None]) -> Counter[tuple[float, ...]]:
        return Counter(tuple(np.round(row, 9) + 0.0) for row in found if row is not None)

    assert sum(used(due).values()) <= dataset.schema.n * k == query.largest_total
    for source in (dataset.source, coded_rows(query, rows)):
        with source.design(query) as design:
            assert used(dense(query, design)) == used(due)


def test_a_large_table_lies_in_files_without_a_name(monkeypatch, tmp_path) -> None:
    """The same arrays, the same draws; nothing stands in the folder of temporary files."""
    rows = [{key: cell for key, cell in row.items() if key != "who"} for row in table_of(300)]
    dataset = open_dataset(pd.DataFrame(rows), EXCLUDING, id="t")
    model = MODELS["logistic"]
    query = model.query(dataset.schema)
    mechanism = dc.GibbsPosterior(epsilon=1.0, delta=1e-5, steps=3)
    drawn = mechanism.apply(SeededNoise(1), query, dataset)["coefficients"]
    with dataset.source.design(query) as design:
        held = {
            field: np.array(getattr(design, field)) for field in ("numbers", "codes", "targets", "weights", "shrink")
        }
    monkeypatch.setattr("discreet.sources.dataset.LARGEST_IN_MEMORY", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for source in (dataset.source, coded_rows(query, rows)):
        with source.design(query) as design:
            assert isinstance(design.numbers, np.memmap)
            if source is dataset.source:
                for field, array in held.items():
                    np.testing.assert_array_equal(getattr(design, field), array)
            assert not list(tmp_path.iterdir())
    again = mechanism.apply(SeededNoise(1), query, dataset)["coefficients"]
    np.testing.assert_array_equal(again, drawn)


def test_progress_does_not_tell_whether_rows_are_in_files(monkeypatch) -> None:
    """How many rows persons have is private. The twin: told by what is run at once, as it was, it would tell."""
    table = pd.DataFrame({"id": [1, 1, 2, 3], "x": [0.0, 1.0, 2.0, 3.0], "y": [0, 1, 0, 1]})
    schema = Schema({"x": dc.Bounded(0, 3), "y": dc.Binary()}, unit=dc.Person("id", 2))
    dataset = open_dataset(table, schema, id="t")
    query = dc.LogisticRegression("y", ("x",)).query(dataset.schema)
    mechanism, kernel = dc.GibbsPosterior(epsilon=1.0, delta=1e-5, steps=120), langevin_steps.steps_of_langevin
    found = []
    for limit in (2**28, 0):
        told: list[int] = []
        run: list[int] = []
        monkeypatch.setattr(dataset_module, "LARGEST_IN_MEMORY", limit)
        monkeypatch.setattr(
            langevin_steps, "steps_of_langevin", lambda *given, run=run: (run.append(given[8]), kernel(*given))
        )
        drawn = mechanism.apply(SeededNoise(1), query, dataset, told.append)["coefficients"]
        found.append((told, run, drawn))
    (told, run, drawn), (told_in_files, run_in_files, drawn_in_files) = found
    assert told == told_in_files
    assert sum(told) == 120
    assert run != run_in_files
    np.testing.assert_array_equal(drawn, drawn_in_files)


def test_design_never_prints_rows_and_holds_whole_chunks() -> None:
    schema = Schema({"x": dc.Bounded(0, 4242), "y": dc.Binary()}, n=CHUNK + 1)
    query = dc.LogisticRegression("y", ("x",)).query(schema)
    rows = CodedRows({"x": np.full(CHUNK + 1, 4242), "y": np.ones(CHUNK + 1)})
    with rows.design(query) as design:
        assert "4242" not in repr(design)
        assert "1." not in repr(design)
        assert design.weights.shape == (2, CHUNK)
        assert design.weights.sum() == CHUNK + 1


def test_an_empty_table_has_a_design_and_a_draw() -> None:
    schema = Schema({"x": dc.Bounded(0, 1), "y": dc.Binary()}, n=0)
    dataset = Dataset("t", schema, CodedRows({"x": [], "y": []}))
    query = dc.LogisticRegression("y", ("x",)).query(schema)
    for mechanism in (dc.GibbsPosterior(1.0, 1e-5), dc.GibbsPosterior(1.0, 1e-5, sampler="exact")):
        drawn = mechanism.apply(SeededNoise(0), query, dataset)["coefficients"]
        assert drawn.shape == (1, 2)
        assert np.isfinite(drawn).all()


def test_numbers_of_every_storage_are_read_alike() -> None:
    """Texts, integers, decimals and floats of the same cells give the same design."""
    plain = ordinary_rows(150)
    frame = pd.DataFrame(plain)
    typed = frame.assign(smoker=frame.smoker == "1", age=frame.age.astype(float), visits=frame.visits.astype("int32"))
    query = MODELS["logistic"].query(replace(SCHEMA, n=150))
    found = []
    for source in (frame, typed, pa.Table.from_pandas(typed)):
        with open_dataset(source, SCHEMA, id="t").source.design(query) as design:
            found.append(np.concatenate([design.numbers.ravel(), design.codes.ravel(), design.targets.ravel()]))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
