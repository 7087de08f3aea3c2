"""A ledger that was edited, damaged, truncated or rolled back is noticed."""

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.guarantee import Budget, PureDP
from discreet.ledger import Ledger
from discreet.ledger.events import Event
from discreet.ledger.heads import Head, HeadFile
from discreet.ledger.sqlite import FORMAT, SCHEMAS


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    """Three reservations of which the first two are settled: events 1 to 6."""
    entries = [ledger.reserve(PureDP(0.2), {"label": i}) for i in range(3)]
    for entry in entries[:2]:
        ledger.settle(entry, {"value": entry.id})
    return ledger


def edit(path: Path, *statements: str, triggers: bool = False) -> None:
    """Change the file behind the ledger's back, with its triggers put back afterwards."""
    with closing(sqlite3.connect(path)) as connection, connection:
        if not triggers:
            for name in ("no_update", "no_delete", "only_append"):
                connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        if not triggers:
            for trigger in SCHEMAS[FORMAT][2:]:
                connection.execute(trigger)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = '{}' WHERE seq = 2",
        "DELETE FROM events WHERE seq = 6",
        "INSERT OR REPLACE INTO events SELECT 2, kind, entry, request, body, previous, hash FROM events WHERE seq = 2",
        "INSERT OR REPLACE INTO events SELECT 7, kind, entry, request, body, '', '' FROM events WHERE seq = 5",
        "INSERT INTO events SELECT 9, kind, 'new', 'new', body, 'p', 'h' FROM events WHERE seq = 2",
    ],
)
def test_the_triggers_stop_a_careless_hand(used: Ledger, path: Path, statement: str) -> None:
    head = used.head()
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        edit(path, statement, triggers=True)
    used.verify(head)


@pytest.mark.parametrize(
    ("statement", "seq"),
    [
        ("""UPDATE events SET body = replace(body, '"spend":"0.2"', '"spend":"0.1"') WHERE seq = 3""", 3),
        ("UPDATE events SET body = replace(body, 'label', 'babel') WHERE seq = 2", 2),
        ("UPDATE events SET entry = 'ffffffffffffffff' WHERE seq = 5", 5),
        ("UPDATE events SET previous = 'ab' WHERE seq = 4", 4),
        ("DELETE FROM events WHERE seq = 5", 5),
        ("DELETE FROM events WHERE seq = 1", 1),
        ("DELETE FROM events", 1),
    ],
)
def test_an_edited_row_is_named(used: Ledger, path: Path, statement: str, seq: int) -> None:
    edit(path, statement)
    with pytest.raises(LedgerError, match=f"event {seq} must|replaced or restored|undamaged"):
        used.verify()
    with pytest.raises(LedgerError, match=f"event {seq} must|undamaged|create event"):
        Ledger.open(path).verify()


def test_altered_triggers_are_noticed(used: Ledger, path: Path) -> None:
    edit(path, "DROP TRIGGER no_update", triggers=True)
    with pytest.raises(LedgerError, match="exactly the tables and triggers"):
        used.reserve(PureDP(0.1), {"label": "next"})


def rebuild(path: Path, change: Callable[[int, dict[str, object]], None]) -> None:
    """A forger who knows the format: rewrite bodies and recompute every hash, and that of the head file."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT seq, kind, entry, body FROM events ORDER BY seq").fetchall()
    last, statements = None, []
    for seq, kind, entry, body in rows:
        content = json.loads(body)
        change(seq, content)
        last = Event.after(last, kind, entry, json.dumps(content, sort_keys=True, separators=(",", ":")))
        quoted = last.body.replace("'", "''")
        statements.append(
            f"UPDATE events SET body = '{quoted}', previous = '{last.previous}', hash = '{last.hash}' WHERE seq = {seq}"
        )
    edit(path, *statements)
    assert last is not None
    HeadFile(path).write(Head(last.seq, last.hash))


def test_a_rebuilt_chain_must_still_add_up(used: Ledger, path: Path) -> None:
    def cheaper(seq: int, content: dict[str, object]) -> None:
        if seq == 3:
            content["spend"] = "0.9"

    rebuild(path, cheaper)
    with pytest.raises(LedgerError, match="event 3 must have the sum of all spends"):
        Ledger.open(path).verify()


@pytest.mark.parametrize("amount", ["NaN", "-1", "1e5", "", "1.", "٣", 3, None, "9" * 500])
def test_a_rebuilt_chain_must_have_readable_amounts(used: Ledger, path: Path, amount: object) -> None:
    def odd(seq: int, content: dict[str, object]) -> None:
        if seq == 4:
            content["spent_after"] = amount

    rebuild(path, odd)
    for use in (used.verify, used.spent, lambda: used.reserve(PureDP(0.1), {}), lambda: Ledger.open(path)):
        with pytest.raises(LedgerError, match=r"Ledger must be the file that was opened|event 4 must have the sum"):
            use()


def test_a_rebuilt_chain_that_adds_up_is_given_away_by_a_noted_head(used: Ledger, path: Path) -> None:
    head = used.head()

    def renamed(seq: int, content: dict[str, object]) -> None:
        if seq == 6:
            content["release"] = {"value": "forged"}

    rebuild(path, renamed)
    forged = Ledger.open(path)
    forged.verify()  # without the noted head nothing can be seen
    with pytest.raises(LedgerError, match="events 1 to 6 do not"):
        forged.verify(head)


def test_a_rolled_back_copy_is_given_away_by_a_noted_head(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    ledger.reserve(PureDP(0.5), {"label": 0})
    early = ledger.head()
    shutil.copy(path, tmp_path / "backup")
    ledger.reserve(PureDP(0.5), {"label": 1})
    late = ledger.head()
    ledger.verify(early)
    ledger.verify(late)
    (tmp_path / "backup").replace(path)
    with pytest.raises(LedgerError, match="replaced or restored"):
        ledger.spent()  # this process remembers what it saw
    with pytest.raises(LedgerError, match="restored from an older copy"):
        Ledger.open(path)  # and the file beside it remembers for all others
    HeadFile(path).path.unlink()
    restored = Ledger.accept_head(path)
    restored.verify()  # the planted twin: without the head the older copy looks sound
    restored.verify(early)
    with pytest.raises(LedgerError, match="events 1 to 2 do not"):
        restored.verify(late)


def test_a_fresh_ledger_of_the_same_budget_is_another_ledger(ledger: Ledger, path: Path) -> None:
    head = ledger.head()
    path.unlink()
    with pytest.raises(LedgerError, match="never overwritten"):
        Ledger.create(path, Budget(epsilon=1))  # whoever deletes a spent ledger has still its head in the way
    HeadFile(path).path.unlink()
    with pytest.raises(LedgerError, match="events 1 to 1 do not"):
        Ledger.create(path, Budget(epsilon=1)).verify(head)


def test_a_file_swapped_under_an_open_ledger_is_refused(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    """Nobody gets a second budget by putting a fresh file, of the same budget, in the place of a spent one."""
    ledger.reserve(PureDP(1.0), {})
    Ledger.create(tmp_path / "fresh", Budget(epsilon=1))
    (tmp_path / "fresh").replace(path)
    with pytest.raises(LedgerError, match="replaced or restored"):
        ledger.reserve(PureDP(1.0), {"label": "again"})


@pytest.mark.parametrize("head", ["", "ab", "G" * 64, 5])
def test_a_noted_head_must_be_a_hash(ledger: Ledger, head: str) -> None:
    with pytest.raises(LedgerError, match="64 hexadecimal digits"):
        ledger.verify(head)


def test_flipped_bytes_are_noticed_or_harmless(used: Ledger, path: Path) -> None:
    """No flip changes what is read or what may be spent: it is refused, or it hit a byte that holds nothing."""
    sound, head, expected = path.read_bytes(), used.head(), used.entries()
    rng = random.Random(20)
    noticed = 0
    # all of the header and the schema's head, then a sample of the rest
    for offset in [*range(0, 110, 3), *rng.sample(range(110, len(sound)), 360)]:
        damaged = bytearray(sound)
        damaged[offset] ^= rng.randrange(1, 256)
        path.write_bytes(damaged)
        try:
            ledger = Ledger.open(path)
            ledger.verify(head)
            assert ledger.entries() == expected
        except LedgerError:
            noticed += 1
    assert noticed > 20


def test_without_the_checks_flipped_bytes_change_what_is_read(used: Ledger, path: Path) -> None:
    """The planted twin: the same flip, read straight from the table, gives budget back."""
    sound = path.read_bytes()
    assert b'"spent_after":"0.6"' in sound
    path.write_bytes(sound.replace(b'"spent_after":"0.6"', b'"spent_after":"0.1"'))
    with closing(sqlite3.connect(path)) as connection:
        (body,) = connection.execute("SELECT body FROM events WHERE seq = 4").fetchone()
    assert json.loads(body)["spent_after"] == "0.1"
    for use in (used.spent, used.verify, lambda: used.reserve(PureDP(0.5), {"label": 9})):
        with pytest.raises(LedgerError, match="event 4 must have the hash"):
            use()


def test_a_truncated_file_is_refused(used: Ledger, path: Path) -> None:
    sound = path.read_bytes()
    for size in [0, 1, 50, 100, 1000, 4096, len(sound) // 2, len(sound) - 4096, len(sound) - 1]:
        path.write_bytes(sound[:size])
        with pytest.raises(LedgerError):
            Ledger.open(path).verify()
