"""A real PostgreSQL server for the tests: the programs of the `pgserver` wheel, in a folder that goes with its user.

    with served() as server: psycopg.connect(server.url())

It listens on a socket in its own folder only. Root may not run PostgreSQL: there, the user `nobody` does. A shell that waits
for us holds the server, and stops it when we close our end or are killed.
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

SUPERUSER = "postgres"
PORT = 5432  # of the name of a socket
SECONDS = 60.0
HELD = '"$@" & read -r _; kill -INT $!; wait'  # INT: the server ends its sessions and stops

# Nothing of a test outlives it, so nothing waits for the disk; `durable` is for what measures that.
FAST = ("fsync=off", "full_page_writes=off")
SETTINGS = ("listen_addresses=", "unix_socket_permissions=0777", "max_connections=200", "autovacuum=off", "jit=off")


@dataclass(frozen=True)
class Server:
    """A running server: the folder of its socket."""

    folder: Path

    def url(self, database: str = "postgres", user: str = SUPERUSER, **options: str) -> str:
        """The address of a database of it."""
        given = "".join(f"&{name}={quote(value)}" for name, value in options.items())
        return f"postgresql://{quote(user)}@/{quote(database)}?host={quote(str(self.folder))}{given}"

    def run(self, *statements: str, database: str = "postgres") -> list[Any]:
        """Run statements as superuser, each on its own; the rows of the last, if it has any."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """A new, empty database for the length of a block: its address."""
        self.run(f'CREATE DATABASE "{name}" TEMPLATE template0')
        try:
            yield self.url(name)
        finally:
            self.run(f'DROP DATABASE "{name}" WITH (FORCE)')


class NoServerError(Exception):
    """Why there is none here."""


@contextmanager
def served(*settings: str, durable: bool = False) -> Iterator[Server]:
    """A server of our own, until the block ends."""
    programs = _programs()
    identity: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp(prefix="discreet-postgres-"))
    try:
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            identity = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        folder.chmod(0o755)
        programs = _reachable(programs, folder, identity)
        data = folder / "data"
        options = {"cwd": folder, "env": {"PATH": os.defpath, "LC_ALL": "C"}, **identity}
        made = subprocess.run(
            [programs / "initdb", "-D", data, "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--no-sync"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **options,
        )
        if made.returncode:
            raise NoServerError("initdb failed: " + made.stdout.decode(errors="replace").strip()[-200:])
        chosen = (*SETTINGS, f"unix_socket_directories={folder}", *(() if durable else FAST), *settings)
        flags = [part for setting in chosen for part in ("-c", setting)]
        log = folder / "log"
        with open(log, "wb") as stream:
            process = subprocess.Popen(
                ["sh", "-c", HELD, "sh", programs / "postgres", "-D", data, *flags],
                stdin=subprocess.PIPE,
                stdout=stream,
                stderr=stream,
                start_new_session=True,  # Ctrl-C is for the tests
                **options,
            )
        try:
            server = Server(folder)
            _wait(server, process, log)
            yield server
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    found = importlib.util.find_spec("pgserver")
    if found is None or importlib.util.find_spec("psycopg") is None:
        raise NoServerError("the packages pgserver and psycopg are not installed")
    programs = Path(found.submodule_search_locations[0]) / "pginstall" / "bin"  # type: ignore[index]
    if not (programs / "postgres").is_file():
        raise NoServerError("the package pgserver holds no server for this machine")
    return programs


def _reachable(programs: Path, folder: Path, identity: dict[str, Any]) -> Path:
    """The programs where the server's user may run them: a copy, if the environment is in a private folder."""
    try:
        subprocess.run([programs / "postgres", "--version"], check=True, capture_output=True, cwd=folder, **identity)
    except (OSError, subprocess.CalledProcessError):
        copy = shutil.copytree(programs.parent, folder / "programs")
        try:
            subprocess.run(
                [copy / "bin" / "postgres", "--version"], check=True, capture_output=True, cwd=folder, **identity
            )
        except (OSError, subprocess.CalledProcessError):
            raise NoServerError("the server of the package pgserver does not run here") from None
        return copy / "bin"
    return programs


def _wait(server: Server, process: "subprocess.Popen[bytes]", log: Path) -> None:
    import psycopg

    end = time.monotonic() + SECONDS
    while True:
        try:
            psycopg.connect(server.url()).close()
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > end:
                raise NoServerError(
                    "the server did not start: " + log.read_text(errors="replace").strip()[-200:]
                ) from None
            time.sleep(0.05)
        else:
            return


@contextmanager
def served_or_skipped(*settings: str, durable: bool = False) -> Iterator[Server]:
    """A server, or a test skipped in one line; a failure where engines are required."""
    try:
        with served(*settings, durable=durable) as server:
            yield server
    except NoServerError as problem:
        if os.environ.get("DISCREET_REQUIRE_ENGINES") == "1":
            pytest.fail(f"no PostgreSQL server: {problem}", pytrace=False)
        pytest.skip(f"no PostgreSQL server: {problem}")
