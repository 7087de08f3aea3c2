"""Spark at five million rows, and with an executor that dies: `make audit` only."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_oracle import EXCLUDING, PEOPLE, SCHEMA, of_persons, plain, query_of, table_of
from test_spark import typed

import discreet as dc
from spark_session import Running, found_or_skipped

ROWS = 5_000_000
HERE = Path(__file__).parent


def large(folder: Path) -> pa.Table:
    """A small table of hostile cells again and again, by other persons every time."""
    once = typed(table_of(1000, people=[*PEOPLE, "Zoë" * 30], bad=0.3))
    times = ROWS // len(once)
    whole = pa.concat_tables([once] * times)
    who = whole["who"].combine_chunks()
    number = pa.array(np.repeat(np.arange(times) % 997, len(once)).astype(str))
    named = pa.compute.if_else(pa.compute.equal(who, ""), who, pa.compute.binary_join_element_wise(who, number, "-"))
    return whole.set_column(whole.column_names.index("who"), "who", named)


@pytest.mark.audit
def test_five_million_rows_have_the_same_bits(spark: Running, tmp_path: Path) -> None:
    table = large(tmp_path)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=400_000)
    frame = spark.session.read.parquet(str(tmp_path / "t.parquet"))
    ages = table["age"].to_pylist()
    ages[ROWS // 2] = 3.25 if ages[ROWS // 2] != 3.25 else 4.5
    twin = table.set_column(table.column_names.index("age"), "age", pa.array(ages, pa.float64()))
    pq.write_table(twin, tmp_path / "twin.parquet", row_group_size=400_000)
    for schema in (SCHEMA, EXCLUDING, of_persons(EXCLUDING, 3)):
        data, own = (dc.open(source, schema, id="t") for source in (frame, tmp_path / "t.parquet"))
        assert data.schema == own.schema
        query = query_of(data.schema)
        found = plain(data.source.statistics(query))
        assert found == plain(own.source.statistics(query))
    schema = SCHEMA
    query = query_of(dc.open(frame, schema, id="t").schema)
    changed = dc.open(spark.session.read.parquet(str(tmp_path / "twin.parquet")), schema, id="t")
    assert plain(changed.source.statistics(query)) != plain(dc.open(frame, schema, id="t").source.statistics(query))


@pytest.mark.audit
def test_an_executor_that_is_killed_costs_nothing_twice() -> None:
    """Identical bits or one sentence, nothing said, one entry, which the same request settles."""
    found_or_skipped()
    paths = os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE.parent)])
    environment = os.environ | {"PYTHONPATH": paths}
    ran = subprocess.run(
        [sys.executable, str(HERE / "spark_killed.py")], env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    refused, told = "the source could not be read: no statistic was computed", {}
    for asked, result in json.loads(ran.stdout.splitlines()[-1]).items():
        release = result["release"]
        assert (result["killed"], release["killed"]) == (1, 1), asked
        assert result["found"] in (result["exact"], refused), asked
        assert result["quiet"], asked
        assert release["said"] == release["again"] or "the request stays charged" in release["said"], asked
        assert release["entries"] == 1, asked
        told[asked] = ("same bits" if result["found"] == result["exact"] else "refused", release["said"])
    assert set(told) == {"statistics", "scores", "langevin"}
    print(told)
