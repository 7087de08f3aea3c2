"""Whoever may write events, a role of a database say, continues the chain with a reservation of their own: it wins nothing.

Every forged event has a right hash and a right running total, so only what it claims to have paid is false: less than
its price by an older accounting, more than the budget, a first purchase that takes all of it, or a record of a portfolio
in which members have used nothing yet.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from test_postgres_ledger import run

from discreet.errors import DiscreetError, LedgerError
from discreet.guarantee import Budget, Guarantee, PureDP
from discreet.ledger import Ledger
from discreet.ledger.agreement import Terms
from discreet.ledger.events import Charge, Event, canonical, entry_id, request_key, reserve_content
from discreet.ledger.portfolio import opened
from discreet.ledger.sqlite import SqliteStore
from discreet.ledger.used_members import read_state
from postgres_server import Server

OLDER = Path(__file__).parent.parent / "golden" / "accounting_1" / "tightened.ledger"
WANTED = {"request": "wanted"}
Forged = tuple[Ledger, Guarantee, dict[str, object]]


def reservation(
    ledger: Ledger, guarantee: Guarantee, charge: Charge, accounting: int | None = None
) -> dict[str, object]:
    content = reserve_content(guarantee, WANTED, charge)
    return content if accounting is None else {**content, "accounting": accounting}


def append(path: Path, content: dict[str, object]) -> None:
    """Behind the ledger's back; the head file is merely behind."""
    with SqliteStore(path).noting() as events:
        last = events.last()
        events.append("reserve", entry_id(str(content["request"]), last.seq + 1), content, last)


def last_charge(ledger: Ledger) -> Charge:
    return ledger.entries()[-1].charge


def by_an_older_accounting(folder: Path) -> Forged:
    """Nothing of today's accounting stands in the chain yet, so that an older one is no step back."""
    for file in (OLDER, Path(f"{OLDER}.head")):
        shutil.copy(file, folder)
    ledger = Ledger.open(folder / OLDER.name)
    last, least = last_charge(ledger), Decimal("0.000000000001")
    charge = Charge(least, last.spent_after + least)
    small = PureDP(1e-9, ledger.entries()[0].guarantee.basis)
    return ledger, PureDP(1e6, small.basis), reservation(ledger, small, charge, accounting=1)


def beyond_the_limit(folder: Path) -> Forged:
    ledger = Ledger.create(folder / "pure.ledger", Budget(epsilon=1))
    ledger.reserve(PureDP(0.1), {})
    return ledger, PureDP(50.0), reservation(ledger, PureDP(50.0), Charge(Decimal(50), Decimal("50.1")))


def as_a_first_purchase_that_closes(folder: Path) -> Forged:
    """Its price is the whole budget, whatever was bought: that it fits is no matter of prices."""
    ledger, wanted = Ledger.create(folder / "closed.ledger", Budget(1, 1e-6)), PureDP(500.0)
    state = opened((wanted,), ledger.budget)
    dead = replace(state, basic=None, gaussian=None, renyi=(None,) * len(state.renyi), closed=True)
    return ledger, wanted, reservation(ledger, wanted, Charge(Decimal(1), Decimal(1), dead.to_json()))


CASES = [by_an_older_accounting, beyond_the_limit, as_a_first_purchase_that_closes]


def check_nothing_is_resumed(forged: Forged) -> None:
    ledger, wanted, content = forged
    append(Path(ledger.path), content)
    for held in (ledger, Ledger.open(ledger.path)):
        with pytest.raises(LedgerError, match=r"must have spent (its|their) price"):
            held.reserve(wanted, WANTED)


@pytest.mark.parametrize("case", CASES)
def test_what_was_not_paid_is_not_resumed(case: Callable[[Path], Forged], tmp_path: Path) -> None:
    check_nothing_is_resumed(case(tmp_path))


@pytest.mark.parametrize("case", CASES)
def test_without_the_price_a_forged_reservation_wins(
    case: Callable[[Path], Forged], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted twin: a reservation in the chain is taken for paid."""
    monkeypatch.setattr(Terms, "_is_fair", lambda *_: True)
    monkeypatch.setattr(Terms, "_check_whole", lambda *_: None)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_nothing_is_resumed(case(tmp_path))


def paid(folder: Path) -> Ledger:
    ledger = Ledger.create(folder / "portfolio.ledger", Budget(1, 1e-6))
    ledger.reserve_all([(PureDP(0.04), {"i": 0}), (PureDP(0.04), {"i": 1})])
    ledger.reserve(PureDP(0.04), {"i": 2})
    return ledger


def given_back(ledger: Ledger, change: dict[str, object]) -> dict[str, object]:
    """A reservation of nothing, with another record of what members have used."""
    last = ledger.entries()[-1]
    members = {**(last.members or {}), **change}
    return reservation(ledger, last.guarantee, Charge(Decimal(0), last.spent_after, members))


RECORDS: dict[str, Callable[[Ledger], dict[str, object]]] = {
    "nothing used": lambda ledger: {"basic": "0", "gaussian": "0", "renyi": ["0"] * 5},
    "one member used less": lambda ledger: {"basic": "0.119"},
    "slack": lambda ledger: {"slack": "0", "basic": "0"},
    "prices": lambda ledger: {"prices": 0},
    "weights": lambda ledger: {
        "weights": read_state({**(last_charge(ledger).members or {}), "weights": other_weights(ledger)}).to_json()[
            "weights"
        ]
    },
    "another first purchase": lambda ledger: {"first": 3},
    "closed": lambda ledger: {"closed": True},
}


def other_weights(ledger: Ledger) -> dict[str, object]:
    (gaussian, renyi) = (last_charge(ledger).members or {})["weights"].values()
    moved = str(Decimal(gaussian) + Decimal("0.001")), str(Decimal(renyi[0][1]) - Decimal("0.001"))
    return {"gaussian": moved[0], "renyi": [[renyi[0][0], moved[1]], *renyi[1:]]}


def check_nothing_is_given_back(ledger: Ledger, content: dict[str, object]) -> None:
    append(Path(ledger.path), content)
    for held in (ledger, Ledger.open(ledger.path)):
        with pytest.raises(DiscreetError, match="use no less than those before it"):
            held.reserve(PureDP(0.95), {"request": "again"})
        assert held.reserve_all([]) == ()


@pytest.mark.parametrize("what", RECORDS)
def test_no_record_gives_budget_back(what: str, tmp_path: Path) -> None:
    ledger = paid(tmp_path)
    check_nothing_is_given_back(ledger, given_back(ledger, RECORDS[what](ledger)))


def test_a_record_behind_an_honest_one_is_seen_too(tmp_path: Path) -> None:
    """The last record may be right given a false one before it."""
    ledger = paid(tmp_path)
    append(Path(ledger.path), given_back(ledger, {"basic": "0", "gaussian": "0", "renyi": ["0"] * 5}))
    false = last_charge(Ledger.open(ledger.path))
    (charge,) = ledger.filter.charges(false, [PureDP(0.95)], ledger.budget, ledger.limit)
    after = reserve_content(PureDP(0.95), {"request": "more"}, charge)
    check_nothing_is_given_back(ledger, after)


def test_with_the_last_record_alone_a_budget_is_spent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin: 0.12 and 0.95 from a budget of 1."""
    monkeypatch.setattr(Terms, "_check_states", lambda *_: None)
    ledger = paid(tmp_path)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        check_nothing_is_given_back(ledger, given_back(ledger, RECORDS["nothing used"](ledger)))


def test_what_honest_purchases_record_goes_on(tmp_path: Path) -> None:
    """Members die, a purchase closes: none of it is taken for a forgery, by whoever had the ledger open or comes later."""
    ledger = paid(tmp_path)
    for k in range(3):
        ledger.reserve(PureDP(0.02), {"more": k})
    assert Ledger.open(ledger.path).reserve(PureDP(0.04), {"i": 2}).status == "reserved"
    closed = Ledger.create(tmp_path / "closed.ledger", Budget(1, 1e-6))
    whole = [(PureDP(0.02), {"i": k}) for k in range(140)]
    closed.reserve_all(whole)
    assert closed.entries()[-1].charge.closes
    assert len(Ledger.open(closed.path).reserve_all(whole)) == 140


def test_a_role_that_may_append_gives_no_budget_back(address: str, durable: Server) -> None:
    """The database checks totals; what members have used is checked by whoever pays."""
    owner = Ledger.create(address, Budget(1, 1e-6))
    durable.run("DROP ROLE IF EXISTS forger", "CREATE ROLE forger LOGIN")
    owner.grant("forger")
    owner.reserve(PureDP(0.9), {})
    ((seq, body, end),) = run(address, "SELECT seq, body, hash FROM discreet.events ORDER BY seq DESC LIMIT 1")
    last = json.loads(body)
    members = {**last["members"], "basic": "0", "gaussian": "0", "renyi": ["0"] * 5}
    content = {**last, "members": members, "spend": "0", "request": request_key(WANTED), "recipe": WANTED}
    made = Event.after(Event(seq, "", "", "", "", end), "reserve", "x", canonical("", content))
    theirs = address.replace("postgres@", "forger@")
    values = (made.seq, content["request"], made.body, made.previous, made.hash)
    run(
        theirs,
        "INSERT INTO discreet.events VALUES ('patients', {}, 'reserve', 'x', '{}', '{}', '{}', '{}')".format(*values),
    )
    for held in (owner, Ledger.open(address)):
        with pytest.raises(DiscreetError, match="use no less than those before it"):
            held.reserve(PureDP(0.95), {"request": "again"})
