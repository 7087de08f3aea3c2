"""Whatever stops a release, at any call of the private side: its exception holds no row and no unsettled answer."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import pipeline
from discreet.errors import ReleaseError
from discreet.ledger import Ledger
from discreet.sources.dataset import Design
from discreet.sources.engines.duckdb import DuckDB

CANARY = "canary-4217"
ROWS = 30
PRIVATE = ("mechanisms", "sources", "samplers", "ledger")


class Panic(BaseException):
    """What a compiled library raises when it gives up."""


KINDS = [KeyboardInterrupt, MemoryError, SystemExit, Panic, GeneratorExit]

REQUESTS = {
    "loss": (dc.LogisticRegression("y", ("x",)), dc.GibbsPosterior(epsilon=0.1, delta=1e-9, steps=2)),
    "statistics": (dc.DirichletCategorical("ward"), dc.NoisyStatistics(epsilon=0.1)),
    "two stages": (dc.Normal("x", robust=True), dc.NoisyStatistics(epsilon=0.1)),
    "draws": (dc.BetaBernoulli("y"), dc.PosteriorSample(epsilon=0.1, truncation=0.1)),
}


@pytest.fixture
def dataset(tmp_path: Path) -> dc.Dataset:
    """Rows that stand in a file, so that nothing but an exception could hold them in memory."""
    file = tmp_path / "t.csv"
    file.write_text("x,y,ward\n" + "".join(f"{i % 3},{i % 2},{CANARY if i % 2 else 'A'}\n" for i in range(ROWS)))
    columns = {"x": dc.Bounded(0, 2), "y": dc.Binary(), "ward": dc.Categorical(["A", "B"])}
    return dc.open(str(file), dc.Schema(columns, n=ROWS), id="t")


class Tripwire:
    """Raises an exception in the call number `at` of the private side, and counts those calls."""

    def __init__(self, at: int = 0, kind: type[BaseException] = Panic) -> None:
        self.at, self.kind, self.calls = at, kind, 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and any(f"discreet{os.sep}{part}{os.sep}" in frame.f_code.co_filename for part in PRIVATE):
            self.calls += 1
            if self.calls == self.at:
                raise self.kind(CANARY)

    def around(self, work: Callable[[], Any]) -> Callable[[], Any]:
        def watched() -> Any:
            sys.setprofile(self)
            try:
                return work()
            finally:
                sys.setprofile(None)

        return watched

    def stops(self, work: Callable[[], Any], bare: Callable[..., Any] = pipeline._bare) -> BaseException | None:
        """What comes out when the wire is stretched across all that reads rows."""
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(pipeline, "_bare", lambda private, *words: bare(self.around(private), *words))
            try:
                work()
            except BaseException as problem:
                return problem
        return None


def chain(problem: BaseException) -> Iterator[BaseException]:
    """The exception and all that hang on it."""
    seen: list[BaseException] = []
    pending = [problem]
    while pending:
        one = pending.pop()
        if one is not None and one not in seen:
            seen.append(one)
            pending += [one.__cause__, one.__context__]
    return iter(seen)


def held(problem: BaseException) -> Iterator[Any]:
    """Everything that the local variables of the library's frames reach, modules and functions aside."""
    pending: list[Any] = []
    for one in chain(problem):
        pending.append(one.args)
        trace = one.__traceback__
        while trace is not None:
            if f"{os.sep}discreet{os.sep}" in trace.tb_frame.f_code.co_filename:
                pending += trace.tb_frame.f_locals.values()
            trace = trace.tb_next
    seen: set[int] = set()
    while pending:
        thing = pending.pop()
        if id(thing) in seen or isinstance(thing, ModuleType | type | FrameType | FunctionType | BaseException):
            continue
        seen.add(id(thing))
        yield thing
        pending += gc.get_referents(thing)


def assert_bare(problem: BaseException | None) -> None:
    assert problem is not None
    files = []
    for one in chain(problem):
        trace = one.__traceback__
        while trace is not None:
            files.append(trace.tb_frame.f_code.co_filename)
            trace = trace.tb_next
    assert not [file for file in files for part in PRIVATE if f"discreet{os.sep}{part}{os.sep}" in file]
    for thing in held(problem):
        assert not isinstance(thing, Design)
        assert not (isinstance(thing, np.ndarray) and thing.size >= ROWS)
        assert not (isinstance(thing, str) and CANARY in thing)


def released(dataset: dc.Dataset, ledger: Ledger, name: str, label: str = "") -> Any:
    model, mechanism = REQUESTS[name]
    return dc.release(model, dataset, replace(mechanism, label=label), ledger)


def interrupted_releases(
    dataset: dc.Dataset, folder: Path, name: str, count: int, bare: Callable[..., Any] = pipeline._bare
) -> None:
    """Stop releases at calls spread over their private side, in every way; each stays charged and resumes free."""
    whole, stopped = Tripwire(), []
    ledger = Ledger.create(folder / "t.ledger", dc.Budget(30.0, 1e-6), "approximate")
    assert whole.stops(lambda: released(dataset, ledger, name)) is None
    price = ledger.spent()
    for number, at in enumerate(np.linspace(1, 0.9 * whole.calls, count).astype(int), start=1):
        kind, label = KINDS[number % len(KINDS)], f"{number}"
        problem = Tripwire(int(at), kind).stops(partial(released, dataset, ledger, name, label), bare)
        assert ledger.spent() == price * (number + 1)
        if problem is None:  # where one way to read fails, another one is tried
            continue
        stopped.append(label)
        assert_bare(problem)
        # what goes through a compiled library comes out as an error of its own
        assert isinstance(problem, ReleaseError) or (type(problem) is kind and kind in (KeyboardInterrupt, SystemExit))
        if isinstance(problem, KeyboardInterrupt):
            assert str(problem) == pipeline.INTERRUPTED
    assert len(stopped) > count / 2
    spent = ledger.spent()
    released(dataset, ledger, name, stopped[-1])
    assert ledger.spent() == spent


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains that stay where they start: a compiled kernel makes no calls."""
    chains = "discreet.mechanisms.gibbs_posterior.gibbs_posterior.langevin_chains"
    monkeypatch.setattr(chains, lambda query, law, batches, rows, count, *_: np.zeros((count, query.features.size)))


@pytest.mark.usefixtures("no_kernel")
@pytest.mark.parametrize("name", list(REQUESTS))
def test_nothing_that_stops_a_release_holds_a_row(dataset: dc.Dataset, tmp_path: Path, name: str) -> None:
    interrupted_releases(dataset, tmp_path, name, 10)


@pytest.mark.usefixtures("no_kernel")
def test_an_interrupt_that_keeps_its_frames_is_caught(dataset: dc.Dataset, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        interrupted_releases(dataset, tmp_path, "loss", 10, bare=lambda work, *_: work())


def test_an_interrupt_while_the_answer_is_settled_takes_the_answer_with_it(
    dataset: dc.Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the caller could keep this answer and resume for another one, for one price."""
    ledger = Ledger.create(tmp_path / "t.ledger", dc.Budget(1.0))

    def settle(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "settle", settle)
    problem = Tripwire().stops(lambda: released(dataset, ledger, "statistics"))
    assert isinstance(problem, KeyboardInterrupt)
    assert_bare(problem)
    assert not [thing for thing in held(problem) if isinstance(thing, dict) and "value" in thing]


@pytest.mark.usefixtures("no_kernel")
def test_a_simulation_on_rows_is_as_silent(dataset: dc.Dataset) -> None:
    model, mechanism = REQUESTS["loss"]

    def simulated() -> Any:
        return dc.simulate(model, dataset, mechanism, runs=1, seed=1)

    whole = Tripwire()
    whole.stops(simulated)
    for number, at in enumerate(np.linspace(1, whole.calls, 6).astype(int)):
        kind = KINDS[number % 2]
        problem = Tripwire(int(at), kind).stops(simulated)
        if problem is not None:  # as above
            assert isinstance(problem, ReleaseError) or type(problem) is kind is KeyboardInterrupt
            assert_bare(problem)


def test_the_engine_does_not_swallow_an_interrupt() -> None:
    """DuckDB makes a RuntimeError of it, which must not pass for a source that cannot be read."""

    class Endless:
        files = ()

        def attach(self, *_: Any) -> None: ...

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    def forever(session: Any) -> None:
        session.connection.execute("SELECT count(*) FROM range(10000000) a(i), range(1000) b(j) WHERE (i * j) % 7 = 3")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            DuckDB((Endless(), Endless()), {}, threads=1).asked(forever)
        assert caught.value.__context__ is None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
