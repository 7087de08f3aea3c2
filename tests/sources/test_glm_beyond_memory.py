"""Regressions on a Parquet table that is larger than memory: rows lie in files without a name and are paged in.

A process of its own reads the table in small memory: what it may hold at once is a public limit, whatever the table has.
Ten epochs of minibatch Langevin and a noisy score with forty questions: 60,000 rows against a small limit in `make
test`, 2 GB in `make audit`. What counts is VmHWM, the most that the process ever had in memory, pages of files and of
libraries among it; not `ru_maxrss`, which a process inherits from the one that starts it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

FEATURES = 12

PROCESS = """
import json, mmap, sys, time
import discreet as dc
from discreet.noise.sources import SeededNoise
from discreet.sources import chunks
path, limit = sys.argv[1], int(sys.argv[2])
if limit: chunks.LARGEST_IN_MEMORY = limit
if "keeps pages" in sys.argv: del mmap.MADV_DONTNEED
names = [f"x{i}" for i in range(12)]
schema = dc.Schema({**{name: dc.Bounded(-4, 4) for name in names}, "y": dc.Binary()})
data = dc.open(path, schema, id="t")
model = dc.LogisticRegression("y", tuple(names))
def resident(kind):
    (held,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith(kind + ":"))
    return int(held) * 1024
found, seconds = {}, {}
for name, mechanism in {
    "langevin": dc.GibbsPosterior(epsilon=1.0, delta=1e-6, steps=500, batches=50),
    "scores": dc.NoisyScore(rho=0.5, steps=38),
}.items():
    before = time.perf_counter()
    value = mechanism.apply(SeededNoise(1), model.query(data.schema), data)
    seconds[name] = round(time.perf_counter() - before, 1)
    found[name] = [repr(x) for array in value.values() for x in __import__("numpy").ravel(array).tolist()]
print(json.dumps({"found": found, "n": data.schema.n, "peak": resident("VmHWM"), "seconds": seconds}))
"""


def write(path: Path, rows: int) -> None:
    """A table of doubles whose digits do not compress, group by group."""
    rng = np.random.default_rng(5)
    names = [*(f"x{i}" for i in range(FEATURES)), "y"]
    schema = pa.schema([*((name, pa.float64()) for name in names[:-1]), ("y", pa.bool_())])
    with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none") as file:
        for start in range(0, rows, 2**17):
            size = min(2**17, rows - start)
            x = rng.normal(size=(FEATURES, size))
            y = rng.random(size) < 1.0 / (1.0 + np.exp(-x[:3].sum(axis=0)))
            file.write_table(pa.table([*x, y], schema=schema))


def ran(path: Path, limit: int, *planted: str) -> Any:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "OMP_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
    }
    command = [sys.executable, "-c", PROCESS, str(path), str(limit), *planted]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compare(folder: Path, rows: int, limit: int) -> tuple[Any, Any]:
    """The same table with all rows in memory, and with none."""
    write(folder / "t.parquet", rows)
    return ran(folder / "t.parquet", 2**40), ran(folder / "t.parquet", limit)


def test_rows_in_files_give_the_same_bits_in_less_memory(tmp_path: Path) -> None:
    """The design of 60,000 rows is 7 MB."""
    whole, paged = compare(tmp_path, 60_000, 2**20)
    assert paged["found"]["scores"] == whole["found"]["scores"]
    np.testing.assert_allclose(*(np.array(r["found"]["langevin"], float) for r in (paged, whole)), rtol=1e-9)
    assert paged["peak"] < whole["peak"] + 2**22


@pytest.mark.audit
def test_two_gigabytes_in_half_a_gigabyte(tmp_path: Path) -> None:
    write(tmp_path / "t.parquet", 20_900_000)
    assert (tmp_path / "t.parquet").stat().st_size > 2e9
    found = ran(tmp_path / "t.parquet", 0)
    print(f"2 GB of Parquet, {found['n']:,} rows: {found['peak'] / 2**20:.0f} MB at most, seconds {found['seconds']}")
    assert found["peak"] < 2**29
    assert ran(tmp_path / "t.parquet", 0, "keeps pages")["peak"] > 2**29  # the planted process gives no page back
