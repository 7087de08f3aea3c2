"""A command that is asked to stop: one line that says what was paid, the code of the signal, nothing else changed."""

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module

import pytest
from typer.main import get_command

from discreet.cli import app, interrupts, main, terminal
from discreet.ledger import Ledger
from discreet.mechanisms import NoisyStatistics

SENTENCE = (
    "error: interrupted: 'smoking' stays charged, and the same command again makes what is missing and costs nothing\n"
)


@pytest.fixture(autouse=True)
def _heard() -> Iterator[None]:
    """Signals as a terminal leaves them: tests that run in the background would inherit some that are ignored."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def stopped(number: int) -> Callable[..., None]:
    """An application of the mechanism during which a signal comes."""

    def apply(*_: object) -> None:
        os.kill(os.getpid(), number)
        threading.Event().wait(10)  # the handler runs within it

    return apply


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_signal_says_what_was_paid_and_the_next_run_resumes(
    run: Callable, study: Callable, monkeypatch: pytest.MonkeyPatch, number: int, as_json: bool
) -> None:
    study()
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    command = ["release", "study.toml", "--only", "smoking", *(["--json"] if as_json else [])]
    with monkeypatch.context() as patched:
        patched.setattr(NoisyStatistics, "apply", stopped(number))
        ran = run(*command)
    assert (ran.code, ran.err) == (128 + number, SENTENCE)
    assert ran.document["error"]["type"] == "KeyboardInterrupt" if as_json else ran.out == ""
    assert str(Ledger.open("study.ledger").spent()) == "0.5"
    assert {each: signal.getsignal(each) for each in before} == before
    again = run("release", "study.toml", "--only", "smoking")
    assert again.code == 0
    assert "paid by a run that stopped" in again.out
    assert str(Ledger.open("study.ledger").spent()) == "0.5"


def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that fails with a private text, and a signal that comes while the words for it are looked for."""

    def failing(_: object) -> None:
        raise RuntimeError("a private text")

    def interrupted(_: object) -> str:
        signal.raise_signal(signal.SIGINT)
        return "nowhere"

    monkeypatch.setattr(import_module("discreet.release"), "load", failing)
    monkeypatch.setattr(terminal, "_place", interrupted)


def test_a_signal_while_an_error_is_told_shows_nothing_of_it(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch)
    ran = run("posterior", "a.release.json")
    assert (ran.code, ran.out, ran.err) == (130, "", "error: interrupted\n")


def test_told_inside_a_handler_an_error_would_leave_with_the_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing(monkeypatch)

    def told_inside() -> None:
        try:
            get_command(app).main(["posterior", "a.release.json"], standalone_mode=False)
        except RuntimeError as problem:
            terminal.report(problem, as_json=False)

    with interrupts.unwinding(), pytest.raises(KeyboardInterrupt) as caught:
        told_inside()
    assert "a private text" in "".join(traceback.format_exception(caught.value))


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with interrupts.unwinding() as came:
            os.kill(os.getpid(), signal.SIGHUP)
        assert came == []
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_second_signal_does_not_unwind_once_more() -> None:
    with interrupts.unwinding():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        assert {signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)} == {signal.SIG_DFL}


def test_a_command_in_another_thread_leaves_signals_alone(capsys: pytest.CaptureFixture[str]) -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(main(["--version"])))
    thread.start()
    thread.join()
    assert codes == [0]
