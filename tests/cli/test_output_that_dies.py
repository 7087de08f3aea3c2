"""Standard output that is full, closed or gone: a constant sentence or silence, a code, never a traceback."""

import io
import subprocess
import sys
from collections.abc import Callable

import pytest

from discreet.cli import main, streams

SENTENCE = "error: standard output could not be written; what was paid for is kept, and asking again is free\n"

COMMANDS = [
    ["--version"],
    ["--help"],
    ["ledger"],
    ["ledger", "show", "--help"],
    ["init", "--json-schema"],
    ["plan", "study.toml", "--runs", "2", "--only", "smoking"],
    ["plan", "study.toml", "--runs", "2", "--only", "smoking", "--json"],
    ["release", "study.toml", "--only", "smoking"],
    ["release", "study.toml", "--only", "smoking", "--json"],
    ["ledger", "show", "study.ledger"],
    ["ledger", "show", "study.ledger", "--json"],
    ["ledger", "verify", "study.ledger"],
    ["posterior", "smoking.release.json"],
    ["posterior", "smoking.release.json", "--json"],
    ["calibrate", "posterior-sample", "--truncation", "0.2", "--epsilon", "1"],
]


class Full(io.StringIO):
    """Takes so many characters, and no more."""

    def __init__(self, room: int, problem: Exception) -> None:
        super().__init__()
        self.room, self.problem = room, problem

    def write(self, text: str) -> int:
        if len(self.getvalue()) + len(text) > self.room:
            raise self.problem
        return super().write(text)


PROBLEMS = {
    "full": (OSError(28, "canary-4217"), 5, SENTENCE),
    "failing": (OSError(5, "canary-4217"), 5, SENTENCE),
    "closed": (ValueError("I/O operation on closed file: canary-4217"), 5, SENTENCE),
    "pipe": (BrokenPipeError(32, "canary-4217"), 141, ""),
}


def died(arguments: list[str], room: int, problem: Exception) -> tuple[int, str]:
    """The code of a command whose output takes `room` characters, and what stands on standard error."""
    errors = io.StringIO()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", Full(room, problem))
        patched.setattr(sys, "stderr", errors)
        code = main(arguments)
    return code, errors.getvalue()


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_every_command_survives_a_dead_output(run: Callable, study: Callable, name: str) -> None:
    study()
    run("release", "study.toml", "--only", "smoking")
    problem, code, words = PROBLEMS[name]
    for command in COMMANDS if name == "full" else COMMANDS[::5]:
        for room in (0, 20):
            found = died(command, room, problem)
            if found != (0, "") or room == 0:  # some print no more than that
                assert found == (code, words), command


def test_an_output_without_its_guard_is_caught(run: Callable, study: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    study()
    monkeypatch.setattr(streams.Guarded, "_tried", lambda self, action, _: action(self._stream))
    with pytest.raises(OSError, match="canary"):
        died(["ledger", "show", "study.ledger", "--json"], 0, OSError(28, "canary-4217"))


def test_no_output_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", errors)
    assert main(["--version"]) == 5
    assert errors.getvalue() == SENTENCE
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["nope"]) == 2


def test_a_refusal_is_still_told(study: Callable) -> None:
    study()
    code, words = died(["plan", "nowhere.toml", "--json"], 0, OSError(28, "canary"))
    assert code == 5
    assert words.startswith("error: Study file must be readable")
    assert words.endswith(SENTENCE)


@pytest.mark.parametrize("redirection", [">/dev/full 2>&1", ">&-", "| true"])
def test_a_real_process_ends_in_order(study: Callable, redirection: str) -> None:
    """The interpreter flushes once more at its end, which must not fail either."""
    study()
    shell = f'"{sys.executable}" -m discreet ledger show study.ledger --json {redirection}'
    ran = subprocess.run(["bash", "-c", shell + "; exit ${PIPESTATUS[0]}"], capture_output=True, text=True)
    assert ran.returncode == (141 if redirection == "| true" else 5)
    assert ran.stderr == (SENTENCE if redirection == ">&-" else "")
