"""A ledger moves: the same events, one place that pays, and never two, wherever the copy is killed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main
from discreet.errors import LedgerError
from discreet.guarantee import Budget, GaussianDP, PureDP
from discreet.ledger import Ledger
from discreet.ledger.copying import confirm
from discreet.ledger.places import store_at
from discreet.ledger.sqlite import SqliteStore

TENTH = PureDP(0.1)


@pytest.fixture
def paid(path: Path) -> Ledger:
    """One settled and one reserved entry of a portfolio."""
    ledger = Ledger.create(path, Budget(epsilon=3, delta=1e-6))
    ledger.settle(ledger.reserve(GaussianDP(0.1), {"dataset": "d", "label": "a"}), {"value": 1})
    ledger.reserve(TENTH, {"dataset": "d", "label": "b"})
    return ledger


def is_closed(ledger: Ledger) -> bool:
    """Whether it refuses new requests and those that were not answered, and names another place."""
    return all("was copied to" in told(ledger, recipe) for recipe in ({"new": True}, {"dataset": "d", "label": "b"}))


def told(ledger: Ledger, recipe: dict[str, Any]) -> str:
    """Why a request is refused; nothing, if it is not."""
    try:
        ledger.reserve(TENTH, recipe)
    except LedgerError as refusal:
        return str(refusal)
    return ""


def test_there_and_back_again(paid: Ledger, path: Path, tmp_path: Path, address: str) -> None:
    head, entries = paid.head(), paid.entries()
    there = paid.copy_to(address)
    back = there.copy_to(tmp_path / "back.ledger")
    again = back.copy_to(f"{address}-again")  # the dataset went with it
    for copy in (there, back, again):
        assert copy.entries() == entries
        assert copy.verify(head) == ()
        assert copy.spent() == paid.spent()
    assert again.head() == head
    for source, place in ((paid, address), (there, str(back.path)), (back, again.path)):
        assert is_closed(source)
        assert is_closed(Ledger.open(source.path))
        assert source.moved_to == place
        assert str(place) in str(source)
    assert again.settle(again.reserve(TENTH, {"dataset": "d", "label": "b"}), {"value": 2}) == {"value": 2}
    assert again.verify(head) == ()


def test_what_has_left_is_still_answered_where_it_was_paid(paid: Ledger, tmp_path: Path) -> None:
    reserved = paid.entries()[1]
    paid.copy_to(tmp_path / "new.ledger")
    assert paid.reserve(GaussianDP(0.1), {"dataset": "d", "label": "a"}).release == {"value": 1}
    with pytest.raises(LedgerError, match=r"was copied to .*new\.ledger"):
        paid.settle(reserved, {"value": 2})


class KilledError(Exception):
    pass


@pytest.mark.parametrize("where", ["before the copy is made", "before it is confirmed"])
@pytest.mark.parametrize("kind", ["file", "database"])
def test_a_copy_that_is_killed_leaves_one_ledger_and_goes_on(
    paid: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, where: str, kind: str
) -> None:
    target = tmp_path / "new.ledger" if kind == "file" else request.getfixturevalue("address")

    def killed(*_: Any) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(
            *((type(store_at(target)), "create") if "made" in where else ("discreet.ledger.ledger.confirm",)), killed
        )
        with pytest.raises(KilledError):
            paid.copy_to(target)
    assert is_closed(paid)
    assert store_at(target).is_there() == ("made" not in where)
    with pytest.raises(LedgerError, match="was copied to"):
        paid.copy_to(tmp_path / "another.ledger")
    head = Ledger.open(paid.path).copy_to(target).head()
    assert Ledger.open(target).verify(head) == ()
    assert is_closed(paid)


def test_a_copy_that_is_made_first_leaves_two_that_pay(paid: Ledger, tmp_path: Path) -> None:
    """The planted twin: the target is made, and then the process is killed, before it closes the source."""
    target = SqliteStore(tmp_path / "new.ledger")
    with paid._store.read() as events:
        target.create(events.rows(10**9))
    for ledger in (paid, Ledger.open(target.path)):
        assert ledger.reserve(TENTH, {"new": True}).is_new


def test_a_copy_that_was_confirmed_is_not_made_again(paid: Ledger, tmp_path: Path) -> None:
    target = tmp_path / "new.ledger"
    paid.copy_to(target).reserve(TENTH, {"new": True})
    for name in (target, f"{target}.head"):
        Path(name).unlink()
    with pytest.raises(LedgerError, match="must be made once"):
        paid.copy_to(target)
    assert not target.exists()


def test_what_cannot_be_made_does_not_close_the_source(paid: Ledger, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    for bad in (tmp_path / "taken", tmp_path / "no" / "folder", paid.path):
        with pytest.raises(LedgerError, match="must be"):
            paid.copy_to(bad)
    assert paid.moved_to is None
    assert paid.reserve(TENTH, {"new": True}).is_new


def test_versions_that_do_not_know_of_copies_cannot_go_on(paid: Ledger, path: Path, tmp_path: Path) -> None:
    """They know a ledger file by its format and refuse one above theirs."""
    import sqlite3

    def version() -> int:
        connection = sqlite3.connect(path)
        try:
            return connection.execute("PRAGMA user_version").fetchone()[0]
        finally:
            connection.close()

    assert version() == 2
    paid.copy_to(tmp_path / "new.ledger")
    assert version() > 2


def test_nothing_follows_a_move_but_its_confirmation(paid: Ledger, tmp_path: Path) -> None:
    target = tmp_path / "new.ledger"
    paid.copy_to(target)
    confirm(paid._store, store_at(target))  # a second time says nothing new
    assert len(list(rows(paid))) == 6
    with SqliteStore(paid.path).noting() as events:
        settled = {"release": {"value": 3}}
        events.append("settle", paid.entries()[1].id, settled, events.last())
    with pytest.raises(LedgerError, match="must not follow the move"):
        Ledger.open(paid.path)


def rows(ledger: Ledger) -> Iterable[Any]:
    with SqliteStore(ledger.path).read() as events:
        yield from events


def test_commands_copy_and_tell(paid: Ledger, path: Path, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    head = paid.head()
    assert main(["ledger", "head", str(path)]) == 0
    assert capsys.readouterr().out == f"{head}\n"
    assert main(["ledger", "copy", str(path), address]) == 0
    assert "copied to" in capsys.readouterr().out
    assert main(["ledger", "verify", address, "--head", head]) == 0
    assert main(["ledger", "show", str(path)]) == 0
    assert "closed" in capsys.readouterr().out
    assert main(["ledger", "copy", str(path), address]) == 5
    assert "was copied to" in capsys.readouterr().err
