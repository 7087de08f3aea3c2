"""A ledger in PostgreSQL: what it remembers, what the database itself refuses, and what a lost connection costs: nothing."""

import json
import os
import pickle
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.errors import BudgetExceeded, LedgerError
from discreet.guarantee import Budget, GaussianDP, PureDP, stored
from discreet.ledger import Ledger
from discreet.ledger.events import Event, canonical
from discreet.ledger.postgres.postgres_events import PostgresEvents
from discreet.ledger.postgres.postgres_store import PostgresStore
from postgres_server import Server

TENTH = PureDP(0.1)

# Functions of somebody else's, which leave a trace when they are called.
NOTED = (
    "CREATE TABLE public.calls (who text)",
    "CREATE FUNCTION public.noted(text) RETURNS boolean LANGUAGE sql AS "
    "'INSERT INTO public.calls VALUES (current_user) RETURNING true'",
    "CREATE FUNCTION public.length(text) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1'",
    "CREATE FUNCTION public.appended() RETURNS trigger LANGUAGE plpgsql AS "
    "'BEGIN PERFORM public.noted(NULL); RETURN NULL; END'",
)
CHECKED = "ALTER TABLE discreet.events ADD CONSTRAINT more CHECK (public.noted(body))"


def server_of(address: str) -> str:
    return address.partition("&ledger=")[0]


def run(address: str, *statements: str) -> list[Any]:
    """Statements of the owner, each on its own; the rows of the last."""
    with psycopg.connect(server_of(address), autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def test_it_remembers_what_a_file_remembers(address: str) -> None:
    made = Ledger.create(address, Budget(epsilon=3, delta=1e-6))
    entry = made.reserve(GaussianDP(0.1), {"dataset": "d", "label": "a"})
    assert made.settle(entry, {"value": [1, 2.5], "who": "é"}) == {"value": [1, 2.5], "who": "é"}
    assert made.settle(entry, {"value": "another"}) == {"value": [1, 2.5], "who": "é"}
    assert made.reserve(GaussianDP(0.1), {"dataset": "d", "label": "a"}).release == {"value": [1, 2.5], "who": "é"}
    for other in (Ledger.open(address), pickle.loads(pickle.dumps(made))):
        assert other.entries() == made.entries()
        assert (other.head(), other.spent(), other.budget) == (made.head(), made.spent(), made.budget)
        assert other.verify(made.head()) == ()
    assert made.path == address


def test_it_spends_to_the_end_and_refuses(address: str) -> None:
    ledger = Ledger.create(address, Budget(epsilon=1))
    for i in range(10):
        ledger.reserve(TENTH, {"i": i})
    with pytest.raises(BudgetExceeded):
        ledger.reserve(TENTH, {"one": "more"})
    assert ledger.spent() == 1


def test_a_database_holds_several_and_overwrites_none(address: str) -> None:
    first = Ledger.create(address, Budget(epsilon=1))
    second = Ledger.create(f"{server_of(address)}&ledger=other", Budget(epsilon=2))
    first.reserve(TENTH, {})
    assert second.spent() == 0
    assert second.entries() == ()
    with pytest.raises(LedgerError, match="never overwritten"):
        Ledger.create(address, Budget(epsilon=9))
    with pytest.raises(LedgerError, match="must be an existing ledger"):
        Ledger.open(f"{server_of(address)}&ledger=third")


def test_a_database_without_ledgers_is_not_made_one(address: str) -> None:
    with pytest.raises(LedgerError, match="must be an existing ledger"):
        Ledger.open(address)
    assert run(address, "SELECT to_regnamespace('discreet')") == [(None,)]


@pytest.mark.parametrize(
    "secret",
    [
        "postgresql://u:hunter2@h/d",
        "postgresql://u:hunter2/x@h/d",
        "postgresql://h/d?password=hunter2",
        "postgres://h/d?x=1&%70assword=hunter2",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(LedgerError, match="must have no password") as refusal:
        Ledger.open(secret)
    assert "hunter2" not in str(refusal.value)


def test_addresses_that_are_none_are_refused_in_our_words(tmp_path: Path) -> None:
    for bad in ("postgresql://h/d?ledger=%22;drop", "postgresql://h/d?ledger=a&ledger=b", "postgresql://h/d?no=such"):
        with pytest.raises(LedgerError, match=r"Ledger (address|name) must be"):
            Ledger.open(bad)
    with pytest.raises(LedgerError, match="can be reached"):
        Ledger.open(f"postgresql://h/d?host={tmp_path}")


def test_a_server_that_does_not_wait_for_its_disk_is_refused(postgres: Server) -> None:
    with postgres.database("not_durable") as url, pytest.raises(LedgerError, match="fsync = off"):
        Ledger.create(url, Budget(epsilon=1))


def test_every_write_waits_for_the_disk_whatever_the_default_is(address: str) -> None:
    name = address.partition("@/")[2].partition("?")[0]
    run(address, f"ALTER DATABASE {name} SET synchronous_commit = off")
    Ledger.create(address, Budget(epsilon=1))

    def seen(events: Any) -> Any:
        return events._connection.execute("SHOW synchronous_commit").fetchone()

    assert run(address, "SHOW synchronous_commit") == [("off",)]
    assert PostgresStore(address).transact(seen) == ("on",)


# --- a connection that is lost around COMMIT


def losing(monkeypatch: pytest.MonkeyPatch, *, after: bool, times: int = 1) -> None:
    """The connection is lost before, or after, the server has committed; `times` times."""
    commit, left = PostgresEvents.commit, [times]

    def lost(self: PostgresEvents) -> None:
        if self.added is None or not left[0]:
            return commit(self)
        left[0] -= 1
        if after:
            commit(self)
        self._connection.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(PostgresEvents, "commit", lost)


@pytest.mark.parametrize("after", [False, True])
def test_a_commit_nobody_heard_of_is_one_spend_and_one_answer(
    address: str, monkeypatch: pytest.MonkeyPatch, *, after: bool
) -> None:
    ledger = Ledger.create(address, Budget(epsilon=1))
    losing(monkeypatch, after=after)
    entry = ledger.reserve(TENTH, {"label": "a"})
    assert entry.is_new
    losing(monkeypatch, after=after)
    assert ledger.settle(entry, {"value": 1}) == {"value": 1}
    assert ledger.spent() == Decimal("0.1")
    assert [each.status for each in ledger.entries()] == ["settled"]
    ledger.verify()


def test_a_spend_that_is_sent_again_is_charged_twice_without_a_key(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted twin: the same work again, which does not look for what it did."""
    ledger = Ledger.create(address, Budget(epsilon=1))
    losing(monkeypatch, after=True)
    store, number = PostgresStore(address), iter(range(9))

    def blind(events: PostgresEvents) -> None:
        last = events.last()
        spent = [event.content()["spent_after"] for event in events if event.kind == "reserve"]
        i, before = next(number), Decimal(spent[-1]) if spent else Decimal(0)
        content = {"request": f"{i}", "spend": "0.1", "spent_after": f"{before + Decimal('0.1')}", "accounting": 1}
        events.append("reserve", f"{i}", content, last)

    monkeypatch.setattr(Event, "__eq__", lambda *_: False)
    store.transact(blind)
    assert run(address, "SELECT spent FROM discreet.ledgers") == [(Decimal("0.2"),)]
    assert ledger.budget.epsilon == 1


def test_a_server_that_is_gone_for_good_releases_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(address, Budget(epsilon=1))
    monkeypatch.setattr("discreet.ledger.postgres.postgres_store.FIRST_PAUSE", 0.0)
    with monkeypatch.context() as patch:
        losing(patch, after=False, times=99)
        with pytest.raises(LedgerError, match="nothing was released, and the same request again finds what was paid"):
            ledger.reserve(TENTH, {})
    assert ledger.spent() == 0
    assert ledger.reserve(TENTH, {}).is_new


def test_connections_that_were_ended_meanwhile_are_replaced(address: str) -> None:
    ledger = Ledger.create(address, Budget(epsilon=1))
    for i in range(3):
        run(address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet'")
        ledger.reserve(TENTH, {"i": i})
    assert ledger.spent() == Decimal("0.3")


def test_a_fork_does_not_speak_on_the_connection_of_its_parent(address: str) -> None:
    ledger = Ledger.create(address, Budget(epsilon=4))
    ledger.reserve(PureDP(1.0), {"before": "fork"})
    children = []
    for child in range(3):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                ledger.reserve(PureDP(1.0), {"child": child})
                status = 0
            finally:
                os._exit(status)
        children.append(pid)
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0, 0, 0]
    assert ledger.spent() == 4
    ledger.verify()


# --- what the database refuses, whoever asks


def test_nobody_changes_or_removes_what_is_there(address: str) -> None:
    Ledger.create(address, Budget(epsilon=1)).reserve(TENTH, {})
    for statement in (
        "UPDATE discreet.events SET body = ''",
        "DELETE FROM discreet.events",
        "TRUNCATE discreet.events",
        "DELETE FROM discreet.ledgers",
        "TRUNCATE discreet.ledgers CASCADE",
        "UPDATE discreet.ledgers SET spent = 0",
        "UPDATE discreet.ledgers SET most = 9, seq = seq + 1",
        "UPDATE discreet.ledgers SET spent = 9, seq = seq + 1",
        "SET session_replication_role = replica; DELETE FROM discreet.events",
    ):
        with pytest.raises(psycopg.errors.IntegrityError):
            run(address, statement)
    Ledger.open(address).verify()


def insert(address: str, change: Callable[[dict[str, Any]], None], **row: Any) -> None:
    """An event after the last one that its writer made up, with the hash it should have."""
    (seq, entry, body, last) = run(
        address, "SELECT seq, entry, body, hash FROM discreet.events ORDER BY seq DESC LIMIT 1"
    )[0]
    content = Event(seq, "reserve", entry, body, "", "").content()
    change(content)
    row = {"seq": seq + 1, "kind": "reserve", "entry": "x", "request": content["request"], "previous": last, **row}
    made = Event.after(
        Event(row["seq"] - 1, "", "", "", "", row["previous"]), row["kind"], row["entry"], canonical("", content)
    )
    values = (
        "patients",
        made.seq,
        made.kind,
        made.entry,
        row["request"],
        made.body,
        made.previous,
        row.get("hash", made.hash),
    )
    with psycopg.connect(server_of(address), autocommit=True) as connection:
        connection.execute("INSERT INTO discreet.events VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", values)


def test_what_does_not_continue_the_chain_is_refused(address: str) -> None:
    ledger = Ledger.create(address, Budget(epsilon=1))
    ledger.reserve(TENTH, {})

    def paid(content: dict[str, Any], spend: str = "0.1", after: str = "0.2") -> None:
        content.update(request="f" * 64, spend=spend, spent_after=after)

    bad: list[tuple[Callable[[dict[str, Any]], None], dict[str, Any]]] = [
        (paid, {"seq": 4}),
        (paid, {"seq": 2}),
        (paid, {"previous": "0" * 64}),
        (paid, {"hash": "1" * 64}),
        (paid, {"request": "e" * 64}),
        (paid, {"kind": "create", "request": None}),
        (paid, {"kind": "settle", "request": None}),
        (lambda content: None, {}),  # a request that was made before
        (lambda content: paid(content, after="0.1"), {}),
        (lambda content: paid(content, spend="-0.1", after="0.0"), {}),
        (lambda content: paid(content, spend="0.95", after="1.05"), {}),
    ]
    for change, row in bad:
        with pytest.raises(psycopg.errors.IntegrityError):
            insert(address, change, **row)
    assert ledger.spent() == Decimal("0.1")
    insert(address, paid)  # the twin: what continues it is taken
    assert run(address, "SELECT spent, seq FROM discreet.ledgers") == [(Decimal("0.2"), 3)]


def test_a_dataset_is_given_up_by_a_move_alone(address: str) -> None:
    """A forged event that says so beside a ledger which goes on paying is refused, and so is a move that says nothing."""
    ledger = Ledger.create(address, Budget(epsilon=1))
    ledger.reserve(TENTH, {"dataset": "wards"})

    def moved(content: dict[str, Any]) -> None:
        content.clear()
        content.update(accounting=stored.ACCOUNTING, moved="elsewhere", more=1, request=None)

    def silent(content: dict[str, Any]) -> None:
        content.clear()
        content.update(accounting=stored.ACCOUNTING, request=None)

    for change, entry in ((moved, "x"), (moved, "copied"), (silent, "moved")):
        with pytest.raises(psycopg.errors.IntegrityError):
            insert(address, change, kind="migrate", entry=entry, request=None)
    assert run(address, "SELECT count(*) FROM discreet.datasets") == [(1,)]
    ledger.reserve(TENTH, {"dataset": "wards", "again": 1})


def test_an_amount_that_is_no_number_is_no_price(address: str) -> None:
    """NaN is equal to itself in the database, and below nothing; an absent amount is neither too small nor wrong."""
    ledger = Ledger.create(address, Budget(epsilon=1))
    ledger.reserve(TENTH, {})

    def priced(content: dict[str, Any], spend: Any, after: Any) -> None:
        content.update(request="f" * 64, spend=spend, spent_after=after)

    for amounts in (("NaN", "NaN"), ("Infinity", "Infinity"), (None, None), ("0", None), ("x", "0.1"), ("-0.1", "0")):
        with pytest.raises(psycopg.Error):
            insert(address, lambda content, amounts=amounts: priced(content, *amounts))
    assert ledger.spent() == Decimal("0.1")


def test_names_that_a_role_puts_in_the_way_mean_nothing(address: str, durable: Server) -> None:
    """Temporary tables, functions and operators of whoever appends are not those of the trigger."""
    owner = Ledger.create(address, Budget(epsilon=1))
    durable.run("DROP ROLE IF EXISTS shadow", "CREATE ROLE shadow LOGIN")
    owner.grant("shadow")
    owner.reserve(TENTH, {})
    theirs = address.replace("postgres@", "shadow@")
    row = run(address, "SELECT seq, hash, body FROM discreet.events ORDER BY seq DESC LIMIT 1")[0]
    content = {**json.loads(row[2]), "request": "f" * 64, "spend": "5", "spent_after": "5.1"}
    made = Event.after(Event(row[0], "", "", "", "", row[1]), "reserve", "x", canonical("", content))
    insert = f"""INSERT INTO discreet.events VALUES
      ('patients', {made.seq}, 'reserve', 'x', '{"f" * 64}', '{made.body}', '{made.previous}', '{made.hash}')"""
    tricks = (
        "CREATE TEMP TABLE added AS SELECT * FROM discreet.events WHERE false",
        "CREATE TEMP TABLE ledgers (LIKE discreet.ledgers)",
        "CREATE TEMP TABLE events (LIKE discreet.events)",
        "CREATE FUNCTION pg_temp.encode(bytea, text) RETURNS text LANGUAGE sql AS $$ SELECT 'x' $$",
        "CREATE FUNCTION pg_temp.always(numeric, numeric) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$",
        "CREATE OPERATOR pg_temp.<= (LEFTARG = numeric, RIGHTARG = numeric, FUNCTION = pg_temp.always)",
        "SET search_path = pg_temp, pg_catalog",
    )
    with pytest.raises(psycopg.errors.IntegrityError):
        run(theirs, *tricks, insert)
    assert owner.spent() == Decimal("0.1")


def test_a_role_may_append_and_nothing_else(address: str, durable: Server) -> None:
    owner = Ledger.create(address, Budget(epsilon=1))
    durable.run("DROP ROLE IF EXISTS analyst", "CREATE ROLE analyst LOGIN")
    theirs = address.replace("postgres@", "analyst@")
    with pytest.raises(LedgerError, match="must be open to this role"):
        Ledger.open(theirs)
    with pytest.raises(LedgerError, match="must be a role of the database"):
        owner.grant('nobody"; DROP SCHEMA discreet')
    owner.grant("analyst")
    ledger = Ledger.open(theirs)
    ledger.settle(ledger.reserve(TENTH, {}), {"value": 1})
    assert owner.spent() == Decimal("0.1")
    for statement in (
        "UPDATE discreet.events SET body = ''",
        "DELETE FROM discreet.events",
        "TRUNCATE discreet.events",
        "UPDATE discreet.ledgers SET spent = 0",
        "INSERT INTO discreet.ledgers SELECT * FROM discreet.ledgers",
        "DELETE FROM discreet.datasets",
        "INSERT INTO discreet.datasets VALUES ('x', 'patients', true)",
        "ALTER TABLE discreet.events DISABLE TRIGGER ALL",
        "CREATE TABLE discreet.more (x int)",
        "DROP SCHEMA discreet CASCADE",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run(theirs, statement)
    with pytest.raises(LedgerError, match="must be open to this role"):
        Ledger.create(f"{server_of(theirs)}&ledger=own", Budget(epsilon=9))


# --- an owner who changes what the database refuses, or puts back an older copy


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE discreet.events DISABLE TRIGGER no_change",
        "DROP TRIGGER only_onward ON discreet.ledgers",
        "CREATE OR REPLACE FUNCTION discreet.refused() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "ALTER FUNCTION discreet.appended() RESET ALL",
        "CREATE RULE away AS ON INSERT TO discreet.events DO INSTEAD NOTHING",
        "ALTER TABLE discreet.events ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE discreet.events OWNER TO stranger",
        "ALTER TABLE discreet.datasets OWNER TO stranger",
        "ALTER FUNCTION discreet.appended() OWNER TO stranger",
        "ALTER SCHEMA discreet OWNER TO stranger",
        "DROP TRIGGER after_append ON discreet.events; CREATE TRIGGER after_append AFTER INSERT ON discreet.events "
        "FOR EACH STATEMENT EXECUTE FUNCTION public.appended(); "
        "ALTER TABLE discreet.events ENABLE ALWAYS TRIGGER after_append",
        "DROP TRIGGER no_change ON discreet.events; CREATE TRIGGER no_change BEFORE TRUNCATE ON discreet.events "
        "FOR EACH STATEMENT EXECUTE FUNCTION discreet.refused(); "
        "ALTER TABLE discreet.events ENABLE ALWAYS TRIGGER no_change",
        CHECKED,
        "ALTER TABLE discreet.events ADD COLUMN more boolean DEFAULT public.noted('')",
        "CREATE INDEX more ON discreet.events (public.length(body))",
        "ALTER TABLE discreet.datasets SET UNLOGGED",
        "CREATE FUNCTION discreet.lock_ledger(wanted varchar) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ],
)
def test_what_only_looks_like_ours_is_refused(address: str, durable: Server, change: str) -> None:
    """Other triggers, other owners, other functions that would run with the rights of who pays: none of them is called."""
    durable.run("DROP ROLE IF EXISTS stranger", "CREATE ROLE stranger LOGIN")
    Ledger.create(address, Budget(epsilon=1))
    Ledger.open(address)
    run(address, *NOTED, change, "DELETE FROM public.calls")
    with pytest.raises(LedgerError, match="it was altered"):
        Ledger.open(address)
    with pytest.raises(LedgerError, match="it was altered"):
        Ledger.create(f"{server_of(address)}&ledger=other", Budget(epsilon=1))
    assert run(address, "SELECT count(*) FROM public.calls") == [(0,)]
    run(address, "REASSIGN OWNED BY stranger TO postgres")


def test_an_altered_ledger_would_be_taken_if_it_were_not_compared(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: without the comparison, what a stranger put in the place of our function runs as who pays."""
    Ledger.create(address, Budget(epsilon=1))
    run(address, *NOTED, CHECKED, "DELETE FROM public.calls")
    monkeypatch.setattr(PostgresStore, "_recognise", lambda self, connection: None)
    Ledger.open(address).reserve(TENTH, {})
    assert run(address, "SELECT count(*) > 0 FROM public.calls") == [(True,)]


def changed(address: str, *statements: str) -> None:
    """As an owner who disables the triggers and enables them again."""
    tables = [
        ("events", "after_append"),
        ("events", "no_change"),
        ("ledgers", "no_removal"),
        ("ledgers", "only_onward"),
    ]
    for how in ("DISABLE", "ENABLE ALWAYS"):
        run(address, *(f"ALTER TABLE discreet.{table} {how} TRIGGER {name}" for table, name in tables))
        if how == "DISABLE":
            run(address, *statements)


def put_back(address: str) -> None:
    """The ledger as it was one event earlier."""
    changed(
        address,
        "DELETE FROM discreet.events WHERE seq = 3",
        "UPDATE discreet.ledgers SET seq = 2, spent = 0.1, hash = (SELECT hash FROM discreet.events WHERE seq = 2)",
    )


def test_an_edited_event_is_refused(address: str) -> None:
    Ledger.create(address, Budget(epsilon=1)).reserve(TENTH, {})
    changed(
        address,
        "ALTER TABLE discreet.events DROP CONSTRAINT hash_of_content",
        """UPDATE discreet.events SET body = replace(body, '"spend":"0.1"', '"spend":"0.0"') WHERE seq = 2""",
    )
    with pytest.raises(LedgerError, match="Ledger event 2 must"):
        Ledger.open(address)


def test_a_database_put_back_to_an_older_copy_is_refused_by_who_used_it(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(address, Budget(epsilon=1))
    for i in range(2):
        ledger.reserve(TENTH, {"i": i})
    head = ledger.head()
    put_back(address)
    with pytest.raises(LedgerError, match="must be the file that was opened"):
        ledger.reserve(TENTH, {"i": 2})
    with pytest.raises(LedgerError, match="restored from an older copy"):
        Ledger.open(address)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    fresh = Ledger.open(address)  # who never saw it cannot know, unless by a head that was written down
    with pytest.raises(LedgerError, match="must contain the head noted earlier"):
        fresh.verify(head)


def test_who_has_no_place_for_heads_still_pays(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    ledger = Ledger.create(address, Budget(epsilon=1))
    assert ledger.settle(ledger.reserve(TENTH, {}), {"value": 1}) == {"value": 1}


# --- one ledger for one dataset


def test_a_second_ledger_for_a_dataset_must_say_so(address: str) -> None:
    other = f"{server_of(address)}&ledger="
    Ledger.create(address, Budget(epsilon=1)).reserve(TENTH, {"dataset": "wards"})
    second = Ledger.create(f"{other}second", Budget(epsilon=1))
    with pytest.raises(LedgerError, match="the only one of its database that pays for a dataset"):
        second.reserve(TENTH, {"dataset": "wards"})
    assert second.spent() == 0
    second.reserve(TENTH, {"dataset": "other wards"})
    third = Ledger.create(f"{other}third", Budget(epsilon=1), acknowledge=["wards"])
    third.reserve(TENTH, {"dataset": "wards"})
    with pytest.raises(LedgerError, match="the only one of its database"):
        third.reserve(TENTH, {"dataset": "other wards"})
    assert Ledger.open(address).reserve(TENTH, {"dataset": "wards", "label": "again"}).is_new
