"""Refusals: one clear line, an exit code that tells their kind, nothing spent, nothing written, nothing private."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet import pipeline
from discreet.errors import ReleaseError
from discreet.guarantee import Budget
from discreet.ledger import Ledger
from discreet.release import Release

BAD_STUDIES = {
    "no levels": ('levels=["A","B","C"], ', "", "column 'ward': Categorical.levels must be given, got nothing"),
    "no bound": (", upper=110", "", "column 'age': Bounded.upper must be given, got nothing"),
    "undeclared column": ('column="ward"', 'column="word"', "release 'wards': Schema.columns must contain 'word'"),
    "absent column": ('age = {kind="bounded"', 'weight = {kind="bounded"', "weight"),
    "epsilon 0": ("epsilon=0.5}", "epsilon=0}", "release 'smoking': NoisyStatistics.epsilon must be a finite number"),
    "epsilon -1": ("epsilon=0.5}", "epsilon=-1}", "release 'smoking': NoisyStatistics.epsilon must be a finite number"),
    "epsilon nan": (
        "epsilon=0.5}",
        "epsilon=nan}",
        "release 'smoking': NoisyStatistics.epsilon must be a finite number",
    ),
    "epsilon inf": (
        "epsilon=0.5}",
        "epsilon=inf}",
        "release 'smoking': NoisyStatistics.epsilon must be a finite number",
    ),
    "epsilon text": ("epsilon=0.5}", 'epsilon="1e400"}', "release 'smoking': NoisyStatistics.epsilon must be a finite"),
    "epsilon tiny": ("epsilon=0.5}", "epsilon=1e-13}", "at least 1e-12"),
    "wrong n": ("n = 60", "n = 61", "Schema.n must be the number of units in the source"),
    "no ledger": ("study.ledger", "missing.ledger", "Ledger.path must be an existing ledger"),
    "no data": ("patients.csv", "missing.csv", "missing.csv"),
    "no folder": ('"draw.release', '"none/draw.release', "release 'draw': out must be in a writable folder"),
    "syntax": ("[columns]", "[columns", "Study file must be TOML"),
}


def assert_refused(ran: object, folder: Path, words: str) -> None:
    assert ran.code == (5 if "Ledger.path" in words or "writable folder" in words else 4)
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert words in ran.err
    assert Ledger.open(folder / "study.ledger").entries() == ()
    assert sorted(path.name for path in folder.iterdir()) == [
        "patients.csv",
        "study.ledger",
        "study.ledger.head",
        "study.toml",
    ]


@pytest.mark.parametrize("name", list(BAD_STUDIES))
def test_a_bad_study_is_refused_before_anything_is_spent(run: Callable, study: Callable, name: str) -> None:
    old, new, words = BAD_STUDIES[name]
    folder = study()
    text = (folder / "study.toml").read_text()
    assert old in text
    (folder / "study.toml").write_text(text.replace(old, new, 1))
    assert_refused(run("release", "study.toml"), folder, words)


def test_refusals_are_machine_readable(run: Callable, study: Callable) -> None:
    study()
    Path("study.toml").write_text(Path("study.toml").read_text().replace("epsilon=0.5}", "epsilon=0}", 1))
    ran = run("release", "study.toml", "--json")
    assert ran.code == 4
    assert ran.document["error"]["type"] == "GuaranteeError"
    assert ran.err == f"error: {ran.document['error']['message']}\n"


@pytest.mark.parametrize("dry", [True, False])
def test_overspending_is_refused_with_asked_left_and_missing(run: Callable, study: Callable, dry: bool) -> None:
    folder = study(budget=Budget(0.7))
    ran = run("release", "study.toml", *(["--dry-run"] if dry else []))
    assert ran.code == 3
    assert "asked epsilon = 2," in ran.err
    assert "left epsilon = 0.7" in ran.err
    assert "missing epsilon = 1.3" in ran.err
    assert ran.err.count("\n") == 1
    made = [path.name for path in folder.glob("*.release.json")]
    assert made == []  # a study that does not fit as a whole pays for none of its releases
    assert float(Ledger.open("study.ledger").spent()) == 0
    document = run("release", "study.toml", "--json", *(["--dry-run"] if dry else [])).document
    assert document["error"]["type"] == "BudgetExceeded"
    assert [made["name"] for made in document["releases"]] == []


def test_overspending_names_epsilon_at_the_budgets_delta(run: Callable, study: Callable) -> None:
    study(budget=Budget(0.5, 1e-6))
    for extra in (["--dry-run"], []):
        ran = run("release", "study.toml", *extra)
        assert ran.code == 3
        for word in ("a purchase of 4 releases, epsilon = ", "at delta = 1e-06 asked", "100.0% of the budget is left"):
            assert word in ran.err


def test_an_existing_file_that_holds_something_else_is_kept(run: Callable, study: Callable) -> None:
    folder = study()
    (folder / "wards.release.json").write_text("{}")
    ran = run("release", "study.toml")
    assert (ran.code, ran.out) == (5, "")
    assert "release 'wards': out must be a new file or hold this same release" in ran.err
    assert (folder / "wards.release.json").read_text() == "{}"
    assert Ledger.open("study.ledger").entries() == ()


def test_another_label_is_another_release_and_needs_another_file(run: Callable, study: Callable) -> None:
    study()
    assert run("release", "study.toml", "--only", "smoking").code == 0
    text = Path("study.toml").read_text().replace("epsilon=0.5}", 'epsilon=0.5, label="second"}', 1)
    Path("study.toml").write_text(text)
    assert run("release", "study.toml", "--only", "smoking").code == 5
    Path("study.toml").write_text(text.replace("smoking.release", "second.release"))
    assert run("release", "study.toml", "--only", "smoking").code == 0
    assert Ledger.open("study.ledger").spent() == 1


def test_an_unexpected_error_tells_its_type_and_place_only(
    run: Callable, study: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    study()

    def broken(*_: object, **__: object) -> Release:
        raise ValueError("row 4217 holds secret-4217")

    monkeypatch.setattr(pipeline, "purchase", broken)
    for extra in ([], ["--json"]):
        ran = run("release", "study.toml", *extra)
        assert ran.code == 5
        assert ran.err.startswith("error: unexpected ValueError at discreet/cli/commands/release_command.py:")
        assert "4217" not in ran.out + ran.err
        assert "Traceback" not in ran.err


def test_a_panic_of_a_compiled_library_is_an_error_like_any_other(
    run: Callable, study: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    study()

    class PanicException(BaseException):
        pass

    def broken(*_: object, **__: object) -> Release:
        raise PanicException("secret-4217")

    monkeypatch.setattr(pipeline, "purchase", broken)
    ran = run("release", "study.toml")
    assert (ran.code, ran.out) == (5, "")
    assert "PanicException" in ran.err
    assert "4217" not in ran.err


def test_a_file_that_could_not_be_written_is_written_by_the_next_run_for_free(
    run: Callable, study: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    study()

    def full(*_: object) -> None:
        raise ReleaseError("Release.save must be able to write")

    with monkeypatch.context() as patched:
        patched.setattr(Release, "save", full)
        assert run("release", "study.toml", "--only", "smoking").code == 5
    ran = run("release", "study.toml", "--only", "smoking")
    assert ran.code == 0
    assert "paid before" in ran.out
    assert str(Ledger.open("study.ledger").spent()) == "0.5"


def test_a_run_killed_between_reserve_and_settle_is_finished_without_a_second_charge(
    run: Callable, study: Callable
) -> None:
    folder = study()
    script = (
        "import os, signal, sys\n"
        "from discreet.mechanisms import NoisyStatistics\n"
        "from discreet.cli import main\n"
        "NoisyStatistics.apply = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.exit(main(['release', 'study.toml', '--only', 'smoking']))\n"
    )
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (killed.returncode, killed.stdout, killed.stderr) == (-9, "", "")
    (entry,) = Ledger.open("study.ledger").entries()
    assert entry.status == "reserved"
    assert list(folder.glob("*.release.json")) == []

    quoted = run("release", "study.toml", "--only", "smoking", "--dry-run", "--json").document
    assert quoted["releases"][0]["price"]["amount"] == "0"
    ran = run("release", "study.toml", "--only", "smoking")
    assert ran.code == 0
    assert "paid by a run that stopped" in ran.out
    ledger = Ledger.open("study.ledger")
    assert [(entry.status, str(entry.spend)) for entry in ledger.entries()] == [("settled", "0.5")]
    assert str(ledger.spent()) == "0.5"
    ledger.verify()


@pytest.mark.parametrize("words", [("show",), ("verify",), ("head",)])
def test_a_study_in_the_place_of_a_ledger_is_answered_with_its_ledger(
    run: Callable, study: Callable, words: tuple[str, ...]
) -> None:
    folder = study()
    for given, kind in (("study.toml", "study"), (str(folder), "folder")):
        refused = run("ledger", *words, given)
        assert refused.code == 5
        assert f"must be a ledger, got the {kind} {given!r}: the ledger of its study is" in refused.err
        assert "study.ledger" in refused.err
    (folder / "broken.toml").write_text("[")
    assert "name the file that 'broken.toml' calls ledger" in run("ledger", *words, "broken.toml").err


STUDY, LEDGER = "discreet release study.toml makes its releases", "discreet ledger show study.ledger tells it"
RELEASE, TABLE = (
    "discreet posterior draw.release.json reads it",
    "discreet init study --epsilon 3 --from data.csv makes",
)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("plan", "draw.release.json"), 4, f"called like a release: {RELEASE}"),
        (("release", "study.ledger"), 4, f"called like a ledger: {LEDGER}"),
        (("check", "data.csv"), 4, f"called like a table: {TABLE}"),
        (("posterior", "study.toml"), 5, f"called like a study: {STUDY}"),
        (("posterior", "data.csv"), 5, f"called like a table: {TABLE}"),
        (("synthesize", "study.ledger", "--rows", "9"), 5, f"called like a ledger: {LEDGER}"),
        (("report", "data.csv"), 5, f"called like a table: {TABLE}"),
        (
            ("report", "draw.release.json", "--ledger", "data.csv"),
            5,
            f"must be a ledger, got 'data.csv', called like a table: {TABLE}",
        ),
        (("report", "draw.release.json", "--ledger", "study.toml"), 5, "the ledger of its study is"),
        (("ledger", "show", "draw.release.json"), 5, f"called like a release: {RELEASE}"),
        (("ledger", "verify", "data.csv"), 5, f"called like a table: {TABLE}"),
        (("ledger", "show", "nothing.csv"), 5, "must be an existing ledger"),
    ],
)
def test_a_file_in_the_place_of_another_is_told_what_it_is_called_like(
    run: Callable, study: Callable, words: tuple[str, ...], code: int, told: str
) -> None:
    """By its name alone: a table that was named by mistake is not read to find out, and nothing of it is told."""
    folder = study()
    assert run("release", "study.toml", "--only", "draw", "--quiet").code == 0
    (folder / "data.csv").write_text("name\nRosalind\n")
    refused = run(*words)
    assert (refused.code, refused.out, refused.err.count("\n")) == (code, "", 1)
    assert told in refused.err
    assert "Rosalind" not in refused.err
    assert "line" not in refused.err  # of a table, where it stops to be TOML says something of its cells
