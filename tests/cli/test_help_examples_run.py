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
from discreet.ledger import Ledger
from postgres_server import Server

ROWS = "".join(f"{i % 4 == 0:d},{'ABC'[i % 3]},{20 + i % 60},{i % 5}\n" for i in range(1000))
DICTIONARY = (
    "column,kind,levels,lower,upper\nsmoker,binary,,,\nward,categorical,A|B|C,,\nage,number,,0,110\nvisits,count,,,20\n"
)
SHARED = ("copy", "create", "grant")
SIMULATE = ("plan", "compare")  # with fewer simulated tables than by default
HEAD = "3f5a…"
SERVER = "postgresql://host/budgets?"  # of examples that need one, which run apart
LONG = ("discreet demo", "discreet reproduce all")  # take their time, and have tests of their own


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


@pytest.mark.parametrize("command", [name for name in HELPS if name not in ("", "demo", "init", "ledger create")])
def test_every_example_of_a_help_runs(run: Callable, made: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    lines = examples(HELPS[command])
    assert lines
    monkeypatch.chdir(made / "study")
    for line in lines:
        assert line.startswith(f"discreet {command.split()[0]}")
        if not line.startswith(LONG) and SERVER not in line:
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
        if not line.startswith(LONG) and SERVER not in line:
            check(run, made / "study", line)
        if line.startswith("discreet init study"):
            shutil.copy(made / "study" / "patients.csv", "study")


def test_every_example_of_a_shared_ledger_runs(
    run: Callable, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: Server
) -> None:
    """On a real server: a copy of a file's ledger, then in another database a new one and a role that may pay from it."""
    shutil.copytree(made / "study", tmp_path / "study")
    monkeypatch.chdir(tmp_path / "study")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    lines = {name: [line for line in examples(HELPS[f"ledger {name}"]) if SERVER in line] for name in SHARED}
    assert all(lines.values())
    assert sum(SERVER in line for text in HELPS.values() for line in examples(text)) == sum(map(len, lines.values()))
    durable.run("DROP ROLE IF EXISTS analysts")
    durable.run("CREATE ROLE analysts")
    for names in (SHARED[:1], SHARED[1:]):
        with durable.database("budgets") as url:
            for line in (line for name in names for line in lines[name]):
                check(run, tmp_path / "study", line.replace(SERVER, f"{url}&"))
    durable.run("DROP ROLE analysts")


def test_examples_of_the_demonstration_are_those_its_own_tests_run() -> None:
    assert examples(HELPS["demo"]) == ["discreet demo", "discreet demo --folder demo"]


def test_an_example_that_fails_is_found(run: Callable, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comparison once refused a number of units that was not the study's."""
    monkeypatch.chdir(made / "study")
    right = compare.sized
    monkeypatch.setattr(compare, "sized", lambda schema, n: right(schema if n is None else schema.with_n(n), None))
    with pytest.raises(AssertionError, match="--n 5000"):
        check(run, made / "study", examples(HELPS["compare"])[1])
