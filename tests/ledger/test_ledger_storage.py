"""Missing, taken, foreign, busy and read-only files: refused in one sentence of our own."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.guarantee import Budget, PureDP
from discreet.ledger import Ledger, sqlite


def test_a_missing_ledger_is_refused_and_not_made(path: Path, ledger: Ledger) -> None:
    path.unlink()
    for use in (lambda: Ledger.open(path), ledger.spent, lambda: ledger.reserve(PureDP(0.1), {})):
        with pytest.raises(LedgerError, match="must be an existing ledger"):
            use()
    assert not path.exists()


def test_sqlite_alone_would_have_made_a_fresh_file(path: Path) -> None:
    """The planted twin: what a plain connection does with a missing file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE events (seq)")
    assert path.exists()


def test_create_never_overwrites(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    ledger.reserve(PureDP(1.0), {})
    with pytest.raises(LedgerError, match="never overwritten"):
        Ledger.create(path, Budget(epsilon=1))
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "text").write_text("mine")
    for taken in ("link", "text"):
        with pytest.raises(LedgerError, match="never overwritten"):
            Ledger.create(tmp_path / taken, Budget(epsilon=1))
    assert (tmp_path / "text").read_text() == "mine"
    assert ledger.remaining() == 0
    assert sorted(os.listdir(tmp_path)) == ["link", "study.ledger", "study.ledger.head", "text"]


def test_create_loses_to_a_file_that_appears_in_the_meantime(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "lexists", lambda name: False)
    path.write_text("first")
    with pytest.raises(LedgerError, match="never overwritten"):
        Ledger.create(path, Budget(epsilon=1))
    assert path.read_text() == "first"


def test_create_refuses_the_journal_of_an_earlier_ledger(path: Path) -> None:
    journal = Path(f"{path}-journal")
    journal.write_bytes(b"old pages that SQLite would play back into the new file")
    with pytest.raises(LedgerError, match="journal"):
        Ledger.create(path, Budget(epsilon=1))
    assert not path.exists()


def test_create_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="folder"):
        Ledger.create(tmp_path / "no" / "folder", Budget(epsilon=1))
    with pytest.raises(LedgerError, match="null character"):
        Ledger.create("nul\0byte", Budget(epsilon=1))
    with pytest.raises(LedgerError, match="a text or a path"):
        Ledger.open(7)  # type: ignore[arg-type]


def test_names_that_mean_something_in_a_uri_are_only_names(tmp_path: Path) -> None:
    for name in ("a b?mode=memory#x%41.ledger", ":memory:", "é.ledger"):
        Ledger.create(tmp_path / name, Budget(epsilon=1)).reserve(PureDP(0.5), {})
        assert (tmp_path / name).is_file()
        assert len(Ledger.open(tmp_path / name).entries()) == 1


def test_a_ledger_stays_where_it_is_when_the_working_directory_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.create("here.ledger", Budget(epsilon=1))
    monkeypatch.chdir("/")
    assert ledger.remaining() == 1
    assert ledger.path == tmp_path / "here.ledger"


def test_files_that_are_not_ledgers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, and long enough to have a header" * 100)
    (tmp_path / "empty").touch()
    with closing(sqlite3.connect(tmp_path / "other")) as connection:
        connection.execute("CREATE TABLE events (seq)")
    for name, match in (("text", "undamaged"), ("empty", "another kind"), ("other", "another kind")):
        with pytest.raises(LedgerError, match=match):
            Ledger.open(tmp_path / name)
    with pytest.raises(LedgerError, match="existing ledger"):
        Ledger.open(tmp_path)


def test_another_version_is_refused(ledger: Ledger, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 3")
    with pytest.raises(LedgerError, match="newer version"):
        Ledger.open(path)


def test_a_locked_ledger_is_refused_after_a_while(ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="kept it locked"):
            ledger.reserve(PureDP(0.1), {})
    assert ledger.spent() == 0


def test_a_ledger_that_cannot_be_written_is_refused(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = ledger.reserve(PureDP(0.1), {})
    connect = sqlite3.connect

    def read_only(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.execute("PRAGMA query_only = ON")
        return connection

    monkeypatch.setattr(sqlite3, "connect", read_only)
    for use in (lambda: ledger.reserve(PureDP(0.1), {"b": 1}), lambda: ledger.settle(entry, {})):
        with pytest.raises(LedgerError, match="must be writable"):
            use()
    assert ledger.entries() == (entry,)


def test_a_ledger_switched_to_wal_mode_is_switched_back(ledger: Ledger, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    ledger.reserve(PureDP(0.1), {})
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert not Path(f"{path}-wal").exists()


def test_every_connection_waits_for_the_disk(ledger: Ledger) -> None:
    with sqlite.SqliteStore(ledger.path).noting() as events:
        assert events._connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert events._connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_no_sentence_of_sqlite_reaches_the_caller(ledger: Ledger, path: Path) -> None:
    """SQLite quotes the cell it cannot decode; the ledger must not."""
    ledger.settle(ledger.reserve(PureDP(0.1), {}), {"value": "canary-4217"})
    path.write_bytes(path.read_bytes().replace(b"canary-4217", b"canary-\xff217"))
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.OperationalError, match="canary"):
        connection.execute("SELECT body FROM events").fetchall()
    with pytest.raises(LedgerError) as refusal:
        ledger.entries()
    assert "canary" not in str(refusal.value)
    assert refusal.value.__suppress_context__
