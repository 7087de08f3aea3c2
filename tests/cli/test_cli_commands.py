"""Every command: help with an example, text and JSON, exit codes."""

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet import guarantee as guarantees
from discreet.cli.commands import init_command as init
from discreet.cli.study import Study
from discreet.cli.study_schema import json_schema
from discreet.guarantee import Budget
from discreet.ledger import Ledger
from discreet.release import load

COMMANDS = [
    "",
    "demo",
    "init",
    "plan",
    "release",
    "posterior",
    "report",
    "synthesize",
    "predict",
    "ledger",
    "ledger create",
    "ledger show",
    "ledger verify",
    "ledger head",
    "ledger copy",
    "ledger grant",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(run: Callable, command: str) -> None:
    ran = run(*command.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    example = ran.out.split("Example:\n")[1]
    assert f"discreet {command}".rstrip() in example
    if command and command != "ledger":
        assert "--json" in ran.out


@pytest.mark.parametrize("command", ["", "ledger"])
def test_without_a_command_help_is_shown(run: Callable, command: str) -> None:
    assert run(*command.split()).out == run(*command.split(), "--help").out


def test_version(run: Callable) -> None:
    assert run("--version").out.startswith("discreet ")


@pytest.mark.parametrize(
    "arguments", ["nope", "plan", "plan a.toml --runs 0", "release a.toml --nope", "init", "init x"]
)
def test_a_command_that_is_not_understood_is_one_line_and_code_2(run: Callable, arguments: str) -> None:
    ran = run(*arguments.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1


def test_init_makes_a_study_that_loads_and_overwrites_nothing(run: Callable, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "study"
    ran = run("init", folder, "--epsilon", "3", "--delta", "1e-6", "--json")
    assert ran.code == 0
    assert ran.document["ledger"]["budget"] == {"epsilon": 3.0, "delta": 1e-6}
    assert ran.document["ledger"]["spent"]["amount"] == "0"
    assert (folder / "study.toml").read_text() == init.TEMPLATE
    assert len(Study.load(folder / "study.toml").releases) == 2
    head = Ledger.open(folder / "study.ledger").head()
    assert run("init", folder, "--epsilon", "9").code == 4
    (folder / "study.toml").unlink()
    refused = run("init", folder, "--epsilon", "9")
    assert (refused.code, refused.out) == (5, "")
    assert "never overwritten" in refused.err
    assert not (folder / "study.toml").exists()
    assert Ledger.open(folder / "study.ledger").head() == head


@pytest.mark.parametrize("epsilon", ["0", "-1", "nan", "inf", "1e400"])
def test_init_refuses_bad_budgets_and_leaves_nothing(run: Callable, tmp_path: Path, epsilon: str) -> None:
    ran = run("init", tmp_path / "study", "--epsilon", epsilon)
    assert ran.code == 4
    assert ran.err.startswith("error: Budget.epsilon must be a finite number above 0, got ")
    assert not (tmp_path / "study").exists()


def test_init_prints_the_json_schema(run: Callable) -> None:
    assert run("init", "--json-schema").document == json_schema()


def test_plan_needs_no_data_and_no_ledger(run: Callable, study: Callable) -> None:
    folder = study()
    (folder / "patients.csv").unlink()
    (folder / "study.ledger").unlink()
    (folder / "study.ledger.head").unlink()
    ran = run("plan", "study.toml", "--runs", "3", "--json")
    assert (ran.code, ran.err) == (0, "")
    plans = {made["name"]: made for made in ran.document["releases"]}
    assert list(plans) == ["smoking", "wards", "fevers", "draw"]
    assert plans["smoking"]["guarantee"]["epsilon"] == 0.5
    assert plans["draw"]["width"]["probability"] > plans["smoking"]["width"]["probability"]
    text = run("plan", "study.toml", "--runs", "3", "--only", "smoking")
    assert (text.code, text.err) == (0, "")
    assert "0.5-differential privacy" in text.out
    assert "wards" not in text.out
    assert sorted(path.name for path in folder.iterdir()) == ["study.toml"]


def test_plan_does_not_count_rows(run: Callable, study: Callable) -> None:
    folder = study()
    text = (folder / "study.toml").read_text().replace("n = 60", "")
    (folder / "study.toml").write_text(text)
    ran = run("plan", "study.toml", "--runs", "3", "--only", "smoking")
    assert ran.code == 4
    assert "Schema.n must be declared in the study, as n = 1000, or given, as --n 1000" in ran.err
    assert run("plan", "study.toml", "--runs", "3", "--only", "smoking", "--n", "60").code == 0


def test_a_dry_run_reads_and_spends_nothing(run: Callable, study: Callable) -> None:
    folder = study()
    (folder / "patients.csv").unlink()
    head = Ledger.open("study.ledger").head()
    ran = run("release", "study.toml", "--dry-run", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert [made["price"]["amount"] for made in ran.document["releases"]] == ["0.5"] * 4
    assert [made["left"]["amount"] for made in ran.document["releases"]] == ["2.5", "2", "1.5", "1"]
    text = run("release", "study.toml", "--dry-run")
    assert "16.7% of the budget: epsilon = 0.5, would be paid" in text.out
    assert Ledger.open("study.ledger").head() == head
    assert sorted(path.name for path in folder.iterdir()) == ["study.ledger", "study.ledger.head", "study.toml"]


def test_release_writes_files_and_spends_once(run: Callable, study: Callable) -> None:
    folder = study()
    first = run("release", "study.toml", "--json")
    assert (first.code, first.err) == (0, "")
    files = {path.name: path.read_bytes() for path in folder.glob("*.release.json")}
    assert sorted(files) == [f"{name}.release.json" for name in ("draw", "fevers", "smoking", "wards")]
    assert [made["how"] for made in first.document["releases"]] == ["paid now"] * 4
    assert first.document["ledger"]["spent"]["amount"] == "2"
    assert first.document["releases"][0]["release"] == json.loads(files["smoking.release.json"])
    head = Ledger.open("study.ledger").head()

    (folder / "wards.release.json").unlink()
    second = run("release", "study.toml", "--json")
    assert {path.name: path.read_bytes() for path in folder.glob("*.release.json")} == files
    assert {made["how"] for made in second.document["releases"]} == {"paid before"}
    assert [made["price"]["amount"] for made in second.document["releases"]] == ["0"] * 4
    assert Ledger.open("study.ledger").head() == head
    assert Ledger.open("study.ledger").spent() == 2
    dry = run("release", "study.toml", "--dry-run", "--json")
    assert [made["price"]["amount"] for made in dry.document["releases"]] == ["0"] * 4


def test_a_dry_run_knows_stored_releases_where_n_is_counted(run: Callable, study: Callable) -> None:
    folder = study()
    text = (folder / "study.toml").read_text().replace("n = 60", "")
    (folder / "study.toml").write_text(text)
    assert run("release", "study.toml", "--only", "smoking").code == 0
    dry = run("release", "study.toml", "--dry-run", "--json")
    assert [made["price"]["amount"] for made in dry.document["releases"]] == ["0", "0.5", "0.5", "0.5"]


def test_only_makes_one_release(run: Callable, study: Callable) -> None:
    folder = study()
    assert run("release", "study.toml", "--only", "wards").code == 0
    assert [path.name for path in folder.glob("*.release.json")] == ["wards.release.json"]
    ran = run("release", "study.toml", "--only", "nobody")
    assert ran.code == 4
    assert "must contain 'nobody'" in ran.err


def test_paths_are_relative_to_the_study(run: Callable, study: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = study()
    monkeypatch.chdir(os.sep)
    assert run("release", folder / "study.toml", "--only", "smoking").code == 0
    assert load(folder / "smoking.release.json").recipe["dataset"] == "patients-2026"


def test_ledger_commands(run: Callable, study: Callable, tmp_path: Path) -> None:
    study(budget=Budget(3.0, 1e-6))
    made = run("ledger", "create", "other.ledger", "--epsilon", "1", "--delta", "1e-6", "--filter", "gdp", "--json")
    assert (made.code, made.document["filter"]) == (0, "gdp")
    assert run("ledger", "create", "other.ledger", "--epsilon", "1").code == 5
    assert "created third.ledger" in run("ledger", "create", "third.ledger", "--epsilon", "1").out
    assert run("ledger", "create", "fourth.ledger", "--epsilon", "1", "--filter", "nope").code == 4
    empty = run("ledger", "show", "study.ledger").out
    assert "spent       0.0% of the budget" in empty
    assert "a count of epsilon up to 3; or a Gaussian release of mu up to" in " ".join(empty.split())

    run("release", "study.toml", "--only", "smoking")
    shown = run("ledger", "show", "study.ledger", "--json").document
    assert [entry["status"] for entry in shown["entries"]] == ["settled"]
    assert shown["entries"][0]["recipe"]["dataset"] == "patients-2026"
    assert "release" not in shown["entries"][0]
    text = run("ledger", "show", "study.ledger")
    assert (text.code, text.err) == (0, "")
    assert "BetaBernoulli" in text.out
    assert "16.7% of the budget" in text.out
    assert "5 more like the last request" in text.out
    assert "███████" in text.out

    verified = run("ledger", "verify", "study.ledger", "--head", shown["head"], "--json")
    told = {"path": "study.ledger", "verified": True, "entries": 1, "head": shown["head"]}
    assert verified.document == {**told, "accepted": [], "notices": []}
    Path("study.ledger.head").unlink()
    lost = run("ledger", "verify", "study.ledger")
    assert (lost.code, lost.out) == (5, "")
    assert "must have its head file" in lost.err
    accepted = run("ledger", "verify", "study.ledger", "--accept-head", "--json").document
    assert [each["event"] for each in accepted["accepted"]] == [3]
    assert "without a head file at event 3" in run("ledger", "verify", "study.ledger").out
    assert "is consistent" in run("ledger", "verify", "study.ledger").out
    wrong = run("ledger", "verify", "study.ledger", "--head", "0" * 64, "--json")
    assert wrong.code == 5
    assert wrong.document["error"]["type"] == "LedgerError"
    assert run("ledger", "show", "missing.ledger").code == 5
    assert not Path("missing.ledger").exists()


def test_posterior_in_text_and_json(run: Callable, study: Callable) -> None:
    study()
    run("release", "study.toml")
    ran = run("posterior", "smoking.release.json", "--json")
    assert (ran.code, ran.err) == (0, "")
    (row,) = ran.document["parameters"]
    assert row["parameter"] == "P(smoker = 1)"
    assert row["low"] < row["mean"] < row["high"]
    assert ran.document["level"] == 0.9
    plug_in = run("posterior", "smoking.release.json", "--plug-in", "--json").document
    assert plug_in["kind"] == "plug-in"
    other = run("posterior", "smoking.release.json", "--prior", "500,1", "--json").document
    assert other["parameters"][0]["mean"] > 0.8
    wider = run("posterior", "smoking.release.json", "--level", "0.99", "--json").document
    assert wider["parameters"][0]["low"] < row["low"]
    wards = run("posterior", "wards.release.json", "--prior", "2", "--json").document["parameters"]
    assert [row["parameter"] for row in wards] == ["P(ward = A)", "P(ward = B)", "P(ward = C)"]
    fevers = run("posterior", "fevers.release.json", "--json").document["parameters"]
    assert len(fevers) == 3 + 3 * 2 + 3 * 2
    assert fevers[4]["parameter"] == "P(fever = 1 | ward = A)"
    for name in ("smoking", "wards", "fevers", "draw"):
        text = run("posterior", f"{name}.release.json")
        assert (text.code, text.err) == (0, "")
        assert "P(" in text.out


def test_a_draw_has_the_interval_of_its_own_law_and_says_what_it_is(run: Callable, study: Callable) -> None:
    study()
    run("release", "study.toml", "--only", "draw")
    ran = run("posterior", "draw.release.json")
    assert "tempered" in ran.out
    (row,) = run("posterior", "draw.release.json", "--json").document["parameters"]
    assert set(row) == {"parameter", "mean", "low", "high"}
    assert run("posterior", "draw.release.json", "--plug-in").code == 4


@pytest.mark.parametrize(
    "options",
    [
        ["--prior", "1"],
        ["--prior", "0,1"],
        ["--prior", "nan,1"],
        ["--prior", "x"],
        ["--level", "0"],
        ["--level", "1.5"],
        ["--level", "nan"],
    ],
)
def test_bad_options_of_posterior_are_refused(run: Callable, study: Callable, options: list[str]) -> None:
    study()
    run("release", "study.toml", "--only", "smoking")
    ran = run("posterior", "smoking.release.json", *options)
    assert ran.code in (2, 4, 5)
    assert ran.err.startswith("error: ")
    assert "unexpected" not in ran.err


def test_posterior_refuses_other_files(run: Callable, study: Callable) -> None:
    study()
    for name in ("study.toml", "patients.csv", "nothing.json"):
        ran = run("posterior", name)
        assert (ran.code, ran.out) == (5, "")
        assert ran.err.startswith("error: Release file must be")


def test_the_template_is_toml_with_a_comment_on_every_choice() -> None:
    assert tomllib.loads(init.TEMPLATE)["id"] == "patients-2026"
    assert all(len(line) <= 120 for line in init.TEMPLATE.splitlines())


def test_a_paid_gibbs_chain_is_priced_without_data(run: Callable) -> None:
    """400 updates of 0.05: C of five fields, twice over epsilon, and the composed cost of the literature's example."""
    asked = ("--levels", "8,30,2,2,2", "--epsilon-per-update", "0.05", "--sweeps", "200", "--json")
    found = run("calibrate", "private-gibbs", *asked).document
    assert found["temperature"] == pytest.approx(2 * 18.7258951995 / 0.05)
    cost = guarantees.from_json(found["guarantee"])
    assert cost.epsilon(0.0) == pytest.approx(20.0)
    assert 2.38 < cost.epsilon(1e-6) <= 2.41909317687
    assert run("calibrate", "private-gibbs", "--levels", "1", *asked[2:]).code == 4


def test_a_study_is_one_purchase_and_one_by_one_is_another(run: Callable, study: Callable) -> None:
    """The same study from equal ledgers: at once it fits and closes the ledger, one after another it stops before."""
    folder = study(budget=Budget(1.0, 1e-6))
    text = (folder / "study.toml").read_text()
    head = text.split("[[release]]")[0]
    release = '[[release]]\nname = "r{0}"\nmodel = {{kind = "BetaBernoulli", column = "smoker"}}\nout = "r{0}.json"\n'
    release += 'mechanism = {{kind = "NoisyStatistics", rho = 0.00487, label = "{0}"}}\n'
    (folder / "study.toml").write_text(head + "".join(release.format(i) for i in range(5)))
    dry = run("release", "study.toml", "--dry-run")
    assert dry.code == 0
    assert "close the ledger: nothing fits after it" in " ".join(dry.out.split())
    one_by_one = run("release", "study.toml", "--one-by-one")
    assert (one_by_one.code, Ledger.open("study.ledger").entries()) == (3, ())
    at_once = run("release", "study.toml", "--json")
    assert (at_once.code, len(at_once.document["releases"])) == (0, 5)
    assert [made["price"]["share"] for made in at_once.document["releases"]] == pytest.approx([0.2] * 5)
    assert "100.0% of the budget" in run("ledger", "show", "study.ledger").out
    planned = run("plan", "study.toml", "--runs", "2", "--only", "r1", "--n", "1000").out
    assert "paid before: nothing more" in planned  # a closed ledger refuses only what is new
    (folder / "study.toml").write_text((folder / "study.toml").read_text().replace('label = "1"', 'label = "new"'))
    assert "would be refused" in run("plan", "study.toml", "--runs", "2", "--only", "r1", "--n", "1000").out
