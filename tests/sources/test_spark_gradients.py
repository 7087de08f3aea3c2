"""Langevin on rows that stay in Spark: the chain of the embedded engine, and the same bits however rows are spread.

Here blocks go through the functions of the workers without Spark; with Spark, and with an executor that is killed, in
`make audit`. Nothing here is random but seeded tables and noise.
"""

import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from blocks_without_spark import Parts, in_parts, kept
from test_score_sums import COLUMNS, FEATURES, opened, table

import discreet as dc
from discreet.mechanisms.gibbs_posterior import distant_chains as distant
from discreet.mechanisms.gibbs_posterior.distant_chains import block_gradients, distant_chains, steps_of_gradients
from discreet.mechanisms.gibbs_posterior.langevin_chains import langevin_chains
from discreet.noise.sources import SeededNoise
from discreet.sources.engines.spark_designs import spark_sums
from spark_session import Running

MODELS: dict[str, Any] = {
    "logistic": dc.LogisticRegression("smoker", FEATURES),
    "shrunk hinge": dc.HingeClassifier("smoker", FEATURES, radius=1.1, intercept=False, width=0.5),
    "poisson": dc.PoissonRegression("visits", ("age", "income"), ball=0.5),
    "huber of levels": dc.HuberRegression("pressure", ("ward", "grade")),
    "table": dc.ConvexLoss("pressure", FEATURES, slope="tanh(t - y)"),
}
MECHANISM = dc.GibbsPosterior(epsilon=2.0, delta=1e-5, steps=40, draws=2)
CUTS = ([], [1, 1, 700, 701, 2999])


class Elsewhere:
    """A source whose rows stay where they are, in blocks."""

    at_hand = False
    has_places = False

    def __init__(self, frame: Parts) -> None:
        self.frame = frame

    def can_sum(self) -> bool:
        return True

    def sums(self, query: Any) -> Any:
        return spark_sums(query, kept(self.frame))


def chain(source: Any, query: Any, seed: int = 3) -> np.ndarray:
    with source.sums(query) as sums:
        return distant_chains(query, MECHANISM.law(query), sums, 2, np.random.default_rng(seed))


def chain_in_memory(source: Any, query: Any, seed: int = 3) -> np.ndarray:
    with source.design(query) as rows:
        return langevin_chains(query, MECHANISM.law(query), 1, rows, 2, np.random.default_rng(seed))


@pytest.mark.parametrize("name", MODELS)
def test_the_chain_is_that_of_rows_in_memory_and_has_the_same_bits_in_all_blocks(name: str) -> None:
    data = table()
    own = opened(data)
    query = MODELS[name].query(own.schema)
    expected = chain(own.source, query)
    np.testing.assert_allclose(expected, chain_in_memory(own.source, query), rtol=1e-9)
    for rows in (data, data.sample(frac=1.0, random_state=5)):
        for bounds in CUTS:
            frame = in_parts(rows, query, bounds)
            np.testing.assert_array_equal(chain(Elsewhere(frame), query), expected)
            assert frame.kept == []


def test_rounding_by_block_depends_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted gradients are doubles that are rounded once for a block."""
    from discreet.mechanisms.gibbs_posterior.kernels.margins import BLOCKS, Rows, gradients

    def by_block(loss: Any, w: Any, intercept: int, scale: float, rows: Any) -> Any:
        arrays = (rows.numbers, rows.codes, rows.targets, rows.weights, rows.shrink)
        block = Rows(*map(np.array, arrays))  # those that may be written have a kernel already
        return np.rint(np.ravel(gradients(loss, w, intercept, block, np.zeros((BLOCKS, *w.shape)))) * scale).astype(int)

    monkeypatch.setattr(distant, "block_gradients", by_block)
    data = table()
    query = MODELS["logistic"].query(opened(data).schema)
    one, other = (chain(Elsewhere(in_parts(data, query, bounds)), query) for bounds in CUTS)
    assert not np.array_equal(one, other)
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_a_block_that_is_left_out_or_counted_twice_is_found() -> None:
    data = table()
    own = opened(data)
    query = MODELS["logistic"].query(own.schema)
    expected = chain_in_memory(own.source, query)
    for planted in (lambda part: part.pop(), lambda part: part.append(part[0])):
        frame = in_parts(data, query, [2900])
        planted(frame.parts[1])
        assert np.abs(chain(Elsewhere(frame), query) - expected).max() > 1e-6


@pytest.mark.parametrize("name", MODELS)
def test_rounding_is_what_the_proof_says(name: str) -> None:
    """Lemma 1: at most N sqrt(d) u / 2 from the gradient; no row adds more than 2^45 units, not even in a corner."""
    from discreet.mechanisms.gibbs_posterior.kernels.margins import BLOCKS, Rows, gradients

    data = table(300)
    corner = data.assign(age=90, income=20.0, pressure=200, visits=9)
    for rows, far in ((data, 1.0), (corner, 1e6)):
        own = opened(rows)
        query = MODELS[name].query(own.schema)
        scale, size = steps_of_gradients(query), query.features.size
        w = np.random.default_rng(1).normal(size=(2, size)) * min(far, 0.4 * query.ball / math.sqrt(size))
        with own.source.design(query) as design:
            block = Rows(design.numbers, design.codes, design.targets, design.weights, design.shrink)
            intercept = int(query.features.intercept)
            plain = gradients(query.branch, w, intercept, block, np.zeros((BLOCKS, *w.shape)))
            with own.source.sums(query) as sums:
                found = sums.summed(partial(block_gradients, query.branch, w, intercept, scale))
            whole = found.reshape(w.shape).astype(float)
        apart = np.sqrt(((whole / scale - plain) ** 2).sum(axis=1)).max()
        assert apart <= 300 * math.sqrt(size) / (2.0 * scale) + 300**2 * 2.0**-52 * query.lipschitz
        assert np.abs(whole).max() <= 300 * 2.0**45
        assert 2.0**-45 <= 1.0 / (scale * query.lipschitz) <= 2.0**-44


def test_a_release_tells_its_public_steps_and_nothing_else() -> None:
    data = table()
    own = opened(data)
    query = MODELS["logistic"].query(own.schema)
    there = dc.Dataset("t", own.schema, Elsewhere(in_parts(data, query, [700])))
    told: list[int] = []
    value = MECHANISM.apply(SeededNoise(1), query, there, told.append)
    assert told == [1] * MECHANISM.work(query)
    assert {name: array.shape for name, array in value.items()} == MECHANISM.shapes(query)
    np.testing.assert_allclose(
        value["coefficients"], MECHANISM.apply(SeededNoise(1), query, own)["coefficients"], rtol=1e-6
    )


EXACT = dc.GibbsPosterior(epsilon=1.0, delta=1e-5, sampler="exact")


@pytest.mark.parametrize(
    ("model", "mechanism", "words"),
    [
        (
            MODELS["logistic"],
            dc.GibbsPosterior(epsilon=1.0, delta=1e-5, steps=50, batches=5),
            "batches must be 1 for a table in Spark",
        ),
        (MODELS["logistic"], EXACT, "sampler must be langevin for a table that"),
        (
            dc.HingeClassifier("smoker", FEATURES, radius=1.1, intercept=False, width=0),
            EXACT,
            r"HingeClassifier\(width=0.5\)",
        ),
        (dc.QuadraticMean(("age", "pressure")), EXACT, "Normal or MultivariateNormal with NoisyStatistics"),
    ],
)
def test_what_spark_cannot_do_is_refused_before_it_is_paid(
    model: Any, mechanism: Any, words: str, tmp_path: Path
) -> None:
    there = dc.Dataset("t", dc.Schema(COLUMNS, n=3000), Elsewhere(Parts([])))
    ledger = dc.Ledger.create(tmp_path / "t.ledger", dc.Budget(epsilon=9.0, delta=1e-4))
    with pytest.raises(dc.QueryError, match=words):
        dc.release(model, there, mechanism, ledger)
    assert len(ledger.entries()) == 0


@pytest.mark.audit
@pytest.mark.parametrize("name", MODELS)
def test_spark_gives_the_chain_of_the_embedded_engine(name: str, spark: Running) -> None:
    data = table()
    own = opened(data)
    query = MODELS[name].query(own.schema)
    before, found = spark.said.read_bytes(), []
    for parts in (1, 3):
        frame = spark.frame(pa.Table.from_pandas(data, preserve_index=False), parts)
        found.append(chain(dc.open(frame, dc.Schema(COLUMNS), id="t").source, query))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], chain(own.source, query))
    np.testing.assert_allclose(found[0], chain_in_memory(own.source, query), rtol=1e-9)
    assert spark.said.read_bytes() == before


HOSTILE: dict[str, list[Any]] = {
    "age": [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7e308, None],
    "income": [math.nan, math.inf, -1e300, None],
    "ward": ["", None, "x" * 5000, "a\x00b", "�", "'; DROP TABLE t"],
    "smoker": ["", None, "nan", "2.00"],
}


@pytest.mark.audit
@pytest.mark.parametrize("unit", [dc.Record(), dc.Person("who", max_records=2)], ids=["record", "person"])
def test_neighbours_leave_the_same_events(unit: Any, spark: Running, capfd: pytest.CaptureFixture[str]) -> None:
    """One hostile cell in one row, in every column: the same shapes, steps and silence, and the chain of the frame."""
    model = dc.LogisticRegression("smoker", ("age", "ward", "income"))
    mechanism = dc.GibbsPosterior(epsilon=2.0, delta=1e-5, steps=2)
    data = table(60).assign(who=[f"p{i // 3}" for i in range(60)])[["age", "income", "ward", "smoker", "who"]]
    data = data.astype({"smoker": str})
    columns = {name: COLUMNS[name] for name in ("age", "income", "ward", "smoker")}
    schema, events = dc.Schema(columns, unit=unit), set()
    kinds = {name: pa.float64() if name in ("age", "income") else pa.string() for name in data.columns}
    before = spark.said.read_bytes()
    for name, cell in [(name, cell) for name, cells in HOSTILE.items() for cell in cells]:
        changed = {column: [*data[column], cell if column == name else data[column][0]] for column in data.columns}
        changed = pa.table(
            {column: pa.array(cells, kinds[column], from_pandas=False) for column, cells in changed.items()}
        )
        told: list[int] = []
        there, here = (dc.open(source, schema, id="t") for source in (spark.frame(changed, 1), changed))
        query = model.query(there.schema)
        value = mechanism.apply(SeededNoise(1), query, there, told.append)
        near = mechanism.apply(SeededNoise(1), query, here)
        np.testing.assert_allclose(value["coefficients"], near["coefficients"], rtol=1e-6, atol=1e-6)
        events.add((there.schema, tuple(told), tuple((key, array.shape) for key, array in value.items())))
    assert len(events) == 1
    assert spark.said.read_bytes() == before
    assert capfd.readouterr() == ("", "")
