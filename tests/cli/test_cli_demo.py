"""The demonstration runs the whole line, keeps what it is asked to keep, and fits the screen."""

from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.cli import example
from discreet.cli.commands import demo_command as demo
from discreet.cli.study import Study
from discreet.ledger import Ledger
from discreet.release import load


@pytest.fixture(autouse=True)
def _few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "RUNS", 2)


@pytest.mark.parametrize("width", [80, pytest.param(120, marks=pytest.mark.audit)])
def test_the_demo_tells_the_whole_story(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(tmp_path)
    ran = run("demo")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= width
    for name, truth in example.TRUTH.items():
        (line,) = (line for line in lines if line.startswith(name))
        assert line.removeprefix(name).split()[0] == f"{truth:.3f}"
        assert line.count(" to ") == 2
    words = " ".join(ran.out.split())
    for said in (
        "0.5-differential privacy (pure)",
        "0.003-zCDP",
        "adjusted Rand index",
        "again cost 0.0% of the budget",
        "must stay within the budget",
    ):
        assert said in words
    assert "…" not in ran.out
    assert "page discreet-demo.html" in words
    assert (tmp_path / "discreet-demo.html").stat().st_size < 2_000_000


def test_the_demo_keeps_a_folder_that_works(run: Callable, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    ran = run("demo", "--folder", folder, "--json")
    assert (ran.code, ran.err) == (0, "")
    document = ran.document
    assert [row["parameter"] for row in document["posterior"]["noise_aware"]] == list(example.TRUTH)
    assert document["repeated"]["amount"] == "0"
    assert "of it still fits" in document["refusal"]
    assert document["events"]["adjusted_rand"] > 0.9
    assert Path(document["page"]) == folder / "report.html"
    assert "The ledger</h2>" in (folder / "report.html").read_text()
    assert load(folder / "events.release.json").to_json() == document["events"]["release"]
    assert set(document["plans"]) == set(document["releases"]) == {"smoking", "wards", "flu", "draw"}

    study = Study.load(folder / "study.toml")
    assert study.open().schema.n == example.PATIENTS
    ledger = Ledger.open(folder / "study.ledger")
    ledger.verify()
    assert [entry.status for entry in ledger.entries()] == ["settled"] * 4
    for request in study.releases:
        assert load(request.out).to_json() == document["releases"][request.name]
    assert run("release", folder / "study.toml", "--json").document["ledger"] == document["ledger"]

    again = run("demo", "--folder", folder)
    assert (again.code, again.out) == (5, "")
    assert again.err.startswith("error: demo --folder must be a new folder")


def test_the_table_is_the_same_on_every_machine(tmp_path: Path) -> None:
    example.write_table(tmp_path / "patients.csv")
    lines = (tmp_path / "patients.csv").read_text().splitlines()
    assert lines[0] == "smoker,ward,flu,fever,cough"
    assert len(lines) == example.PATIENTS + 1
    columns = list(zip(*(line.split(",") for line in lines[1:]), strict=True))
    assert sum(map(int, columns[0])) / example.PATIENTS == pytest.approx(0.27, abs=0.02)
    assert set(columns[1]) == set("ABCD")
