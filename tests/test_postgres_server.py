"""The server of the tests: it answers, keeps databases apart, stops with us, and its absence is said in one line."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import postgres_server
from postgres_server import Server, served_or_skipped


def test_it_answers_and_keeps_databases_apart(postgres: Server) -> None:
    with postgres.database("one") as one:
        assert "/one?" in one
        postgres.run("CREATE TABLE here (x int)", database="one")
        assert postgres.run("SELECT to_regclass('here')") == [(None,)]
    assert postgres.run("SELECT count(*) FROM pg_database WHERE datname = 'one'") == [(0,)]


KILLED = """
import os, signal
from postgres_server import served
with served() as server:
    (pid,), = server.run("SELECT pg_backend_pid()")
    print(server.folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_stops_when_its_user_is_killed(postgres: Server) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, env=environment)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    socket = Path(ran.stdout.strip()) / ".s.PGSQL.5432"
    for _ in range(200):
        if not socket.exists():
            break
        time.sleep(0.05)
    assert not socket.exists()
    shutil.rmtree(socket.parent)


@pytest.mark.parametrize("required", ["0", "1"])
def test_where_there_is_none_the_test_is_skipped_or_fails(monkeypatch: pytest.MonkeyPatch, required: str) -> None:
    def none() -> Path:
        raise postgres_server.NoServerError("not here")

    monkeypatch.setattr(postgres_server, "_programs", none)
    monkeypatch.setenv("DISCREET_REQUIRE_ENGINES", required)
    outcome = pytest.fail.Exception if required == "1" else pytest.skip.Exception
    with pytest.raises(outcome, match="not here"), served_or_skipped():
        pass
