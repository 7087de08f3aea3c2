"""Shared by all tests: a kernel is compiled once; evidence of `make audit` is stored, so that an interrupted run resumes."""

import contextlib
import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from postgres_server import Server, served_or_skipped
from spark_session import Running, running_or_skipped

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait for work of a kernel sleep, and spin no core

ROOT = Path(__file__).parents[1]
LOCKS = Path(tempfile.gettempdir(), f"discreet-kernels-{os.getuid()}-{hashlib.sha256(bytes(ROOT)).hexdigest()[:16]}")

SLOW_KERNELS = (
    "LinearRegression by NoisyStatistics",
    "EventLogHMM by NoisyStatistics",
    "LogisticRegression by GibbsPosterior",
    "BayesianNetwork by NoisyStatistics",
)


def pytest_configure(config: pytest.Config) -> None:
    """Workers of one run share the kernels they compile: who needs one that is being compiled waits and reads it from disk."""
    if not hasattr(config, "workerinput"):
        return  # a single process has nobody to wait for
    LOCKS.mkdir(exist_ok=True)
    compile_once = Dispatcher.compile

    def compile_alone(self: Any, sig: Any) -> Any:
        with global_compiler_lock, _held(f"{self.py_func.__module__}.{self.py_func.__qualname__}"):
            return compile_once(self, sig)  # looks at the cache on disk first

    Dispatcher.compile = compile_alone


def pytest_sessionstart(session: pytest.Session) -> None:
    """Workers divide the kernels that take longest among them, so that no test waits for a compiler."""
    found = getattr(session.config, "workerinput", None)
    if found is None:
        return
    import discreet as dc
    from copies import seeded
    from pairs import one_per_pair

    own = SLOW_KERNELS[int(found["workerid"].removeprefix("gw")) :: found["workercount"]]
    with pytest.MonkeyPatch.context() as patched:
        seeded(patched)
        for pair in (pair for pair in one_per_pair() if pair.name in own):
            dc.simulate(pair.model, pair.dataset(), pair.mechanism, runs=1, seed=1)[0].posterior()


HELD: set[str] = set()


@contextlib.contextmanager
def _held(name: str) -> Iterator[None]:
    """A lock between processes: taken in the order of calls, which has no cycles, and once by a recursive function."""
    if name in HELD:
        yield
        return
    with open(LOCKS / name, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        HELD.add(name)
        try:
            yield
        finally:
            HELD.discard(name)


def source_hash() -> str:
    """A fingerprint of the library: evidence about other code is never reused."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for all tests of this process; started by the first that asks for it."""
    with served_or_skipped() as server:
        yield server


@pytest.fixture(scope="session")
def spark() -> Iterator[Running]:
    """A Spark session for all tests of this process; started by the first that asks for it."""
    with running_or_skipped() as found:
        yield found


@pytest.fixture(scope="session")
def durable() -> Iterator[Server]:
    """A server that waits for its disk: a ledger is made on no other."""
    with served_or_skipped(durable=True) as server:
        yield server


@pytest.fixture
def evidence(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Compute a JSON value once for this code and test, or read it back from audit-results/.

    Several tests that need the same value give it a name; who comes second waits for it.
    """

    def stored(compute: Callable[[], Any], name: str | None = None) -> Any:
        name = name or "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
        path = ROOT / "audit-results" / source_hash() / f"{name}.json"
        if path.exists():
            return json.loads(path.read_text())
        LOCKS.mkdir(exist_ok=True)
        with _held(f"evidence-{path.parent.name}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"):
            if not path.exists():
                value = compute()
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(value))
        return json.loads(path.read_text())

    return stored
