"""Rows that had to be on disk are gone when the process is: ended by any signal, at any moment, on a full disk too."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ReleaseError
from discreet.ledger import Ledger
from discreet.sources.engines import spill
from discreet.sources.engines.duckdb import connect

CANARY = b"canary-4217-"
NUMBER = 4217.0  # a row of the design

# A coded table in files, and an engine that has run out of memory: both wait, full of canaries, to be killed.
DESIGN = f"""
import sys, numpy as np, discreet as dc
from discreet.queries.losses.base import CHUNK
from discreet.sources import CodedRows, dataset
dataset.LARGEST_IN_MEMORY = 0
schema = dc.Schema({{"x": dc.Bounded(0, {2 * NUMBER}, grid=1), "y": dc.Binary()}}, n=CHUNK)
query = dc.HuberRegression("x", ("y",)).query(schema)
rows = CodedRows({{"x": np.full(CHUNK, {NUMBER}), "y": np.ones(CHUNK)}})
with rows.design(query) as made:
    made.numbers[:] = {NUMBER}
    made.targets[:] = {NUMBER}
    made.targets.flush()
    assert isinstance(made.targets, np.memmap)
    print("ready", flush=True)
    sys.stdin.read()
"""

ENGINE = """
import sys
from discreet.sources.engines import duckdb
duckdb.MEMORY_LIMIT = "40MB"
with duckdb.connect(threads=1) as connection:
    texts = "SELECT 'canary-4217-' || md5(i::VARCHAR) AS s FROM range(500000) r(i)"
    reader = connection.sql(f"SELECT s, count(*) FROM ({texts}) GROUP BY s").to_arrow_reader(1000)
    reader.read_next_batch()
    print("ready", flush=True)
    sys.stdin.read()
"""

# What was done before: files with names, which only an orderly end removes.
NAMED = """
import numpy as np, pathlib, tempfile
from discreet.sources import chunks
def named(shape, kind):
    return np.memmap(pathlib.Path(tempfile.mkdtemp()) / "rows", dtype=kind, mode="w+", shape=shape)
chunks.mapped_zeros = named
"""
UNWATCHED = "from discreet.sources.engines import spill\nspill.WATCH = ':'\n"


def inside(folder: Path) -> list[Path]:
    """All that stands in the folders of a folder; one that is removed meanwhile holds nothing (a glob would fail there)."""
    found = ((Path(root), [*folders, *files]) for root, folders, files in os.walk(folder))
    return [root / name for root, names in found for name in names if root != folder]


def canaries(folder: Path) -> list[str]:
    """Every file below a folder that holds a canary, as text or as a double."""
    needles, found = (CANARY, np.float64(NUMBER).tobytes()), []
    for path in [*folder.iterdir(), *inside(folder)]:
        try:
            body = path.read_bytes()
        except OSError:  # a folder, or removed meanwhile
            continue
        found += [path.name] if any(needle in body for needle in needles) else []
    return found


def assert_nothing_outlives(
    script: str, folder: Path, number: int, moment: Callable[[], bool] | None = None, patience: float = 20.0
) -> None:
    """Kill the script once it is ready, or at an earlier moment; a watcher may need a little to see it."""
    environment = os.environ | {"TMPDIR": str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        if moment is None:
            assert process.stdout.readline() == b"ready\n"
        while moment is not None and not moment() and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(number)
        process.wait()
        end = time.monotonic() + patience
        while inside(folder) and time.monotonic() < end:
            time.sleep(0.02)
        assert canaries(folder) == []
        assert inside(folder) == []  # a folder that was made a moment before may stay, empty
    finally:
        process.kill()
        process.communicate()


def test_a_killed_process_leaves_nothing_of_a_coded_table(tmp_path: Path) -> None:
    assert_nothing_outlives(DESIGN, tmp_path, signal.SIGKILL)
    with pytest.raises(AssertionError):
        assert_nothing_outlives(NAMED + DESIGN, tmp_path, signal.SIGKILL, patience=0)
    assert canaries(tmp_path) != []


@pytest.mark.parametrize("moment", ["a folder", "a file", "canaries", "ready"])
def test_a_killed_process_leaves_nothing_of_the_engine(tmp_path: Path, moment: str) -> None:
    reached = {
        "a folder": lambda: any(tmp_path.iterdir()),
        "a file": lambda: bool(inside(tmp_path)),
        "canaries": lambda: bool(canaries(tmp_path)),
        "ready": None,
    }
    number = signal.SIGTERM if moment == "a file" else signal.SIGKILL
    assert_nothing_outlives(ENGINE, tmp_path, number, reached[moment])


def test_an_engine_that_nobody_watches_leaves_rows_and_the_next_process_sweeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssertionError):
        assert_nothing_outlives(UNWATCHED + ENGINE, tmp_path, signal.SIGKILL, patience=0)
    assert canaries(tmp_path) != []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with spill.engine_folder() as folder:
        assert list(tmp_path.iterdir()) == [Path(folder)]
    assert list(tmp_path.iterdir()) == []


def test_where_nobody_can_watch_nothing_is_spilled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(subprocess, "Popen", refused)
    with connect() as connection:
        assert connection.execute("SELECT current_setting('temp_directory')").fetchall() == [("",)]
    assert list(tmp_path.iterdir()) == []


def swept(folder: Path, seed: int) -> None:
    """A sweep over a folder of everything that might stand there removes stale folders of this user and only those."""
    rng = np.random.default_rng(seed)
    other = folder / "elsewhere"
    (other / "inside").mkdir(parents=True)
    kept, held = {other}, []
    kinds = [*rng.permutation(["stale", "full", "held", "link", "file", "another"] * 2)]
    for number, kind in enumerate(kinds):
        path = folder / f"{spill.PREFIX if kind != 'another' else 'discreet-'}{number}"
        if kind == "link":
            path.symlink_to(other, target_is_directory=True)
        elif kind == "file":
            path.write_bytes(CANARY)
        else:
            path.mkdir()
        if kind == "full":
            (path / "rows").write_bytes(CANARY)
            (path / "link").symlink_to(other, target_is_directory=True)
        if kind == "held":
            held.append(os.open(path, os.O_RDONLY))
            fcntl.flock(held[-1], fcntl.LOCK_EX)
        if kind not in ("stale", "full"):
            kept.add(path)
    try:
        with spill.engine_folder() as made:
            left = set(folder.iterdir()) - {Path(made)}
    finally:
        for descriptor in held:
            os.close(descriptor)
    assert left == kept
    assert (other / "inside").is_dir()


@pytest.mark.parametrize("seed", range(4))
def test_only_stale_folders_of_this_user_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    swept(tmp_path, seed)


def test_a_sweep_that_does_not_ask_who_holds_a_folder_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(spill, "_hold", lambda folder: os.open(folder, os.O_RDONLY))
    with pytest.raises(AssertionError):
        swept(tmp_path, 0)


def test_folders_of_another_user_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"{spill.PREFIX}theirs").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    spill._sweep()
    assert [path.name for path in tmp_path.iterdir()] == [f"{spill.PREFIX}theirs"]


def assert_reserved(reserve: Callable[[object, int], None]) -> None:
    size = 3 * 2**20 + 17
    with tempfile.TemporaryFile() as file:
        reserve(file, size)
        status = os.fstat(file.fileno())
        assert status.st_size == size
        assert status.st_blocks * 512 >= size


def test_space_is_taken_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_reserved(spill._reserve)
    with pytest.raises(AssertionError):
        assert_reserved(lambda file, size: file.truncate(size))  # what a new memmap does

    def unsupported(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "unsupported")

    monkeypatch.setattr(os, "posix_fallocate", unsupported, raising=False)
    assert_reserved(spill._reserve)


def test_a_full_disk_is_the_usual_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: int) -> None:
        raise OSError(errno.ENOSPC, CANARY.decode())

    table = tmp_path / "t.csv"
    table.write_text("x,y\n" + "1,0\n" * 20)
    schema = dc.Schema({"x": dc.Bounded(0, 2), "y": dc.Binary()}, n=20)
    monkeypatch.setattr("discreet.sources.dataset.LARGEST_IN_MEMORY", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "spill"))
    (tmp_path / "spill").mkdir()
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    ledger = Ledger.create(tmp_path / "t.ledger", dc.Budget(3.0, 1e-6))
    mechanism = dc.GibbsPosterior(epsilon=1.0, delta=1e-7, steps=2)
    with pytest.raises(ReleaseError, match="could not be computed: the request stays charged") as caught:
        dc.release(dc.LogisticRegression("y", ("x",)), dc.open(str(table), schema), mechanism, ledger)
    assert caught.value.__context__ is None
    assert list((tmp_path / "spill").iterdir()) == []
