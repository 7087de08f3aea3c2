"""Rows deleted, cut, changed or rebuilt, any of them: no ledger opens, and no request gets a second answer."""

import json
import random
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from decimal import Decimal
from pathlib import Path
from types import FrameType
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.errors import LedgerError
from discreet.guarantee import Budget, PureDP
from discreet.ledger import Ledger
from discreet.ledger.events import Event, entry_id, request_key
from discreet.ledger.sqlite import FORMAT, SCHEMAS
from discreet.ledger.verified import DIGEST, Index
from discreet.ledger.verified_store import VerifiedStore

REQUESTS, SETTLED = 5, 4
EVENTS = "SELECT seq, kind, entry, body, previous, hash FROM events"
FORGED = {"request": "forged"}
COLUMNS = ("kind", "entry", "request", "body", "previous", "hash")
Tamper = Callable[[sqlite3.Connection], None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reservations and settlements in turn, the last one open: events 1 to 10."""
    path = tmp_path_factory.mktemp("sound") / "study.ledger"
    ledger = Ledger.create(path, Budget(epsilon=10))
    for i in range(REQUESTS):
        entry = ledger.reserve(PureDP(1.0), {"request": i})
        if i < SETTLED:
            ledger.settle(entry, {"value": f"first {i}"})
    return path


@pytest.fixture
def path(sound: Path, tmp_path: Path) -> Path:
    """A copy of it, with its head."""
    for file in sound.parent.iterdir():
        shutil.copy(file, tmp_path)
    return tmp_path / sound.name


def tampered(path: Path, tamper: Tamper) -> None:
    """Behind the ledger's back, with its triggers put back afterwards."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for name in ("no_update", "no_delete", "only_append"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        tamper(connection)
        for trigger in SCHEMAS[FORMAT][2:]:
            connection.execute(trigger)


def deleting(*numbers: int) -> Tamper:
    def tamper(connection: sqlite3.Connection) -> None:
        connection.executemany("DELETE FROM events WHERE seq = ?", [(n,) for n in numbers])

    return tamper


def changing(seq: int, column: str, value: Any, *, rehash: bool) -> Tamper:
    def tamper(connection: sqlite3.Connection) -> None:
        connection.execute(f"UPDATE events SET {column} = ? WHERE seq = ?", (value, seq))
        if rehash:
            row = connection.execute("SELECT kind, entry, body, previous FROM events WHERE seq = ?", (seq,)).fetchone()
            kind, entry, body, previous = row
            made = Event.after(Event(seq - 1, "", "", "", "", previous), kind, entry, body)
            connection.execute("UPDATE events SET hash = ? WHERE seq = ?", (made.hash, seq))

    return tamper


def rebuilding(*without: int) -> Tamper:
    """A forger: the same events without some, each with a new number and a new hash."""

    def tamper(connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT seq, kind, entry, request, body FROM events ORDER BY seq").fetchall()
        connection.execute("DELETE FROM events")
        last = None
        for seq, kind, entry, request, body in rows:
            if seq not in without:
                last = Event.after(last, kind, entry, body)
                row = (last.seq, kind, entry, request, body, last.previous, last.hash)
                connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    return tamper


def cases() -> list[Tamper]:
    """Every suffix, every single row, and random subsets, changes and rebuilt chains."""
    rng, last = random.Random(11), 2 * REQUESTS
    found = [deleting(*range(first, last + 1)) for first in range(1, last + 1)]
    found += [deleting(seq) for seq in range(1, last)]
    found += [rebuilding(seq) for seq in range(2, last + 1)]
    for _ in range(25):
        found.append(deleting(*rng.sample(range(1, last + 1), rng.randint(2, last))))
        found.append(rebuilding(*rng.sample(range(2, last + 1), rng.randint(2, last - 1))))
    for _ in range(45):
        seq, column = rng.randint(1, last), rng.choice(COLUMNS)
        value = rng.choice(["settle", "reserve", "{}", "ab" * 32, f"x{seq}", '{"release":{"value":"forged"}}'])
        found.append(changing(seq, column, value, rehash=rng.random() < 0.5 and column != "hash"))
    return found


def rows(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM events ORDER BY seq").fetchall()


def check_nothing_is_answered(path: Path, tamper: Tamper) -> None:
    """Nobody opens the ledger; whoever had it open is refused or told what was true, and gets no second answer."""
    ledger = Ledger.open(path)
    spent, entries, before = ledger.spent(), ledger.entries(), rows(path)
    try:
        tampered(path, tamper)
    except sqlite3.IntegrityError:  # the table's own constraints were enough
        return
    if rows(path) == before:
        return
    with pytest.raises(LedgerError):
        Ledger.open(path)
    for verb, expected in ((ledger.spent, spent), (ledger.entries, entries)):
        with suppress(LedgerError):
            assert verb() == expected
    for i in range(SETTLED):
        with suppress(LedgerError):
            answer = ledger.settle(ledger.reserve(PureDP(1.0), {"request": i}), {"value": "second"})
            assert answer == {"value": f"first {i}"}
    with pytest.raises((LedgerError, dc.BudgetExceeded)):
        ledger.reserve(PureDP(6.0), {"request": "more than is left"})


def cut_or_broken(path: Path, tamper: Tamper) -> None:
    """The same from a process that opens the ledger afterwards: it must not get that far."""
    tampered(path, tamper)
    try:
        ledger = Ledger.open(path)
    except LedgerError:
        return
    answers = [ledger.settle(ledger.reserve(PureDP(1.0), {"request": i}), {"value": 2}) for i in range(SETTLED)]
    assert answers == [{"value": f"first {i}"} for i in range(SETTLED)]


@pytest.mark.parametrize("number", range(len(cases())))
def test_a_broken_chain_answers_nothing(path: Path, number: int) -> None:
    check_nothing_is_answered(path, cases()[number])


LAST_SETTLE, EARLIER_SETTLE = deleting(9, 10), deleting(5)


@pytest.mark.parametrize("tamper", [LAST_SETTLE, EARLIER_SETTLE])
def test_a_process_that_comes_later_is_refused(path: Path, tamper: Tamper) -> None:
    cut_or_broken(path, tamper)


def test_without_a_head_file_a_cut_tail_answers_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin: the chain alone, as it was checked before there were heads."""
    monkeypatch.setattr(VerifiedStore, "_lags", lambda *_: False)
    with pytest.raises(AssertionError):
        cut_or_broken(path, LAST_SETTLE)


def test_without_a_replay_a_deleted_row_answers_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin: rows taken as they are, as before the chain was replayed on opening."""

    def trusting(self: Index, _seq: int, _last: str, row: Any) -> str:
        seq, kind, entry, request, _, _, stored = row
        self._hashes += bytes(DIGEST * (seq - 1) - len(self._hashes)) + bytes.fromhex(stored)
        if kind == "reserve":
            self.requests[request] = self.reserves[entry] = self.last_reserve = seq
        if kind == "settle":
            self.settles[entry] = seq
        return str(stored)

    monkeypatch.setattr(Index, "_add", trusting)
    with pytest.raises(AssertionError):
        cut_or_broken(path, EARLIER_SETTLE)


@pytest.mark.parametrize("which", ["last", "earlier"])
def test_a_deleted_settlement_gives_no_second_answer(tmp_path: Path, which: str) -> None:
    """Through `dc.release`, as it was found: one charge gave as many answers as there were deletions."""
    data = dc.open(pd.DataFrame({"smoker": [0, 1] * 50}), dc.Schema({"smoker": dc.Binary()}), id="patients")
    path = tmp_path / "study.ledger"
    model, mechanism = dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=0.001)
    answers = [dc.release(model, data, mechanism, Ledger.create(path, Budget(epsilon=1))).value["ones"].tolist()]
    if which == "earlier":
        dc.release(model, data, dc.NoisyStatistics(epsilon=0.1, label="another"), Ledger.open(path))
    for _ in range(3):
        tampered(path, deleting(3))
        with pytest.raises(LedgerError, match="must"):
            answers.append(dc.release(model, data, mechanism, Ledger.open(path)).value["ones"].tolist())
    assert len(answers) == 1


def continuing(spend: str, after: str, epsilon: float, **said: Any) -> Tamper:
    """A forger who goes on: one more reservation with a right hash, which the head file is merely behind."""

    def tamper(connection: sqlite3.Connection) -> None:
        last = Event(*connection.execute(f"{EVENTS} ORDER BY seq DESC LIMIT 1").fetchone())
        content = {"guarantee": PureDP(epsilon).to_json(), "recipe": FORGED, "spend": spend, "spent_after": after}
        request = request_key(FORGED)
        body = json.dumps({**said, **content, "request": request}, sort_keys=True, separators=(",", ":"))
        made = Event.after(last, "reserve", entry_id(request, last.seq + 1), body.replace("accounting2", "accounting"))
        row = (made.seq, made.kind, made.entry, request, made.body, made.previous, made.hash)
        connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    return tamper


CONTINUED = {  # five were spent of ten
    "a total that goes back": continuing("1", "0", 1.0, accounting=1),
    "a total that forgets": continuing("1", "5.999999999999999999", 1.0, accounting=1),
    "an amount that is none": continuing("-1", "4", 1.0, accounting=1),
    "less than its price": continuing("0.000000000001", "5.000000000001", 6.0, accounting=1),
    "a smaller guarantee": continuing("0.5", "5.5", 0.5, accounting=1),
    "an older accounting": continuing("0.000000000001", "5.000000000001", 6.0, accounting=0),
    "no accounting": continuing("0.000000000001", "5.000000000001", 6.0),
    "two accountings": continuing("0.000000000001", "5.000000000001", 6.0, accounting=1, accounting2=0),
}


def check_nothing_is_won(path: Path, tamper: Tamper) -> None:
    """What is not paid for is not resumed, and no more is left than before."""
    tampered(path, tamper)
    with pytest.raises(dc.DiscreetError):
        Ledger.open(path).reserve(PureDP(6.0), FORGED)
    with pytest.raises(dc.DiscreetError):
        Ledger.open(path).reserve(PureDP(5.5), {"request": "more than is left"})


@pytest.mark.parametrize("what", CONTINUED)
def test_a_forged_continuation_wins_nothing(path: Path, what: str) -> None:
    check_nothing_is_won(path, CONTINUED[what])


@pytest.mark.parametrize("what", ["a total that goes back", "less than its price", "an older accounting"])
def test_with_hashes_alone_a_forged_continuation_wins(path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Index, "_paid", lambda _, __, body: body.rpartition('"request":"')[2][:64])
    monkeypatch.setattr(Index, "_priced", lambda *_: None)
    monkeypatch.setattr("discreet.ledger.filters.LEAST", Decimal(0))
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_nothing_is_won(path, CONTINUED[what])


@pytest.mark.parametrize("at", range(1, 120, 3))
def test_an_interrupt_while_events_are_verified_locks_nobody_out(path: Path, at: int) -> None:
    """Whoever had the ledger open goes on with it."""
    ledger, index, calls = Ledger.open(path), Index(), 0
    ledger._store._index = index

    def interrupted(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += frame.f_code.co_name in ("_add", "_paid", "_priced")
        if calls == at and event != "return":
            sys.setprofile(None)
            raise KeyboardInterrupt

    with ledger._store._store.read() as events, suppress(KeyboardInterrupt):
        sys.setprofile(interrupted)
        try:
            index.extend(events.rows_after)
        finally:
            sys.setprofile(None)
    assert ledger.spent() == REQUESTS
