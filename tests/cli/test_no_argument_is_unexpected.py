"""Whatever is typed in place of a number or a name, a command answers or refuses in words: nothing is unexpected."""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_help_examples_run import HEAD, LONG, ROWS, examples, helps
from typer.main import get_command

from discreet.cli import app, main
from discreet.cli.commands import calibrate_command as calibrate

HOSTILE = ["", "0", "-1", "nan", "1e400", "8.5,nan", "²", "\x00", "é" * 3000, "1" * 400]
COMMANDS = [name for name, _ in helps(get_command(app)) if name not in ("", "demo", "init", "ledger", "calibrate")]


def typed(command: str, text: str) -> Iterator[list[str]]:
    """The examples of a command, each with one value or file replaced by something else."""
    for line in (line for line in examples(text) if not line.startswith(LONG)):
        words = shlex.split(line.replace(HEAD, "0" * 64))[1:]
        for place in range(len(command.split()), len(words)):
            if not words[place].startswith("--"):
                for hostile in HOSTILE:
                    yield [*words[:place], hostile, *words[place + 1 :]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("typed") / "study"
    assert main(["init", str(place), "--epsilon", "3", "--json"]) == 0
    (place / "patients.csv").write_text("smoker,ward,age,visits\n" + ROWS)
    assert main(["release", str(place / "study.toml"), "--json", "--only", "smoking"]) == 0
    return place


def check(run: Callable, words: list[str]) -> None:
    quick = ["--runs", "1", "--only", "smoking"] if words[0] in ("plan", "compare") else []
    ran = run(*words, *quick)
    assert ran.code in (0, 2, 3, 4, 5), words
    assert "unexpected" not in ran.err, (words, ran.err)
    assert (ran.err == "") == (ran.code == 0), words
    assert ran.err.count("\n") <= 1


@pytest.mark.parametrize("command", COMMANDS)
def test_no_argument_is_unexpected(run: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.chdir(folder)
    text = dict(helps(get_command(app)))[command]
    cases = list(typed(command, text))
    assert cases
    dear = {"plan": 3, "report": 7}  # which simulate or draw: some, of ten that go round
    for words in cases[:: dear.get(command, 1)]:
        check(run, words)


def test_numbers_of_levels_that_are_read_as_floats_are_found(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted error reads them like priors, and nan is no whole number."""

    right = calibrate._listed

    def planted(name: str, value: Any, kind: type[Any] | None) -> Any:
        return tuple(int(count) for count in right(name, value, float)) if kind is int else right(name, value, kind)

    words = ["calibrate", "private-gibbs", "--levels", "nan", "--epsilon-per-update", "0.05", "--sweeps", "2"]
    check(run, words)
    monkeypatch.setattr(calibrate, "_listed", planted)
    with pytest.raises(AssertionError, match="unexpected ValueError"):
        check(run, words)
