"""The head file: written before anything leaves, never backwards, caught up after a crash, missed when it is missing."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_ledger_tampering import rebuild

import discreet as dc
from discreet.errors import LedgerError
from discreet.guarantee import Budget, PureDP
from discreet.ledger import Ledger
from discreet.ledger.heads import HeadFile


def noted(path: Path) -> tuple[int, str]:
    head = HeadFile(path).read()
    assert head is not None
    return head.seq, head.hash


def test_the_head_is_noted_before_rows_are_read_and_before_an_answer_leaves(path: Path) -> None:
    ledger = Ledger.create(path, Budget(epsilon=1))
    assert noted(path) == (1, ledger.head())
    data = dc.open(pd.DataFrame({"x": [0, 1]}), dc.Schema({"x": dc.Binary()}), id="d")
    seen = []

    class Watched:
        def statistics(self, query: Any) -> Any:
            seen.append(noted(path))
            return data.source.statistics(query)

    watched = dc.Dataset(data.id, data.schema, Watched())  # type: ignore[arg-type]
    dc.release(dc.BetaBernoulli("x"), watched, dc.NoisyStatistics(epsilon=0.5), ledger)
    assert [seq for seq, _ in seen] == [2]
    assert noted(path) == (3, ledger.head())


@pytest.mark.parametrize("verb", ["reserve", "settle"])
def test_a_crash_before_the_head_is_noted_gives_nothing_away_and_is_caught_up(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    if verb == "settle":
        entry = ledger.reserve(PureDP(0.5), {})
    before = noted(path)
    with monkeypatch.context() as patch:
        patch.setattr(HeadFile, "make", lambda *_: (_ for _ in ()).throw(OSError("killed here")))
        with pytest.raises(LedgerError, match="head file must be writable"):
            ledger.settle(entry, {"value": 1}) if verb == "settle" else ledger.reserve(PureDP(0.5), {})
    assert noted(path) == before  # behind the chain, which has the event
    again = Ledger.open(path)
    assert noted(path) == (before[0] + 1, again.head())
    resumed = again.reserve(PureDP(0.5), {})
    assert again.settle(resumed, {"value": 2}) == {"value": 1 if verb == "settle" else 2}
    assert again.spent() == ledger.spent() == resumed.spend
    again.verify()


def test_a_stored_answer_waits_for_a_head_that_lags(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer was killed between its commit and its head: nobody else gives its answer away before it is noted."""
    entry = ledger.reserve(PureDP(0.5), {})
    with monkeypatch.context() as patch:
        patch.setattr(HeadFile, "make", lambda *_: (_ for _ in ()).throw(OSError("killed here")))
        with pytest.raises(LedgerError):
            ledger.settle(entry, {"value": 1})
        for use in (lambda: ledger.reserve(PureDP(0.5), {}), lambda: Ledger.open(path), ledger.entries):
            with pytest.raises(LedgerError, match="head file must be writable"):
                use()
    assert ledger.reserve(PureDP(0.5), {}).release == {"value": 1}
    assert noted(path)[0] == 3


def test_whoever_may_only_read_sees_a_lagging_ledger(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.with_suffix(".kept")
    before.write_bytes(HeadFile(path).path.read_bytes())
    ledger.reserve(PureDP(0.5), {})
    before.replace(HeadFile(path).path)
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert len(Ledger.open(path).entries()) == 1
    assert noted(path)[0] == 1


def test_a_missing_head_is_an_alarm_until_it_is_accepted(ledger: Ledger, path: Path) -> None:
    ledger.reserve(PureDP(0.5), {"i": 1})
    head = ledger.head()
    HeadFile(path).path.unlink()
    uses = (lambda: Ledger.open(path), ledger.spent, ledger.entries, lambda: ledger.reserve(PureDP(0.1), {"i": 2}))
    for use in uses:
        with pytest.raises(LedgerError, match="must have its head file"):
            use()
    with pytest.raises(LedgerError, match="do not"):
        Ledger.accept_head(path, "0" * 64)  # another chain than the one whose head was written down
    assert not HeadFile(path).path.exists()
    accepted = Ledger.accept_head(path, head)
    ((event, _),) = accepted.accepted()
    assert event == 2
    accepted.reserve(PureDP(0.1), {"i": 2})
    assert len(Ledger.open(path).accepted()) == 1  # for good
    assert Ledger.accept_head(path).accepted() == accepted.accepted()  # nothing is missing any more


def test_a_head_that_is_ahead_cannot_be_accepted(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    older = path.read_bytes()
    ledger.reserve(PureDP(0.5), {})
    path.write_bytes(older)
    for use in (lambda: Ledger.open(path), lambda: Ledger.accept_head(path)):
        with pytest.raises(LedgerError, match="lost its last events"):
            use()


def test_a_ledger_from_before_there_were_heads_gets_one_at_its_first_opening(ledger: Ledger, path: Path) -> None:
    ledger.reserve(PureDP(0.5), {"i": 1})

    def older(_seq: int, content: dict[str, object]) -> None:
        content.pop("accounting", None)

    rebuild(path, older)
    HeadFile(path).path.unlink()
    opened = Ledger.open(path)
    assert noted(path) == (2, opened.head())
    assert opened.entries()[0].accounting == 0
    opened.verify()
    opened.reserve(PureDP(0.1), {"i": 2})
    HeadFile(path).path.unlink()
    with pytest.raises(LedgerError, match="must have its head file"):  # from now on it is known to have one
        Ledger.open(path)


@pytest.mark.parametrize("what", ["empty", "text", "list", "number", "fifo", "folder", "long", "deep", "infinite"])
def test_a_head_that_is_none_is_refused(ledger: Ledger, path: Path, what: str) -> None:
    file = HeadFile(path).path
    sound = file.read_text()
    file.unlink()
    texts = {"empty": "", "text": "{", "list": "[]", "number": sound.replace('"seq": 1', '"seq": "1"')}
    texts |= {
        "long": sound + " " * (1 << 20),
        "deep": "[" * 100_000,
        "infinite": sound.replace("}", ', "accepted": [[1e999, ""]]}'),
    }
    if what == "fifo":
        os.mkfifo(file)
    elif what == "folder":
        file.mkdir()
    else:
        file.write_text(texts[what])
    for use in (lambda: Ledger.open(path), ledger.spent, lambda: ledger.reserve(PureDP(0.1), {})):
        with pytest.raises(LedgerError, match="must be a head that discreet wrote"):
            use()


def test_the_head_has_the_mode_of_its_ledger_and_leaves_nothing_else(ledger: Ledger, path: Path) -> None:
    path.chmod(0o640)
    Path(f"{path}.head-new").write_text("of a writer that was killed")
    ledger.reserve(PureDP(0.1), {})
    assert HeadFile(path).path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(path.parent)) == ["study.ledger", "study.ledger.head"]


def test_a_link_to_a_ledger_finds_its_head(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.ledger"
    link.symlink_to(path)
    Ledger.open(link).reserve(PureDP(0.1), {})
    assert noted(path) == (2, ledger.head())
    assert os.listdir(link.parent) == ["link.ledger"]


def test_create_takes_no_head_of_another_ledger(path: Path) -> None:
    HeadFile(path).path.write_text("the head of a ledger that is gone")
    with pytest.raises(LedgerError, match="never overwritten"):
        Ledger.create(path, Budget(epsilon=1))
    with suppress(FileNotFoundError):
        raise AssertionError(path.read_bytes())


def test_an_event_of_a_newer_accounting_is_refused(ledger: Ledger, path: Path) -> None:
    ledger.reserve(PureDP(0.5), {})

    def newer(_seq: int, content: dict[str, object]) -> None:
        content["accounting"] = 10**6

    rebuild(path, newer)
    with pytest.raises(LedgerError, match="in this version"):
        Ledger.open(path)
