"""Exit codes say the kind of a refusal, in every command alike; `--quiet` leaves errors and JSON; shells can complete."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from test_help_examples_run import HELPS
from typer.main import get_command

import discreet as dc
from discreet import errors
from discreet.cli import app, main
from discreet.cli.progress_line import Progress
from discreet.guarantee import Budget

MISSING = "nowhere/at-all"
# What each command is given that is not there or not right, by the code that it must end with.
REFUSED = {
    "demo": {5: ["--folder", "."]},
    "init": {4: ["study", "--epsilon", "0"]},
    "check": {4: [MISSING]},
    "plan": {4: [MISSING]},
    "compare": {4: [MISSING, "--epsilon", "1"]},
    "release": {3: ["study.toml"], 4: [MISSING], 5: ["unmade.toml"]},
    "posterior": {4: ["smoking.release.json", "--level", "2"], 5: [MISSING]},
    "report": {4: [], 5: [MISSING]},
    "reproduce": {4: ["no-such-figure"]},
    "synthesize": {5: [MISSING, "--rows", "5"]},
    "predict": {5: [MISSING, "new.csv", "-o", "out.csv"]},
    "ledger create": {4: ["new.ledger", "--epsilon", "-1"], 5: ["study.ledger", "--epsilon", "1"]},
    "ledger show": {5: [MISSING]},
    "ledger verify": {5: [MISSING]},
    "ledger head": {5: [MISSING]},
    "ledger copy": {5: [MISSING, "new.ledger"]},
    "ledger grant": {5: ["study.ledger", "analysts"]},
    "calibrate noisy-statistics": {4: ["--l1", "1", "--epsilon", "-1"]},
    "calibrate direct": {4: ["--prior", "6,-12", "--n", "100"]},
}


@pytest.fixture
def poor(study: Callable, run: Callable) -> Path:
    """A study that costs more than its ledger holds, and one release that was made."""
    folder: Path = study(budget=Budget(0.7))
    assert run("release", "study.toml", "--only", "smoking", "--quiet").out == ""
    (folder / "unmade.toml").write_text((folder / "study.toml").read_text().replace("study.ledger", "no.ledger"))
    return folder


@pytest.mark.parametrize("command", [name for name in HELPS if name and not name.startswith("calibrate")])
def test_every_command_tells_the_kinds_apart(run: Callable, poor: Path, command: str) -> None:
    if command == "ledger":
        return
    assert "exit code" in epilog(command).lower()
    words = command.split()
    assert run(*words, "--no-such-option").code == 2
    for code, arguments in REFUSED.get(command, {}).items():
        ran = run(*words, *arguments, "--quiet")
        assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1), (command, ran.err)
    ran = run(*words, "--help")
    assert (ran.code, ran.err) == (0, "")
    for code in range(2, 6):
        assert f" {code} " in " ".join(ran.out.partition("Exit codes")[2].split())


@pytest.mark.parametrize("command", [name for name in HELPS if name.startswith("calibrate ")])
def test_calibrations_have_the_same_codes(run: Callable, command: str) -> None:
    assert "Exit codes" in epilog(command)
    assert run(*command.split(), "--no-such-option").code == 2
    for code, arguments in REFUSED.get(command, {}).items():
        assert run(*command.split(), *arguments).code == code


def test_every_command_is_tried() -> None:
    groups = {name for name in HELPS if any(other.startswith(f"{name} ") for other in HELPS)}
    assert {name for name in HELPS if name and not name.startswith("calibrate")} - groups <= set(REFUSED)


def epilog(command: str) -> str:
    found = get_command(app)
    for word in command.split():
        found = found.get_command(None, word)
    return found.epilog or ""


def test_every_error_has_one_of_the_codes() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, dc.DiscreetError)]
    assert {kind.__name__: kind.exit_code for kind in kinds} == {
        "DiscreetError": 5,
        "SchemaError": 4,
        "QueryError": 4,
        "GuaranteeError": 4,
        "BudgetExceeded": 3,
        "LedgerError": 5,
        "ReleaseError": 5,
    }


def test_quiet_leaves_the_document_and_the_file(run: Callable, study: Callable) -> None:
    folder = study()
    for words in (["plan", "study.toml", "--runs", "1"], ["release", "study.toml"], ["ledger", "show", "study.ledger"]):
        ran = run(*words, "--quiet")
        assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert (folder / "wards.release.json").exists()
    assert run("posterior", "smoking.release.json", "-q", "--json").document["parameters"]


def test_an_interruption_names_every_release_that_stays_charged(
    run: Callable, study: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole study is one purchase: what is not made yet is paid, too."""
    from discreet.mechanisms import PosteriorSample

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    study()
    with monkeypatch.context() as patched:
        patched.setattr(PosteriorSample, "apply", stopped)
        ran = run("release", "study.toml", "--quiet")
    assert "'draw' stays charged, and the same command again makes what is missing and costs nothing" in ran.err
    with monkeypatch.context() as patched:
        patched.setattr(dc.Ledger, "reserve_all", stopped)
        assert "'draw' stays charged" in run("release", "study.toml", "--only", "draw").err
        assert "nothing stays charged" in run("release", "study.toml", "--only", "smoking").err
    assert run("release", "study.toml").code == 0


def test_shells_are_told_what_may_come_next(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"_DISCREET_COMPLETE": "complete_bash", "COMP_WORDS": "discreet pos", "COMP_CWORD": "1"}
    told = subprocess.run(
        [sys.executable, "-m", "discreet"], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["posterior"]
    with pytest.raises(SystemExit, match="0"):
        main(["--show-completion", "bash"])


def test_the_version_is_the_installed_one(run: Callable) -> None:
    from importlib.metadata import version

    assert run("--version").out == f"discreet {dc.__version__}\n"
    assert dc.__version__ == version("discreet")


class Watched(io.StringIO):
    """A standard error that somebody looks at."""

    def isatty(self) -> bool:
        return True


def test_a_share_of_public_work_is_told_and_time_left_of_free_work_only(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = Watched()
    monkeypatch.setattr(sys, "stderr", errors)
    clock = iter([0.0, 30.0, 40.0])
    monkeypatch.setattr("discreet.cli.progress_line.time.monotonic", lambda: next(clock))
    with Progress("reading", work=8, free=True) as shown:
        shown(2)
        shown(2)
    assert "25%, 90 s left" in errors.getvalue()
    assert "50%, 40 s left" in errors.getvalue()
    with Progress("paid", work=8) as shown:  # looks at no clock
        shown(2)
        shown(9)
    assert "paid  25%" in errors.getvalue()
    assert "paid 100%" in errors.getvalue()
    assert errors.getvalue().count("left") == 2
    with pytest.raises(dc.QueryError, match=r"Progress\.work must be"):
        Progress("nothing", work=0)


def test_a_notebook_is_written_over_where_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for modules, shown in (({}, ""), ({"ipykernel": sys}, "\r\ra   3 states\r            \r")):
        errors = io.StringIO()
        monkeypatch.setattr(sys, "stderr", errors)
        for name, module in modules.items():
            monkeypatch.setitem(sys.modules, name, module)
        with Progress("a  ") as line:
            line(3)
        assert errors.getvalue() == shown
