"""A ledger of format 1, written by an older version: read without a change, brought to format 2 by the first write.

Whatever kills a migration leaves the old ledger or the new one. The golden ledgers are the old ones.
"""

import os
import shutil
import signal
import sqlite3
import time
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from discreet.ledger import Ledger
from discreet.ledger import sqlite as module
from discreet.ledger.sqlite import FORMAT, SqliteStore

GOLDEN = Path(__file__).parents[1] / "golden"
SMALL: dict[str, Guarantee] = {
    "pure": PureDP(0.001),
    "zcdp": ZCDP(0.001),
    "gdp": GaussianDP(0.001),
    "approximate": ApproxDP(0.001, 1e-9),
}
Damage = Callable[["sqlite3.Connection", str], None]


def old(folder: Path, name: str = "pure") -> Path:
    """A copy of a golden ledger, with its head."""
    path = folder / f"{name}.ledger"
    for suffix in ("", ".head"):
        shutil.copy(f"{GOLDEN / path.name}{suffix}", f"{path}{suffix}")
    return path


def rows(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM events ORDER BY seq").fetchall()


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def forked(work: Callable[[], object]) -> int:
    """Start the work in a child that ends with it; its process id."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Watched(sqlite3.Connection):
    """A connection whose statements are counted once it migrates; it writes pages before a commit."""

    seen = 0
    at: tuple[int, bool] = (-1, False)  # which statement, and whether after it
    strike: Callable[[], None] = staticmethod(lambda: None)

    def execute(self, *arguments: Any) -> Any:
        if arguments[0].startswith("PRAGMA synchronous"):
            super().execute("PRAGMA cache_size = 1")
        if arguments[0].startswith("BEGIN IMMEDIATE"):
            self.migrates = super().execute("PRAGMA user_version").fetchone() == (1,)
        if getattr(self, "migrates", False):
            Watched.seen += 1
            if Watched.at == (Watched.seen, False):
                Watched.strike()
        found = super().execute(*arguments)
        if getattr(self, "migrates", False) and Watched.at == (Watched.seen, True):
            Watched.strike()
        return found


def watch(monkeypatch: pytest.MonkeyPatch, at: tuple[int, bool], strike: Callable[[], None]) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(Watched, "seen", 0)
    monkeypatch.setattr(Watched, "at", at)
    monkeypatch.setattr(Watched, "strike", staticmethod(strike))
    monkeypatch.setattr(module.sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "factory": Watched}))


def check_old_or_new(path: Path, before: list[tuple[Any, ...]], head: str, bytes_before: bytes) -> bool:
    """Whether it is the new ledger already; it is whole, and goes on, in either case."""
    ledger = Ledger.open(path)
    ledger.verify(head)
    is_new = version(path) == FORMAT
    now = rows(path)
    assert now[: len(before)] == before
    assert [row[1] for row in now[len(before) :]] == (["migrate"] if is_new else [])
    ledger.reserve(SMALL["pure"], {"after": "the crash"})
    assert [row[1] for row in rows(path)[len(before) :]] == ["migrate", "reserve"]
    ledger.verify(head)
    assert Path(f"{path}.format-1").read_bytes() == bytes_before
    return is_new


@pytest.mark.parametrize("name", SMALL)
def test_reading_changes_nothing_and_the_first_write_migrates(tmp_path: Path, name: str) -> None:
    path = old(tmp_path, name)
    file, before = path.read_bytes(), rows(path)
    ledger = Ledger.open(path)
    head, spent = ledger.head(), ledger.spent()
    ledger.entries(), ledger.remaining(), ledger.quote([SMALL[name]]), ledger.verify(head), str(ledger)
    with pytest.raises(Exception, match="must"):
        ledger.quote([PureDP(1e9) if name != "gdp" else GaussianDP(1e9)])
    assert path.read_bytes() == file
    assert version(path) == 1
    assert not Path(f"{path}.format-1").exists()

    entry = ledger.reserve(SMALL[name], {"new": True})
    assert version(path) == FORMAT
    assert ledger.filter.name == name  # moving to another after a release would be a choice from outputs
    assert ledger.spent() == spent + entry.spend > spent
    assert Path(f"{path}.format-1").read_bytes() == file
    after = rows(path)
    assert after[: len(before)] == before
    assert [row[1] for row in after[len(before) :]] == ["migrate", "reserve"]
    ledger.settle(entry, {"value": 1})
    again = Ledger.open(path)
    again.verify(head)  # a head noted before the migration is still in the chain
    again.verify(after[len(before)][-1])
    again.reserve(SMALL[name], {"new": 2})
    assert [row[1] for row in rows(path)].count("migrate") == 1


def test_a_copy_has_the_rights_of_the_ledger(tmp_path: Path) -> None:
    path = old(tmp_path)
    path.chmod(0o640)
    Ledger.open(path).reserve(SMALL["pure"], {})
    assert Path(f"{path}.format-1").stat().st_mode & 0o777 == 0o640
    assert sorted(found.name for found in tmp_path.iterdir()) == [
        "pure.ledger", "pure.ledger.format-1", "pure.ledger.head",
    ]  # fmt: skip


def test_a_ledger_that_cannot_be_copied_is_not_migrated(tmp_path: Path) -> None:
    path = old(tmp_path)
    Path(f"{path}.format-1").mkdir()  # in the way
    file, ledger = path.read_bytes(), Ledger.open(path)
    with pytest.raises(LedgerError, match="must be copied"):
        ledger.reserve(SMALL["pure"], {})
    assert path.read_bytes() == file
    ledger.verify(ledger.head())


def statements(monkeypatch: pytest.MonkeyPatch, folder: Path) -> int:
    folder.mkdir()
    path = old(folder)
    with monkeypatch.context() as patched:
        watch(patched, (-1, False), lambda: None)
        Ledger.open(path).reserve(SMALL["pure"], {})
        return Watched.seen


def test_a_kill_at_every_statement_leaves_the_old_or_the_new_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = statements(monkeypatch, tmp_path / "whole")
    assert count > 15
    found = []
    for number in range(1, count + 1):
        folder = tmp_path / str(number)
        folder.mkdir()
        path = old(folder)
        file, before, ledger = path.read_bytes(), rows(path), Ledger.open(path)
        head = ledger.head()
        with monkeypatch.context() as patched:
            watch(patched, (number, True), lambda: os.kill(os.getpid(), signal.SIGKILL))
            assert ended(forked(lambda opened=ledger: opened.reserve(SMALL["pure"], {}))) == -signal.SIGKILL
        found.append(check_old_or_new(path, before, head, file))
        shutil.rmtree(folder)
    assert found == sorted(found)
    assert found.count(True) == 1  # only the commit makes it new


def test_an_exception_at_every_statement_leaves_the_old_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise sqlite3.OperationalError("disk I/O error")

    count = statements(monkeypatch, tmp_path / "whole")
    path = old(tmp_path)
    file, before, ledger = path.read_bytes(), rows(path), Ledger.open(path)
    head = ledger.head()
    for number in range(1, count + 1):
        with monkeypatch.context() as patched:
            watch(patched, (number, False), fail)
            with pytest.raises(LedgerError):
                ledger.reserve(SMALL["pure"], {})
        assert version(path) == 1
        assert rows(path) == before
    assert not check_old_or_new(path, before, head, file)


@pytest.mark.parametrize("step", ["fsync", "copymode", "replace"])
def test_a_kill_while_the_copy_is_made_leaves_the_old_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = old(tmp_path)
    file, before, ledger = path.read_bytes(), rows(path), Ledger.open(path)
    head = ledger.head()
    owner = {"fsync": module.os, "copymode": module.shutil, "replace": Path}[step]
    with monkeypatch.context() as patched:
        patched.setattr(owner, step, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        assert ended(forked(lambda: ledger.reserve(SMALL["pure"], {}))) == -signal.SIGKILL
    assert Path(f"{path}.format-1-new").exists()
    assert not check_old_or_new(path, before, head, file)


def race(path: Path, processes: int) -> list[int]:
    """All open the ledger, and then write to it at once."""
    begin, go = os.pipe()
    children = []
    for number in range(processes):
        ledger = Ledger.open(path)

        def work(ledger: Ledger = ledger, number: int = number) -> None:
            os.close(go)
            os.read(begin, 1)
            ledger.reserve(SMALL["pure"], {"process": number})

        children.append(forked(work))
    os.close(go)
    os.close(begin)
    return [ended(child) for child in children]


def slow(copy: Callable[..., None]) -> Callable[..., None]:
    def made(*arguments: Any) -> None:
        copy(*arguments)
        time.sleep(0.3)

    return made


def test_processes_that_migrate_at_once_migrate_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old(tmp_path)
    file, before, head = path.read_bytes(), rows(path), Ledger.open(path).head()
    monkeypatch.setattr(SqliteStore, "_copy", slow(SqliteStore._copy))
    assert race(path, 6) == [0] * 6
    assert [row[1] for row in rows(path)[len(before) :]] == ["migrate"] + ["reserve"] * 6
    assert Path(f"{path}.format-1").read_bytes() == file
    Ledger.open(path).verify(head)


def test_the_race_catches_a_copy_that_drops_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The planted bug: closing the file, opened beside SQLite, ends all locks of the process on it (POSIX)."""

    def plain(store: SqliteStore, _: sqlite3.Connection, suffix: str) -> None:
        shutil.copy(store.path, f"{store.path}{suffix}")

    path = old(tmp_path)
    before = rows(path)
    monkeypatch.setattr(SqliteStore, "_copy", slow(plain))
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.5)
    codes = race(path, 6)
    capfd.readouterr()
    try:
        whole = [row[1] for row in rows(path)[len(before) :]] == ["migrate"] + ["reserve"] * 6
        Ledger.open(path).verify()
    except (sqlite3.Error, LedgerError):
        whole = False
    assert codes != [0] * 6 or not whole


def test_a_chain_that_was_cut_is_not_migrated(tmp_path: Path) -> None:
    path = old(tmp_path)
    ledger = Ledger.open(path)
    with closing(sqlite3.connect(path)) as connection:
        (trigger,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'no_delete'").fetchone()
        connection.executescript(
            "BEGIN; DROP TRIGGER no_delete;"
            "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events); COMMIT;"
            "PRAGMA writable_schema = ON; BEGIN; DELETE FROM sqlite_master WHERE name = 'only_append';"
        )
        only = next(sql for sql in module.SCHEMAS[1] if "only_append" in sql)
        for name, sql in (("no_delete", trigger), ("only_append", only)):  # in the order they were made in
            connection.execute("INSERT INTO sqlite_master VALUES ('trigger', ?, 'events', 0, ?)", (name, sql))
        connection.execute("COMMIT")
    file = path.read_bytes()
    with pytest.raises(LedgerError, match="replaced or restored"):
        ledger.reserve(SMALL["pure"], {})
    assert path.read_bytes() == file
    assert not Path(f"{path}.format-1").exists()


@pytest.mark.parametrize("number", [0, 3, 2**31 - 1])
def test_other_formats_are_refused(tmp_path: Path, number: int) -> None:
    path = old(tmp_path)
    ledger = Ledger.open(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {number}")
    file = path.read_bytes()
    for use in (lambda: Ledger.open(path), lambda: ledger.reserve(SMALL["pure"], {}), ledger.verify):
        with pytest.raises(LedgerError, match="Ledger format must be at most 2"):
            use()
    assert path.read_bytes() == file
    assert not Path(f"{path}.format-1").exists()


def test_a_format_that_is_only_claimed_is_refused(tmp_path: Path) -> None:
    path = old(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(LedgerError, match="exactly the tables"):
        Ledger.open(path)
