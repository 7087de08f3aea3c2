"""Figures and tables of the papers: what they claim holds, what is written can be read, and a false claim is told."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from discreet.cli import main
from discreet.errors import QueryError
from discreet.studies.panels import Curves, Line
from discreet.studies.paper_tables import PaperTables
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds
from discreet.studies.reproductions import REPRODUCTIONS, chosen
from discreet.studies.written_findings import as_document, write_finding, write_index
from thinned import thinned

DATA = Path(__file__).parents[3] / "shared" / "data"
TABLES = PaperTables(DATA if DATA.exists() else None)
QUICK = 60  # steps of those that run in `make test`: about half a second each at most


@pytest.mark.parametrize("name", thinned(REPRODUCTIONS, lambda name: REPRODUCTIONS[name].steps <= QUICK))
@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
def test_claims_hold(name: str) -> None:
    """Fixed seeds; references within the digits given, simulated numbers within four Monte Carlo errors."""
    finding = REPRODUCTIONS[name].run(TABLES)
    assert finding.claims
    assert json.dumps(as_document(REPRODUCTIONS[name], finding, 2), allow_nan=False)
    assert [f"{claim.text}: {claim.numbers}" for claim in finding.claims if not claim.holds] == []


ON_TABLES = ["foulds-figures-3-5", "foulds-supplement-figures-3-5", "foulds-figure-7", "foulds-used-states"]


@pytest.mark.parametrize("name", thinned([*ON_TABLES, "geumlek-figures-3-4-abalone"], lambda _: False))
@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
def test_claims_hold_on_made_up_tables_and_say_so(name: str) -> None:
    """Without a folder of public tables the same claims are made of tables of the same shape."""
    finding = REPRODUCTIONS[name].run(PaperTables())
    assert finding.synthetic
    assert [f"{claim.text}: {claim.numbers}" for claim in finding.claims if not claim.holds] == []


def test_names_say_the_paper_and_are_listed_once() -> None:
    assert {name.split("-")[0] for name in REPRODUCTIONS} <= {"foulds", "minami", "geumlek"}
    assert all(one.name == name and one.title and one.source for name, one in REPRODUCTIONS.items())


def test_chosen_takes_a_name_a_paper_or_all() -> None:
    assert chosen("all") == tuple(REPRODUCTIONS.values())
    assert [one.name for one in chosen("minami-figure-1")] == ["minami-figure-1"]
    assert {one.name.split("-")[0] for one in chosen("foulds")} == {"foulds"}
    with pytest.raises(QueryError, match="reproduce NAME must be one that --list shows"):
        chosen("figure-1")


def test_a_claim_compares_distances() -> None:
    assert close("x", 1.0, 1.1, 0.11).holds
    assert not close("x", 1.0, 1.1, 0.09).holds
    assert not close("x", math.nan, 1.1, 9.0).holds
    assert close("x", np.float64(1.0), 1.0, 0.1).holds is True  # JSON knows no other


def made(setting: Setting) -> Finding:
    """A study with one claim that holds and one that does not."""
    line = Line(
        "a <line>", [1.0, 10.0, 100.0], [1.0, math.inf, 3.0], low=[0.5, 1.0, 2.0], high=[2.0, 2.0, 4.0], points=True
    )
    return Finding(
        reported="They say <b>.",
        found=f"{setting.runs} runs",
        differs="So it is.",
        tables={"numbers": [{"x": 1.0, "y": math.inf, "word": "a,b"}, {"x": 2.0, "z": 1}]},
        claims=(holds("good", True, "1 of 1"), holds("planted", False, "0 of 1")),
        panels=(Curves("title", "x axis", "y axis", [line], log_x=True, log_y=True, levels={"limit": 2.0}),),
        synthetic=True,
    )


PLANTED = Reproduction("minami-planted", "Nobody, Figure 0", "A planted <study>", made, runs=7)


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    files = write_finding(PLANTED, PLANTED.run(PaperTables()), tmp_path / "new", 7)
    assert {file.suffix for file in files} == {".json", ".csv", ".svg", ".png"}
    document = json.loads((tmp_path / "new" / "minami-planted.json").read_text())
    assert document["found"] == "7 runs"
    assert document["data"].startswith("synthetic")
    assert document["tables"]["numbers"][0] == {"x": 1.0, "y": None, "word": "a,b"}
    with (tmp_path / "new" / "minami-planted.numbers.csv").open() as file:
        assert next(iter(csv.DictReader(file)))["word"] == "a,b"
    page = write_index(tmp_path / "new", ["minami-absent", "minami-planted"]).read_text()
    assert "1 do not hold" in page
    assert "synthetic data of the same shape" in page
    assert "They say &lt;b&gt;." in page
    assert "x axis" in page  # the picture is inside
    assert "<script" not in page
    assert "src=" not in page


def test_a_claim_that_does_not_hold_ends_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(REPRODUCTIONS, "minami-planted", PLANTED)
    assert main(["reproduce", "minami-planted", "--out", str(tmp_path)]) == 5
    shown = capsys.readouterr()
    assert "minami-planted: planted" in shown.err
    assert "DOES NOT HOLD" in shown.out
    assert (tmp_path / "index.html").exists()


def test_the_command_lists_makes_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["reproduce", "--list", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["reproductions"]] == list(REPRODUCTIONS)
    assert main(["reproduce", "minami-figure-1", "--out", str(tmp_path), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["reproduced"]
    assert one["failed"] == []
    for folder in (tmp_path / "none", "é" * 3000):
        assert main(["reproduce", "minami-figure-1", "--data", str(folder)]) == 4
        assert "reproduce --data must be a folder" in capsys.readouterr().err
    assert main(["reproduce", "minami-figure-1", "--out", "é" * 3000]) == 5
    assert "reproduce --out must be a folder to write in" in capsys.readouterr().err
