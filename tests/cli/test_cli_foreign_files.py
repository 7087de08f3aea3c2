"""A file with semicolons, decimal commas, Latin-1, yes and no and dots in names: from CSV to a posterior without code."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from discreet.cli.study import Study
from discreet.errors import SchemaError
from discreet.guarantee import Budget
from discreet.ledger import Ledger
from discreet.schema import Bounded

STUDY = """
id = "station"
data = "station.csv"
csv = {delimiter=";", decimal=",", encoding="latin-1"}
ledger = "study.ledger"
n = 400

[columns]
"patient.raucher" = {kind="binary", zero="no", one="yes"}
"Größe" = {kind="bounded", lower=0, upper=2, missing=1, cut=[1.25, 1.5]}
Station = {kind="categorical", levels=["Süd", "Nord", "übrige"], missing="exclude", other="übrige"}

[[release]]
name = "smoking"
model = {kind="BetaBernoulli", column="patient.raucher"}
mechanism = {kind="NoisyStatistics", epsilon=1000}
out = "smoking.release.json"

[[release]]
name = "wards"
model = {kind="DirichletCategorical", column="Station"}
mechanism = {kind="NoisyStatistics", epsilon=1000}
out = "wards.release.json"

[[release]]
name = "height"
model = {kind="NormalMean", column="Größe", sd=0.1}
mechanism = {kind="NoisyStatistics", epsilon=1000}
out = "height.release.json"

[[release]]
name = "smokers"
model = {kind="NaiveBayes", target="patient.raucher", features=["Größe"]}
mechanism = {kind="NoisyStatistics", epsilon=1000}
out = "smokers.release.json"

[[release]]
name = "cells"
model = {kind="BadCells", columns=["patient.raucher", "Größe", "Station"]}
mechanism = {kind="NoisyStatistics", epsilon=1000}
out = "cells.release.json"
"""
NAMES = ("smoking", "wards", "height", "smokers", "cells")
HEADER = "patient.raucher;Größe;Station\n"
WARDS = ("Süd", "Nord", "unknown", "Süd")
ROWS = [f"{'yes' if i % 4 == 0 else 'no'};{('1,5', '1,25')[i % 4 == 1]};{WARDS[i % 4]}\n" for i in range(399)]


def written(folder: Path, last: str = "no;1,5;Süd\n", study: str = STUDY) -> Path:
    folder.mkdir()
    (folder / "study.toml").write_text(study, encoding="utf-8")
    (folder / "station.csv").write_bytes((HEADER + "".join(ROWS) + last).encode("latin-1"))
    Ledger.create(folder / "study.ledger", Budget(6000.0))
    return folder


def test_from_a_foreign_file_to_a_right_posterior(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written(tmp_path / "a"))
    ran = run("release", "study.toml")
    assert (ran.code, ran.err) == (0, "")
    text = re.sub(r"\s+", " ", ran.out)
    assert "patient.raucher: any cell but 'no' (0), 'yes' (1) and truth values counts as 0 (declared complete)" in text
    assert "Größe: numbers are clipped to 0..2, other cells count as 1" in text
    assert "Station: unlisted levels count as übrige, missing cells exclude the row" in text
    found = {name: run("posterior", f"{name}.release.json", "--json") for name in NAMES}
    means = {name: _means(ran.document) for name, ran in found.items()}
    assert means["smoking"] == pytest.approx([101 / 402], abs=0.01)
    assert means["wards"] == pytest.approx([201 / 403, 101 / 403, 101 / 403], abs=0.01)
    assert means["height"] == pytest.approx([1.4375], abs=0.01)
    # 1,25 is in [1.25, 1.5) and 1,5 in [1.5, 2]: of those who do not smoke a third is 1,25
    assert means["smokers"][2:] == pytest.approx([0, 1 / 3, 2 / 3, 0, 0, 1], abs=0.02)
    assert means["cells"] == pytest.approx([1, 0, 0, 0, 1, 0, 0, 0, 3 / 4, 1 / 4, 0], abs=0.02)
    assert "Größe: above the bounds" in run("posterior", "cells.release.json").out


def _means(document: Any) -> list[float]:
    """All means of a document, in order."""
    if isinstance(document, dict):
        own = [document["mean"]] if isinstance(document.get("mean"), float) else []
        return own + [mean for key, value in document.items() if key != "mean" for mean in _means(value)]
    return [mean for value in document for mean in _means(value)] if isinstance(document, list) else []


def shape(value: Any) -> Any:
    """What is released, without its numbers."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else "number"


LAST = {
    "unlisted": "No;x;West\n",
    "missing": ";;\n",
    "other numbers": "1;1.5;1\n",
    "bytes": "\xff\xfe;\x81;S\xc3\xbcd\n",
    "quotes": '"yes;1,5;Süd\n',
    "short": "secret-4217\n",
    "long": "yes;" + "9" * 70_000 + ";" + "Süd" * 9000 + "\n",
}


def test_one_cell_changes_no_word(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text, JSON without released numbers, warnings and exit codes are those of the ordinary file."""

    def seen(folder: Path) -> Any:
        monkeypatch.chdir(folder)
        before, text = run("release", "study.toml", "--dry-run"), run("release", "study.toml")
        told = run("release", "study.toml", "--json")
        made = [{**step, "release": None} for step in told.document["releases"]]
        planned = run("plan", "study.toml", "--only", "cells", "--runs", 1)
        files = {path.name: shape(json.loads(path.read_text())["value"]) for path in folder.glob("*.release.json")}
        return before, text, told.code, told.err, made, planned, files

    usual = seen(written(tmp_path / "usual"))
    assert (usual[1].code, usual[1].err, usual[2], usual[3]) == (0, "", 0, "")
    for name, last in LAST.items():
        assert seen(written(tmp_path / name, last)) == usual, name


def test_words_that_look_at_cells_are_found(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def planted(column: Bounded) -> str:
        return "a cell is bad" if b"West" in Path("station.csv").read_bytes() else "all cells are good"

    monkeypatch.setattr(Bounded, "other_cells", planted)
    with pytest.raises(AssertionError, match="unlisted"):
        test_one_cell_changes_no_word(run, tmp_path, monkeypatch)


def test_plan_and_release_say_the_same_of_cells(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written(tmp_path / "a"))
    planned = run("plan", "study.toml", "--only", "smoking", "--runs", 2, "--json").document["releases"][0]
    quoted = run("release", "study.toml", "--only", "smoking", "--dry-run", "--json").document["releases"][0]
    assert planned["cells"] == quoted["cells"]
    assert list(quoted["cells"]) == ["patient.raucher"]


@pytest.mark.parametrize("declared", ["patient.raucher = {", "patient . raucher = {", "'patient'.raucher = {"])
def test_a_name_with_dots_is_to_be_quoted(declared: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "a", study=STUDY.replace('"patient.raucher" = {', declared))
    with pytest.raises(SchemaError, match=r'in quotes where they have dots, as in "patient\.raucher" = \{kind = …\}'):
        Study.load(folder / "study.toml")


@pytest.mark.parametrize(
    ("csv", "words"),
    [
        ("3", "Study.csv must be a table, got 3"),
        ('{sep=";"}', "Csv must have only the keys"),
        ("{delimiter=7}", "Csv.delimiter must be one ASCII sign"),
        ('{encoding="utf-16"}', "Csv.encoding must be"),
    ],
)
def test_a_notation_that_is_none_is_refused(csv: str, words: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "a", study=re.sub(r"csv = \{.*\}", f"csv = {csv}", STUDY))
    with pytest.raises(SchemaError, match=re.escape(words)):
        Study.load(folder / "study.toml")


def test_a_file_in_another_notation_is_refused_without_its_text(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "a", study=STUDY.replace('delimiter=";", decimal=",", ', ""))
    monkeypatch.chdir(folder)
    ran = run("release", "study.toml")
    assert ran.code != 0
    told = re.sub(r"\s+", " ", ran.out + ran.err)
    assert "which it does not have" in told
    assert "declare csv=" in told
    (folder / "station.csv").write_bytes("secret-4217;1,5;Süd\n".encode("latin-1"))
    assert run("release", "study.toml") == ran
