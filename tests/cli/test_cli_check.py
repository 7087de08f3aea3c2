"""`discreet check`: exact counts for the custodian's eyes, marked on every line, with nothing written or paid."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_cli_foreign_files import written

from discreet.cli import terminal
from discreet.cli.commands import check_command
from discreet.guarantee import Budget
from discreet.ledger import Ledger
from discreet.sources.engines.duckdb import DuckDB

HOSTILE = "No;-3;\n"  # no level, below the bounds, missing


def marked(ran: Any) -> list[str]:
    """The lines that a check printed, each of which must say that it is private."""
    lines = (ran.out + ran.err).splitlines()
    assert lines
    assert [line for line in lines if not re.match(r"(error: )?PRIVATE ", line)] == []
    return lines


def keyed(document: Any) -> int:
    """How many objects a document has, each of which must say that it is private."""
    if isinstance(document, list):
        return sum(map(keyed, document))
    if not isinstance(document, dict):
        return 0
    assert document["private"] == check_command.NOTE
    return 1 + sum(map(keyed, document.values()))


def counts(document: Any) -> dict[str, dict[str, int]]:
    found = {column["name"]: column["cells"] for column in document["columns"]}
    return {name: {k: v for k, v in cells.items() if v and k != "private"} for name, cells in found.items()}


def test_cells_are_counted_exactly(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path / "a", HOSTILE)
    (folder / "study.ledger").unlink()  # it is not opened
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.chdir(folder)
    text, told = run("check", "study.toml"), run("check", "study.toml", "--json")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert (text.code, text.err, told.code, told.err) == (0, "", 0, "")
    lines = marked(text)
    assert keyed(told.document) == 1 + 2 * 3
    assert told.out.count("\n") == 1  # a line of its own would stand without the word
    assert (told.document["rows"], told.document["units"]) == (400, 400)
    assert counts(told.document) == {
        "patient.raucher": {"declared": 399, "bad": 1},
        "Größe": {"inside": 399, "below the bounds": 1},
        "Station": {"declared": 299, "other": 100, "bad": 1},
    }
    assert "PRIVATE  rows     400, as declared" in lines
    assert "PRIVATE    below the bounds                1    0.25%" in lines
    assert "PRIVATE  numbers are clipped to 0..2, other cells count as 1" in lines


def test_persons_are_counted(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("who,x\n" + "a,1\n" * 3 + "b,0\n" + ",2\n")
    (tmp_path / "s.toml").write_text(
        'data = "t.csv"\nledger = "l"\nrelation = "add-remove"\nn_max = 1\n'
        'unit = {kind="person", column="who", max_records=2}\n[columns]\nx = {kind="binary", missing="exclude"}\n'
        '[[release]]\nname = "a"\nmodel = {kind="BetaBernoulli", column="x"}\n'
        'mechanism = {kind="NoisyStatistics", epsilon=1}\nout = "a.json"\n'
    )
    monkeypatch.chdir(tmp_path)
    ran = run("check", "s.toml")
    lines = marked(ran)
    assert ran.code == 0
    assert "PRIVATE  rows     5" in lines
    assert "PRIVATE  persons  2, above n_max = 1" in lines
    assert "PRIVATE  used     3 rows, at most 2 of each person" in lines
    assert "PRIVATE    bad                             1   20.00%" in lines  # also of a row that is nobody's


def test_what_release_would_refuse_is_shown(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder := written(tmp_path / "a"))
    study = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(study.replace('delimiter=";", decimal=",", ', ""))
    ran, told = run("check", "study.toml"), run("check", "study.toml", "--json")
    assert ran.code == told.code == 4
    marked(ran)
    assert "'patient.raucher;Größe;Station'" in ran.out
    assert keyed(told.document) == 1 + 3 + 1
    assert told.out.count("\n") == 1
    (folder / "study.toml").write_text(study.replace("n = 400", "n = 399"))
    ran = run("check", "study.toml")
    assert ran.code == 4
    assert "PRIVATE  rows     400, not n = 399 as declared" in marked(ran)
    assert "got 399" in ran.err


def test_nothing_is_printed_before_everything_is_counted(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written(tmp_path / "a", HOSTILE))

    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(DuckDB, "statistics", stopped)
    ran = run("check", "study.toml")
    assert (ran.code, ran.out) == (130, "")


@pytest.mark.parametrize("planted", ["MARK", "NOTE", "LINES"])
def test_output_that_is_not_marked_is_found(
    planted: str, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = check_command._document
    if planted == "MARK":
        monkeypatch.setattr(check_command, "MARK", "")
    elif planted == "LINES":
        monkeypatch.setattr(terminal, "emit", lambda document: terminal.write(json.dumps(document, indent=2)))
    else:
        monkeypatch.setattr(check_command, "_document", lambda *given: {**right(*given), "sizes": {"rows": 400}})
    with pytest.raises((AssertionError, KeyError)):
        test_cells_are_counted_exactly(run, tmp_path, monkeypatch)


def test_release_needs_no_check(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check changes nothing: what a study costs and prints is the same with and without one."""
    monkeypatch.chdir(folder := written(tmp_path / "a", HOSTILE))
    before = run("release", "study.toml", "--dry-run")
    run("check", "study.toml")
    assert run("release", "study.toml", "--dry-run") == before
    assert Ledger.open(folder / "study.ledger").budget == Budget(6000.0)
    assert Ledger.open(folder / "study.ledger").entries() == ()


def test_columns_whose_cells_are_all_bad_say_what_to_look_at(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decimal commas read as points, words that are no levels: what counts look like then, and what to change."""
    rows = "smokes;height;ward\n" + "Ja;1,7;A\nNein;1,8;B\n" * 5
    body = """
id = "t"
data = "t.csv"
csv = {delimiter = ";"}
ledger = "t.ledger"
[columns]
smokes = {kind = "binary", zero = "no", one = "yes", missing = "exclude"}
height = {kind = "bounded", lower = 1, upper = 2.5, missing = "exclude"}
ward = {kind = "categorical", levels = ["A", "B"], missing = "exclude"}
[[release]]
name = "height"
model = {kind = "Normal", column = "height"}
mechanism = {kind = "NoisyStatistics", epsilon = 1.0}
out = "height.release.json"
"""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(rows)
    Path("t.toml").write_text(body)
    told = " ".join(line.removeprefix("PRIVATE").strip() for line in marked(run("check", "t.toml")))
    assert told.count("no cell is a declared level: they are compared letter by letter") == 1
    assert told.count('no cell is a number as it is written: if that is 1,5, declare csv = {decimal = ","}') == 1
    Path("t.toml").write_text(
        body.replace('";"}', '";", decimal = ","}').replace('"no", one = "yes"', '"Nein", one = "Ja"')
    )
    assert not [line for line in marked(run("check", "t.toml")) if "no cell is" in line]
