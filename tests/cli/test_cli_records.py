"""Synthetic tables and predictions by the command line: files, JSON, counted cells, and what is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.posterior import new_rows
from discreet.posterior.base import Posterior
from discreet.posterior.records import record_files

SCHEMA = dc.Schema(
    {
        "ward": dc.Categorical(["A", "B", "C"]),
        "fever": dc.Binary(zero="no", one="yes", missing=0),
    },
    n=90,
)
FRAME = pd.DataFrame({"ward": list("ABC") * 30, "fever": ["no", "yes", "no", "no", "yes", "yes"] * 15})
MODELS = {
    "bayes": dc.NaiveBayes("ward", ("fever",)),
    "wards": dc.DirichletCategorical("ward", by="fever"),
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases of two models."""
    folder = tmp_path_factory.mktemp("releases")
    ledger = dc.Ledger.create(folder / "study.ledger", dc.Budget(epsilon=100.0))
    for name, model in MODELS.items():
        made = dc.release(model, dc.open(FRAME, SCHEMA, id="t"), dc.NoisyStatistics(epsilon=20.0), ledger)
        made.save(folder / f"{name}.release.json")
    return folder


@pytest.fixture
def home(releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for file in releases.glob("*.json"):
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_tables_are_written_and_repeated_by_their_seed(run: Callable, home: Path) -> None:
    ran = run("synthesize", "bayes.release.json", "--rows", "500", "--tables", "3", "--seed", "4", "--json")
    assert ran.document["tables"] == [f"bayes.synthetic-{i}.csv" for i in (1, 2, 3)]
    frames = [pd.read_csv(home / name) for name in ran.document["tables"]]
    for frame in frames:
        assert frame.shape == (500, 2)
        assert set(frame["fever"]) == {"no", "yes"}
        assert set(frame["ward"]) <= {"A", "B", "C"}
    assert not frames[0].equals(frames[1])
    again = run(
        "synthesize", "bayes.release.json", "--rows", "500", "--tables", "3", "--seed", "4", "--out", "b.parquet"
    )
    assert again.code == 0
    assert "500 in each of 3 tables" in again.out
    assert pq.read_table("b-2.parquet").to_pandas().equals(frames[1])


def test_groups_are_a_column(run: Callable, home: Path) -> None:
    ran = run("synthesize", "wards.release.json", "--rows", "40", "--tables", "1", "--out", "w.csv", "--json")
    assert (ran.document["records"], ran.document["columns"]) == (80, ["fever", "ward"])
    assert pd.read_csv("w.csv")["fever"].value_counts().to_dict() == {"no": 40, "yes": 40}  # as declared


def test_groups_that_learn_from_each_other_are_written_as_declared_too() -> None:
    schema = dc.Schema({"ill": dc.Binary(), "fever": SCHEMA.columns["fever"], "age": dc.Count(9, cut=[5])}, n=90)
    for by, due in (("fever", {"no", "yes"}), ("age", set(range(10)))):
        (made,) = dc.simulate(
            dc.BetaBernoulli("ill", by=by), None, dc.NoisyStatistics(epsilon=20.0), schema=schema, runs=1
        )
        for pooling in (None, "partial"):
            table = made.posterior(pooling=pooling).table(60, np.random.default_rng(1))
            assert set(table[by].to_pylist()) == due


def test_a_synthetic_table_is_read_under_the_schema_of_the_private_one(run: Callable, home: Path, sizes: str) -> None:
    """A number that the model cuts is a number again, and a release of the table says the same of its ranges."""
    assert run("synthesize", sizes, "--rows", "400", "--tables", "1", "--seed", "1", "--out", "s.csv").code == 0
    written = pd.read_csv("s.csv")
    assert written["age"].dtype == float
    assert written["age"].between(0, 100).all()
    schema = dc.Schema({**SIZES, "age": dc.Bounded(0, 100, cut=[50.5])})
    ledger = dc.Ledger.create("s.ledger", dc.Budget(epsilon=200.0))
    made = dc.release(SIZED, dc.open("s.csv", schema, id="s"), dc.NoisyStatistics(epsilon=100.0), ledger)
    ages = np.asarray(made.value["age"]).sum(axis=0)
    assert np.all(np.abs(ages - [(written["age"] < 50.5).sum(), (written["age"] >= 50.5).sum()]) <= 2)


def test_predictions_are_written_and_unknown_cells_counted(run: Callable, home: Path) -> None:
    Path("new.csv").write_text("id,fever\n1,yes\n2,no\n3,often\n")
    ran = run("predict", "bayes.release.json", "new.csv", "-o", "out.csv", "--json")
    assert ran.document["unknown"] == {"fever": 1}
    found = pd.read_csv("out.csv")
    assert list(found.columns) == ["prediction", "probability"]
    assert found["prediction"][1] == found["prediction"][2]
    assert np.all(found["probability"] <= 1)
    text = run("predict", "bayes.release.json", "new.csv", "-o", "other.csv")
    assert "1 in column 'fever'" in " ".join(text.out.split())


CANARY = "secret-4217"
NOTED = ("--delimiter", ";", "--decimal", ",", "--encoding", "latin-1")


SIZES = {"tall": dc.Binary(zero="no", one="yes"), "ward": dc.Categorical(["Süd", "2", "3,5"], missing="exclude")}
SIZED = dc.NaiveBayes("tall", ("ward", "age"))


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A release about levels that are no ASCII and about numbers that are cut."""
    schema = dc.Schema({**SIZES, "age": dc.Bounded(0, 100, cut=[50.5], missing=0)})
    frame = pd.DataFrame({"tall": ["no", "yes"] * 60, "ward": ["Süd", "2", "3,5"] * 40, "age": [20.0, 70.0] * 60})
    folder = tmp_path_factory.mktemp("sizes")
    ledger = dc.Ledger.create(folder / "study.ledger", dc.Budget(epsilon=100.0))
    dc.release(SIZED, dc.open(frame, schema, id="t"), dc.NoisyStatistics(epsilon=50.0), ledger).save(folder / "r.json")
    return str(folder / "r.json")


def test_new_rows_are_read_as_they_are_written(run: Callable, home: Path, sizes: str) -> None:
    """Levels by their texts, numbers with commas; a number with a point is none there, as in a private table."""
    Path("new.csv").write_bytes("nr;ward;age\n1;Süd;50,75\n2;2,0;50,25\n3;3,5;60.5\n".encode("latin-1"))
    ran = run("predict", sizes, "new.csv", "-o", "out.csv", "--json", *NOTED)
    assert ran.code == 0
    assert ran.document["unknown"] == {"age": 1}
    assert pd.read_csv("out.csv")["prediction"].tolist() == ["yes", "no", "no"]
    Path("plain.csv").write_text('ward,age\nSüd,50.75\n2.0,50.25\n"3,5",x\n')
    assert run("predict", sizes, "plain.csv", "-o", "plain-out.csv").code == 0
    assert Path("plain-out.csv").read_text() == Path("out.csv").read_text()
    Path("quoted.csv").write_text("ward|age\n'Süd'|50.75\n2.0|50.25\n'3,5'|\n")
    signs = ("--delimiter", "|", "--quote", "'")
    assert run("predict", sizes, "quoted.csv", "-o", "quoted-out.csv", *signs).code == 0
    assert Path("quoted-out.csv").read_text() == Path("out.csv").read_text()


def test_commas_that_are_read_as_points_are_found(
    run: Callable, home: Path, sizes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(new_rows, "has_commas", lambda _: False)
    with pytest.raises(AssertionError):
        test_new_rows_are_read_as_they_are_written(run, home, sizes)


@pytest.mark.parametrize(
    ("rows", "signs", "told"),
    [
        (f"{CANARY};age\n2;1\n", (), "the CSV file was read as Csv(delimiter=',', decimal='.'"),
        (f"{CANARY};age\nSüd;1\n", (), "which is not as Csv(delimiter=',', decimal='.'"),
        (f"{CANARY};age\n2,5;1,5;3,5\n", (), 'say how it is written, as in --delimiter ";"'),
        (f"ward;age\n{CANARY};ü\n", ("--delimiter", ";"), "must be a readable CSV or Parquet file"),
        (f"ward;age\n{CANARY};1\n", ("--delimiter", ";", "--encoding", "cp1252"), "got one in row 0"),
        (f"ward;age\n{CANARY};1\n", ("--delimiter", ";;"), "Csv.delimiter must be one ASCII sign"),
        (f"ward;age\n{CANARY};1\n", ("--encoding", "utf-16"), "Csv.encoding must be UTF-8 or"),
        (f"ward;age\n{CANARY};1\n", ("--decimal", ","), "Csv.decimal must be another sign than the delimiter"),
    ],
)
def test_refusals_show_no_text_of_new_rows(
    run: Callable, home: Path, sizes: str, rows: str, signs: tuple[str, ...], told: str
) -> None:
    Path("new.csv").write_bytes(rows.encode("latin-1"))
    ran = run("predict", sizes, "new.csv", "-o", "out.csv", *signs)
    assert ran.code == 4
    assert told in ran.err
    assert CANARY not in ran.err + ran.out
    assert not Path("out.csv").exists()


def test_only_csv_files_are_written_with_signs(run: Callable, home: Path, sizes: str) -> None:
    pd.DataFrame({"ward": ["2"], "age": [1.0]}).to_parquet("new.parquet")
    ran = run("predict", sizes, "new.parquet", "-o", "out.csv", "--delimiter", ";")
    assert "new rows must be a CSV file where it is said how it is written" in ran.err
    assert run("predict", sizes, "new.parquet", "-o", "out.csv").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("synthesize bayes.release.json --rows 5 --tables 1 --out x.txt", "must end in .csv or .parquet"),
        ("synthesize bayes.release.json --rows 5 --tables 1 --out none/x.csv", "whose folder is not there"),
        ("synthesize bayes.release.json --rows 5 --tables 1 --out there.csv", "which is there already"),
        ("synthesize bayes.release.json --rows 5 --out nowhere.csv --tables 1", "which is there already"),
        ("synthesize bayes.release.json --rows 5 --out /", "must end in .csv or .parquet"),
        ("predict bayes.release.json wide.csv -o out.csv", "encoding='utf-8') (Error)"),
        ("predict wards.release.json new.csv -o out.csv", "must be of a model with a target"),
        ("predict bayes.release.json none.csv -o out.csv", "must be a readable CSV or Parquet file"),
        ("predict bayes.release.json new.csv -o out.csv --target ward", "target must be of a network"),
        ("predict bayes.release.json there.csv -o out.csv", "must have the columns ['fever']"),
    ],
)
def test_what_cannot_be_done_is_one_line(run: Callable, home: Path, words: str, told: str) -> None:
    Path("there.csv").write_text("x\n1\n")
    Path("new.csv").write_text("fever\nyes\n")
    Path("wide.csv").write_text("f" * 200_000 + "\n")
    Path("nowhere.csv").symlink_to("target.csv")
    ran = run(*words.split())
    assert ran.code == 4
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert not Path("out.csv").exists()
    assert not Path("target.csv").exists()
    assert json.loads(run(*words.split(), "--json").out)["error"]["message"]


@pytest.mark.parametrize("stopped_by", [OSError, KeyboardInterrupt, "a file that comes to be there"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_all_tables_are_written_or_none(
    kind: str, stopped_by: Any, run: Callable, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the second of three tables, half of which is written; nothing is left of them."""
    right, seen = record_files._write, []

    def write(table: Any, stream: Any, kind: str) -> None:
        seen.append(kind)
        right(table, stream, kind)
        if len(seen) == 2 and isinstance(stopped_by, str):
            Path(f"t-2{kind}").write_text("somebody else's")
        elif len(seen) == 2:
            raise stopped_by

    monkeypatch.setattr(record_files, "_write", write)
    words = ("synthesize", "bayes.release.json", "--rows", "50", "--tables", "3", "--out", f"t.{kind}")
    before = sorted(path.name for path in home.iterdir())
    assert run(*words).code != 0
    if isinstance(stopped_by, str):
        assert Path(f"t-2.{kind}").read_text() == "somebody else's"
        Path(f"t-2.{kind}").unlink()
    assert sorted(path.name for path in home.iterdir()) == before
    assert run(*words).code == 0
    assert sorted({path.name for path in home.iterdir()} - set(before)) == [f"t-{i}.{kind}" for i in (1, 2, 3)]


def test_a_file_that_takes_its_place_at_once_is_caught(
    run: Callable, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: tables written where they belong, so that half of one is left behind."""
    monkeypatch.setattr(Path, "with_name", lambda path, _: path)
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
    with pytest.raises(AssertionError):
        test_all_tables_are_written_or_none("csv", OSError, run, home, monkeypatch)


@pytest.mark.parametrize("told", [True, False])
def test_chains_that_did_not_converge_are_told(
    told: bool, run: Callable, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("new.csv").write_text("fever\nyes\n")
    if told:
        mixing = SimpleNamespace(converged=False, words="the chains have not converged")
        monkeypatch.setattr(Posterior, "mixing", mixing)
    commands = {
        "t": ("synthesize", "bayes.release.json", "--rows", "9", "--tables", "1", "--out"),
        "p": ("predict", "bayes.release.json", "new.csv", "-o"),
    }
    for name, words in commands.items():
        text, document = run(*words, f"{name}.csv"), run(*words, f"{name}-json.csv", "--json")
        assert ("the chains have not converged" in " ".join(text.out.split())) is told
        assert document.document["converged"] is not told
