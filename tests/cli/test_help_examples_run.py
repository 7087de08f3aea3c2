"""Every example in every `--help` runs as it stands, on the study that `discreet init` writes."""

import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from discreet.cli import app
from discreet.cli.commands import compare_command as compare
from discreet.cli.commands import init_command as init
from discreet.guarantee import Budget
from discreet.ledger import Ledger
from postgres_server import Server, served_or_skipped

ROWS = "".join(f"{i % 4 == 0:d},{'ABC'[i % 3]},{20 + i % 60},{i % 5}\n" for i in range(1000))
DICTIONARY = (
    "column,kind,levels,lower,upper\nsmoker,binary,,,\nward,categorical,A|B|C,,\nage,number,,0,110\nvisits,count,,,20\n"
)
SIMULATE = ("plan", "compare")  # with fewer simulated tables than by default
HEAD = "3f5a…"
DATABASE = "postgresql://host/budgets?"  # what examples call a database, and a test gives one for
LONG = ("discreet demo", "discreet reproduce all")  # take their time, and have tests of their own
MAKE = ("", "init", "ledger create", "ledger copy", "ledger grant")  # something that is not there yet, or no more


def helps(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """The words of every command with its help."""
    yield " ".join(path), command.help or ""
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from helps(command.get_command(None, name), (*path, name))


def examples(text: str) -> list[str]:
    """The lines of a help that are commands."""
    return [line.strip() for line in text.partition("Example:")[2].splitlines() if line.strip()]


HELPS = dict(helps(get_command(app)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What examples start from: the study of `init` with its table and releases, and one that asks for draws."""
    from discreet.cli import main

    home = tmp_path_factory.mktemp("made")
    assert main(["init", str(home / "study"), "--epsilon", "3", "--delta", "1e-6", "--json"]) == 0
    (home / "study" / "patients.csv").write_text("smoker,ward,age,visits\n" + ROWS)
    before, mark, groups = init.TEMPLATE.partition("# [[release]]")
    (home / "study" / "groups.toml").write_text(before + mark[2:] + groups.replace("\n# ", "\n"))
    assert main(["release", str(home / "study" / "groups.toml"), "--json"]) == 0
    asked = 'name = "smokers"\nmodel = {kind="NaiveBayes", target="smoker", features=["ward"]}\n'
    asked += 'mechanism = {kind="NoisyStatistics", epsilon=0.1}\nout = "smokers.release.json"\n'
    (home / "study" / "smokers.toml").write_text(init.TEMPLATE.partition("[[release]]")[0] + "[[release]]\n" + asked)
    assert main(["release", str(home / "study" / "smokers.toml"), "--json"]) == 0
    (home / "study" / "new.csv").write_text("ward\nA\nB\n")
    draws = init.TEMPLATE.replace('"NoisyStatistics", epsilon = 0.1', '"DirectSample"', 1)
    (home / "study" / "draws.toml").write_text(draws)
    return home


def check(run: Callable, folder: Path, line: str) -> None:
    """Run one example; what it would write with `>` is what it prints."""
    program, *words = shlex.split(line.replace(HEAD, Ledger.open(folder / "study.ledger").head()))
    assert program == "discreet"
    command = words[: words.index(">")] if ">" in words else words
    ran = run(*command, *(["--runs", "1"] if words[0] in SIMULATE else []))
    assert (ran.code, ran.err) == (0, ""), line
    assert ran.out


@pytest.mark.parametrize("command", [name for name in HELPS if name not in ("demo", *MAKE)])
def test_every_example_of_a_help_runs(run: Callable, made: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    lines = examples(HELPS[command])
    assert lines
    monkeypatch.chdir(made / "study")
    for line in lines:
        assert line.startswith(f"discreet {command}")
        if not line.startswith(LONG):
            check(run, made / "study", line)


@pytest.mark.parametrize("command", ["", "init", "ledger create"])
def test_every_example_that_makes_something_runs(
    run: Callable, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if command == "init":  # what its examples name
        for name in ("patients.csv", "extract.csv"):
            shutil.copy(made / "study" / "patients.csv", name)
        Path("dictionary.csv").write_text(DICTIONARY)
    for line in examples(HELPS[command]):
        if not line.startswith(LONG) and DATABASE not in line:
            check(run, made / "study", line)
        if line.startswith("discreet init study"):
            shutil.copy(made / "study" / "patients.csv", "study")


def test_every_example_that_needs_a_database_runs(
    run: Callable, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one of its own each, which holds the ledger that the example names, if it is not the one to make it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lines = [line for text in HELPS.values() for line in examples(text) if DATABASE in line]
    assert {line.split()[2] for line in lines} == {"create", "copy", "grant"}
    Ledger.create("study.ledger", Budget(epsilon=3))
    with served_or_skipped(durable=True) as server:
        server.run("CREATE ROLE analysts")
        for number, line in enumerate(lines):
            in_a_database(run, made, server, f"budgets_{number}", line)


def in_a_database(run: Callable, made: Path, server: Server, name: str, line: str) -> None:
    """Run one example in a new database of the server."""
    with server.database(name) as url:
        if line.startswith("discreet ledger grant"):
            Ledger.create(f"{url}&ledger=patients", Budget(epsilon=3))
        check(run, made / "study", line.replace(DATABASE, f"{url}&"))


def test_examples_of_the_demonstration_are_those_its_own_tests_run() -> None:
    assert examples(HELPS["demo"]) == ["discreet demo", "discreet demo --folder demo"]


def test_an_example_that_fails_is_found(run: Callable, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison once refused a number of units that was not the study's."""
    monkeypatch.chdir(made / "study")
    right = compare.sized
    monkeypatch.setattr(compare, "sized", lambda schema, n: right(schema if n is None else schema.with_n(n), None))
    with pytest.raises(AssertionError, match="--n 5000"):
        check(run, made / "study", examples(HELPS["compare"])[1])
