"""Many processes pay from one ledger in PostgreSQL while some are killed and connections are ended under others.

    python postgres_storm.py ADDRESS PROCESSES ATTEMPTS SEED KILLS      prints one JSON document: what was accepted

Every process asks for requests of its own, in order. One that is killed starts again at the request it had begun, as its
user would; a request whose connection was lost for good is made again. So what was accepted twice is seen.
"""

import contextlib
import json
import mmap
import os
import random
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable
from typing import TypeVar

import psycopg

from discreet.errors import BudgetExceeded
from discreet.guarantee import PureDP
from discreet.ledger import Ledger
from discreet.ledger.postgres.postgres_sentences import LostConnectionError

T = TypeVar("T")

ACCEPTED = 1
PAUSE = 0.2  # seconds, at most, between two kills
TRIES = 20  # of a request whose connection is ended again and again


def spend(address: str, own: int, attempts: int, begun: mmap.mmap, marks: mmap.mmap) -> None:
    """Make the requests from the one that was begun on; mark each that was accepted, once its reserve has returned."""
    ledger = again(lambda: Ledger.open(address))
    (first,) = struct.unpack_from("i", begun, 4 * own)
    for attempt in range(first, attempts):
        struct.pack_into("i", begun, 4 * own, attempt)
        recipe = {"process": own, "attempt": attempt}
        with contextlib.suppress(BudgetExceeded):
            again(lambda recipe=recipe: ledger.reserve(PureDP(1.0), recipe))
            marks[own * attempts + attempt] = ACCEPTED
    struct.pack_into("i", begun, 4 * own, attempts)


def again(what: Callable[[], T]) -> T:
    """What a user does whose connection was lost: the same once more."""
    for _ in range(TRIES):
        with contextlib.suppress(LostConnectionError):
            return what()
    raise AssertionError("a connection was lost every time")


def start(address: str, own: int, attempts: int, begun: mmap.mmap, marks: mmap.mmap) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            spend(address, own, attempts, begun, marks)
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    return pid


def storm(address: str, processes: int, attempts: int, seed: int, kills: int) -> dict[str, object]:
    chance = random.Random(seed)
    begun, marks = mmap.mmap(-1, 4 * processes), mmap.mmap(-1, processes * attempts)
    running = {start(address, own, attempts, begun, marks): own for own in range(processes)}
    killed = ended = 0
    with psycopg.connect(address.partition("&ledger")[0], autocommit=True) as connection:
        while running:
            time.sleep(PAUSE * chance.random())
            while running:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    break
                own = running.pop(pid)
                if os.WIFSIGNALED(status):
                    running[start(address, own, attempts, begun, marks)] = own
                elif status:
                    raise AssertionError(f"process {own} failed")
            if killed < kills and running:
                os.kill(chance.choice(sorted(running)), signal.SIGKILL)
                killed += 1
            if ended < kills:
                ended += len(
                    connection.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'discreet' "
                        "ORDER BY random() LIMIT 1"
                    ).fetchall()
                )
    found = [divmod(place, attempts) for place, mark in enumerate(bytes(marks)) if mark == ACCEPTED]
    return {"accepted": found, "killed": killed, "ended": ended}


if __name__ == "__main__":
    print(json.dumps(storm(sys.argv[1], *map(int, sys.argv[2:]))))
