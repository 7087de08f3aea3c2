"""One person with 1, 10 or 10,000 rows shows no more than the claim; a source that keeps all rows is caught.

Bounds hold with 99.9% confidence; seeds are fixed, so that the false-alarm rate applies to the choice of the seeds.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.auditing import Pair, attack_pair, pair_of, worst_pair
from discreet.mechanisms import NoisyStatistics
from discreet.noise.sources import NoiseSource, SeededNoise, SystemNoise
from discreet.queries.statistics import Statistics
from discreet.sources import CodedRows, Dataset

RECORDS = 3
CLAIM = 2.0
MODELS: dict[str, Any] = {"BetaBernoulli": lambda: dc.BetaBernoulli("smoker"), "Normal": lambda: dc.Normal("age")}
COLUMNS = {"smoker": dc.Binary(), "age": dc.Bounded(0, 110)}

every_case = pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
every_holding = pytest.mark.parametrize("owned", [1, 10, 10_000])
every_model = pytest.mark.parametrize("model", MODELS)


def query_of(model: str, relation: str) -> Statistics:
    size: dict[str, Any] = {"n": 20} if relation == "replace-one" else {"n_max": 20}
    unit = dc.Person("id", max_records=RECORDS)
    return MODELS[model]().query(dc.Schema(COLUMNS, unit=unit, relation=relation, **size))  # type: ignore[arg-type]


def loss(pair: Pair, noise: NoiseSource, runs: int) -> float:
    found = attack_pair(NoisyStatistics(epsilon=CLAIM), pair, noise=noise, runs=runs)
    print(f"moved {float(pair.moved[0]):g} of {float(pair.query.l1):g}: {found}")
    return found.epsilon


@dataclass(frozen=True)
class KeepsAllRows:
    """A planted source that forgets how many rows of a person may be used."""

    rows: CodedRows

    def count(self) -> int:
        return self.rows.count()

    def statistics(self, query: Statistics) -> dict[str, Any]:
        records = replace(query.schema, unit=dc.Record())
        return CodedRows(self.rows.columns).statistics(replace(query, schema=records))


def forgetful(pair: Pair) -> Pair:
    tables = []
    for table in (pair.dataset, pair.neighbour):
        assert isinstance(table.source, CodedRows)
        tables.append(Dataset(table.id, table.schema, KeepsAllRows(table.source)))
    here, there = (table.source.statistics(pair.query) for table in tables)
    return Pair(pair.query, *tables, here, there)


@every_model
@every_case
@every_holding
def test_a_person_shows_no_more_than_the_claim(model: str, relation: str, owned: int) -> None:
    pair = worst_pair(query_of(model, relation), owned=owned)
    assert pair.moved[0] <= pair.query.l1
    found = loss(pair, SeededNoise(17), 2000)
    assert found <= CLAIM
    assert found > 0.3 or owned < RECORDS  # the attack is not blind


@every_model
@every_case
@pytest.mark.parametrize("owned", [10, 10_000])
def test_a_source_that_keeps_all_rows_of_a_person_is_caught(model: str, relation: str, owned: int) -> None:
    pair = forgetful(worst_pair(query_of(model, relation), owned=owned))
    assert pair.moved[0] > pair.query.l1
    assert loss(pair, SeededNoise(18), 1000) > CLAIM


@every_model
@every_case
def test_persons_with_unequal_rows_stay_within_the_sensitivity(model: str, relation: str) -> None:
    query = query_of(model, relation)
    (column,) = query.columns
    top = 2 if column == "smoker" else COLUMNS["age"].steps(110) + 1  # type: ignore[union-attr]
    rng = np.random.default_rng(4)
    for owned in (1, 10, 10_000):
        rows = [rng.integers(top, size=(size, 1)) for size in (5, owned, owned)]
        pair = pair_of(query, rows[0], rows[1], rows[2] if relation == "replace-one" else rows[2][:0])
        assert pair.moved[0] <= query.l1
        assert pair.moved[1] <= query.squared_l2
        assert (forgetful(pair).moved[0] > query.l1) == (owned == 10_000 or (relation == "add-remove" and owned == 10))


@every_case
def test_dc_audit_tries_persons_in_groups(relation: str) -> None:
    size: dict[str, Any] = {"n": 20} if relation == "replace-one" else {"n_max": 20}
    columns = {**COLUMNS, "ward": dc.Categorical(["A", "B"])}
    schema = dc.Schema(columns, unit=dc.Person("id", RECORDS), relation=relation, **size)  # type: ignore[arg-type]
    found = dc.audit(dc.Normal("age", by="ward"), NoisyStatistics(epsilon=4.0), schema=schema, runs=2000, seed=5)
    assert 0.5 < found.epsilon <= 4.0


@pytest.mark.audit
@every_model
@every_case
@every_holding
def test_a_person_shows_no_more_than_the_claim_at_full_size(
    model: str, relation: str, owned: int, evidence: Callable[[Callable[[], Any]], Any]
) -> None:
    """Real noise, 50,000 runs a side: a claim exceeded by a tenth would be seen."""
    pair = worst_pair(query_of(model, relation), owned=owned)
    assert evidence(lambda: loss(pair, SystemNoise(), 50_000)) <= CLAIM
