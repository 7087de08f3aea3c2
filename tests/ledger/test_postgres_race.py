"""Many processes, killed and cut off at random, spend a budget in PostgreSQL exactly to its end.

Nothing here is random in what it must show: every run must give these numbers, whoever is killed when.
"""

import json
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from discreet.errors import LedgerError
from discreet.guarantee import Budget, PureDP
from discreet.ledger import Ledger
from discreet.ledger.postgres.postgres_store import PostgresStore
from postgres_server import Server

STORM = Path(__file__).with_name("postgres_storm.py")


def check_storm(address: str, budget: int, processes: int, attempts: int, kills: int) -> None:
    """All of the budget is spent, and no more; nothing that was accepted is missing, and nothing was charged twice."""
    ledger = Ledger.create(address, Budget(epsilon=budget))
    command = [sys.executable, STORM, address, *map(str, (processes, attempts, 1, kills))]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    entries = ledger.entries()
    recipes = [(entry.recipe["process"], entry.recipe["attempt"]) for entry in entries]
    assert len(entries) == budget == ledger.spent()
    assert len(set(recipes)) == budget
    assert {tuple(each) for each in told["accepted"]} == set(recipes)
    assert (told["killed"], told["ended"]) >= (kills // 2, kills // 2)
    ledger.verify()


def test_eight_processes_spend_sixty_of_sixty_through_kills_and_lost_connections(address: str) -> None:
    check_storm(address, budget=60, processes=8, attempts=30, kills=12)


@pytest.mark.audit
def test_sixty_four_processes_spend_a_thousand_of_a_thousand(address: str) -> None:
    check_storm(address, budget=1000, processes=64, attempts=1000, kills=300)


def test_the_storm_catches_check_then_spend(durable: Server, address: str) -> None:
    """The planted twin: look at what is left, then spend it, with no lock in between."""
    server = address.partition("&ledger")[0]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE TABLE spends (epsilon numeric)")
    both_looked = threading.Barrier(2)
    accepted = []

    def spend() -> None:
        with psycopg.connect(server, autocommit=True) as connection:
            spent = connection.execute("SELECT count(*) FROM spends").fetchone()
            both_looked.wait(60)
            if spent == (0,):
                connection.execute("INSERT INTO spends VALUES (1)")
                accepted.append(1)

    threads = [threading.Thread(target=spend) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(accepted) == 2  # of a budget of one


def test_without_the_lock_the_database_itself_refuses(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Constraints stand behind the lock: of two writers that saw the same end of the chain one is refused."""
    Ledger.create(address, Budget(epsilon=1))
    both_looked = threading.Barrier(2)
    monkeypatch.setattr(PostgresStore, "_lock", lambda *_: both_looked.wait(60))
    told: list[object] = []

    def spend(number: int) -> None:
        try:
            told.append(Ledger.open(address).reserve(PureDP(1.0), {"number": number}).spend)
        except LedgerError as refusal:
            told.append(str(refusal))

    threads = [threading.Thread(target=spend, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([each for each in told if not isinstance(each, str)]) == 1
    assert any("the database refused an event" in str(each) for each in told)
    assert Ledger.open(address).spent() == 1
