"""`discreet init` from names, a dictionary or a public table: nothing typed twice, and no private cell looked at."""

import importlib
import json
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.cli.declaring import declared_table
from discreet.cli.declaring.dictionary import read_dictionary
from discreet.cli.declaring.drafts import Draft
from discreet.cli.declaring.public_table import drafts_of, readable_bounds
from discreet.cli.declaring.study_text import NewStudy
from discreet.cli.study import Study
from discreet.errors import SchemaError
from discreet.ledger import Ledger

sources_open: Any = importlib.import_module("discreet.sources.open")  # the name means the function elsewhere

HEADER = "patient.id;raucher;Größe;Station;visits;notes\n"
ROW = "7;no;1,70;Süd;2;bla\n"
DICTIONARY = """\
Variable;Type;Values;Min;Max;Missing;Description
patient.id;identifier;;;;;
raucher;yes/no;no|yes;;;;smokes
Größe;number;;1,2;2,2;1,7;in m
Station;factor;Süd|Nord;;;;
visits;integer;;0;20;complete;
notes;text;;;;;
"""
NOTATION = ("--delimiter", ";", "--decimal", ",", "--encoding", "latin-1")


def written(folder: Path, body: bytes, name: str = "patients.csv") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(body)
    return folder


def made(run: Callable, folder: Path, *arguments: str) -> tuple[str, str, str]:
    """What init prints and writes."""
    ran = run("init", "study", "--epsilon", "3", *arguments)
    assert ran.code == 0, ran.err
    study = (folder / "study" / "study.toml").read_text()
    shutil.rmtree(folder / "study")
    return ran.out.replace(str(folder), ""), ran.err, study


def test_without_a_folder_it_is_called_like_the_table(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written(tmp_path, b"age;ward\n1;A\n", "wine.tasting.csv"))
    ran = run("init", "--epsilon", "3", "--from", "wine.tasting.csv", "--delimiter", ";")
    assert ran.code == 0, ran.err
    assert (tmp_path / "wine.tasting" / "study.toml").exists()
    assert Ledger.open(tmp_path / "wine.tasting" / "study.ledger").spent() == 0
    assert "needs FOLDER and --epsilon" in run("init", "--epsilon", "3").err


# --- no cell is looked at


NEIGHBOURS = {
    "one other row": b"9999999;yes;99;Nord;17;x\n",
    "no row": b"",
    "numbers for words": b"1;2;3;4;5;6\n" * 50,
    "no text": bytes(range(256)) * 20,
    "a line without end": b"a" * 2**21,
    "empty cells": b";;;;;\n\n\n;;\n",
}


def csv_tables(folder: Path) -> Iterator[tuple[Path, bytes]]:
    header = HEADER.encode("latin-1")
    for name, rows in NEIGHBOURS.items():
        yield folder / name.replace(" ", "-"), header + rows


def agree(run: Callable, monkeypatch: pytest.MonkeyPatch, tables: Iterator[tuple[Path, bytes]], name: str, *options: str) -> None:  # fmt: skip
    """All tables give the same bytes, on the screen and in the study."""
    seen = set()
    for folder, body in tables:
        monkeypatch.chdir(written(folder, body, name))
        seen.add(made(run, folder, "--from", name, *options))
    different = len(seen)
    assert different == 1


def test_init_from_csv_depends_on_the_header_alone(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree(run, monkeypatch, csv_tables(tmp_path), "patients.csv", *NOTATION)


def test_init_that_looks_at_the_first_row_is_caught(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted twin: a column whose first cell is a number is one of numbers."""
    right = sources_open.declared_types

    def sniffs(typed: str, csv: Any) -> list[tuple[str, Any]]:
        cells = Path(typed).read_bytes().split(b"\n")[1].replace(b",", b".").split(b";")
        columns = zip(right(typed, csv), [*cells, b"", b"", b"", b"", b"", b""], strict=False)
        return [(name, "float" if re.fullmatch(rb"[\d.]+", cell) else kind) for (name, kind), cell in columns]

    monkeypatch.setattr(sources_open, "declared_types", sniffs)
    with pytest.raises(AssertionError, match=r"assert [23] == 1"):
        agree(run, monkeypatch, csv_tables(tmp_path), "patients.csv", *NOTATION)


def parquet_tables(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Equal schemas, and other cells, least and greatest ones, numbers of rows and of missing ones; then no cell at all."""
    frames = [
        {"age": [1, 2], "bmi": [0.5, 1.5], "ward": ["A", "B"], "ill": [True, False]},
        {"age": [10**9, None, 7], "bmi": [None, 2.0, 1e300], "ward": ["A", "unknown", None], "ill": [None, True, True]},
        {"age": [], "bmi": [], "ward": [], "ill": []},
    ]
    for i, cells in enumerate(frames):
        table = pa.table(
            cells, pa.schema([("age", pa.int64()), ("bmi", pa.float64()), ("ward", pa.string()), ("ill", pa.bool_())])
        )
        pq.write_table(table, folder / "made.parquet")
        body = (folder / "made.parquet").read_bytes()
        yield folder / f"cells-{i}", body
        footer = int.from_bytes(body[-8:-4], "little") + 8
        yield folder / f"zeros-{i}", b"PAR1" + bytes(len(body) - footer - 4) + body[-footer:]


def test_init_from_parquet_depends_on_the_declared_types_alone(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    agree(run, monkeypatch, parquet_tables(tmp_path), "patients.parquet")


def test_init_that_looks_at_statistics_is_caught(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted twin: whole numbers are told from others by the greatest cell in the footer."""
    right = sources_open.declared_types

    def looks(typed: str, csv: Any) -> Any:
        held = pq.read_metadata(typed)
        facts = [held.row_group(i).column(0).statistics for i in range(held.num_row_groups)]
        large = any(fact is not None and fact.has_min_max and fact.max > 100 for fact in facts)
        return [(name, "text" if large and name == "age" else kind) for name, kind in right(typed, csv)]

    monkeypatch.setattr(sources_open, "declared_types", looks)
    with pytest.raises(AssertionError, match="assert 2 == 1"):
        agree(run, monkeypatch, parquet_tables(tmp_path), "patients.parquet")


PANDAS_CELLS = {
    "whole": ([1, 2], [True, False], ["A", "B"]),
    "missing": ([1, None], [True, None], ["A", None]),
    "a word among numbers": ([1, "unknown"], [True, "maybe"], ["A", "B"]),
    "nothing": ([None, None], [None, None], [None, None]),
}


def pandas_tables(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """As pandas writes them: the types of a column are chosen by its cells, and one of them changes all."""
    for name, (age, ill, ward) in PANDAS_CELLS.items():
        frame = pd.DataFrame({"age": age, "ill": ill, "ward": ward})
        for column in frame:  # as `read_csv` leaves them
            if len(set(map(type, frame[column].dropna()))) > 1:
                frame[column] = frame[column].astype(str)
        frame.to_parquet(folder / "made.parquet")
        yield folder / name.replace(" ", "-"), (folder / "made.parquet").read_bytes()


def test_one_cell_decides_no_type_that_pandas_chose(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    agree(run, monkeypatch, pandas_tables(tmp_path), "t.parquet")
    monkeypatch.chdir(tmp_path / "whole")
    assert 'age = {kind = "?"' in made(run, tmp_path / "whole", "--from", "t.parquet")[2]


def test_types_that_pandas_chose_are_caught(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin: what is in the file is taken for declared, whoever wrote it."""
    monkeypatch.setattr(sources_open, "is_typed", lambda schema, name: True)
    with pytest.raises(AssertionError, match=r"assert [234] == 1"):
        agree(run, monkeypatch, pandas_tables(tmp_path), "t.parquet")


def test_types_that_were_declared_in_pandas_are_taken(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    frame = pd.DataFrame({"age": pd.array([1, None], "Int64"), "ill": pd.array([True, None], "boolean")})
    frame.to_parquet(tmp_path / "t.parquet")
    monkeypatch.chdir(tmp_path)
    text = made(run, tmp_path, "--from", "t.parquet")[2]
    assert 'age = {kind = "bounded", lower = "?", upper = "?", missing = "exclude"}' in text
    assert 'ill = {kind = "binary", missing = "exclude"}' in text


# --- a dictionary


def test_from_a_dictionary_to_a_right_posterior(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six typed facts: folder, table, dictionary, notation, budget, question. A fifth of the cells are unknown."""
    rows = [f"{i};{('no', 'yes', 'no', 'no', 'unknown')[i % 5]};1,7;Süd;2;bla\n" for i in range(1000)]
    monkeypatch.chdir(written(tmp_path, (HEADER + "".join(rows)).encode("latin-1")))
    Path("dictionary.csv").write_text(DICTIONARY)
    table = ("--from", "patients.csv", "--dictionary", "dictionary.csv", *NOTATION)
    ran = run("init", "study", "--epsilon", "10000", *table, "--ask", "raucher", "--ask", "visits", "--json")
    assert (ran.code, ran.err) == (0, "")
    body = tomllib.loads(Path("study/study.toml").read_text())
    assert body["columns"] == {
        "raucher": {"kind": "binary", "zero": "no", "one": "yes", "missing": "exclude"},
        "Größe": {"kind": "bounded", "lower": 1.2, "upper": 2.2, "missing": 1.7},
        "Station": {"kind": "categorical", "levels": ["Süd", "Nord"], "missing": "exclude"},
        "visits": {"kind": "count", "upper": 20},
    }
    assert run("plan", "study/study.toml", "--n", "1000", "--runs", "1").code == 0
    assert run("release", "study/study.toml", "--json").code == 0
    found = run("posterior", "study/raucher.release.json", "--json").document["parameters"]
    assert [parameter["mean"] for parameter in found] == pytest.approx([0.25], abs=0.005)  # of those who said it


def test_every_line_that_init_ends_with_runs(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written(tmp_path, (HEADER + ROW * 60).encode("latin-1")))
    Path("dictionary.csv").write_text(DICTIONARY)
    options = ("--from", "patients.csv", "--dictionary", "dictionary.csv", "--n", "60", *NOTATION)
    steps = run("init", "study", "--epsilon", "3", *options, "--json").document["next"]
    assert [step.split()[1] for step in steps] == ["check", "plan", "release", "release", "posterior"]
    for step in steps:
        words = step.split()[1:]
        few = ["--runs", "1"] if words[0] == "plan" else []
        assert run(*words, *few).code == 0, step


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("a,bool,,,,,", {"kind": "binary", "missing": "exclude"}),
        ("a,Yes/No,No|Yes,,,,", {"kind": "binary", "zero": "No", "one": "Yes", "missing": "exclude"}),
        ("a,flag,0|1,,,0,", {"kind": "binary", "missing": 0}),
        ("a,factor,1=male|2=female,,,,", {"kind": "categorical", "levels": ["1", "2"], "missing": "exclude"}),
        ('a,radio,"1, Male | 2, Female",,,,', {"kind": "categorical", "levels": ["1", "2"], "missing": "exclude"}),
        ('a,,"A, B, C",,,B,', {"kind": "categorical", "levels": ["A", "B", "C"], "missing": "B"}),
        ("a,string,A|B,,,,", {"kind": "categorical", "levels": ["A", "B"], "missing": "exclude"}),
        ("a,Integer,,0,9,complete,", {"kind": "count", "upper": 9}),
        ("a,integer,,-1,9,,", {"kind": "bounded", "lower": -1, "upper": 9, "missing": "exclude"}),
        ("a,,,0.5,9.25,,", {"kind": "bounded", "lower": 0.5, "upper": 9.25, "missing": "exclude"}),
        ("a,double,,0,10,,2|5", {"kind": "bounded", "lower": 0, "upper": 10, "cut": [2, 5], "missing": "exclude"}),
        ("a,number,,,,,", {"kind": "bounded", "lower": "?", "upper": "?", "missing": "exclude"}),
        ("a,,,,,,", {"kind": "?"}),
    ],
)
def test_words_of_dictionaries_are_understood(tmp_path: Path, line: str, column: dict[str, Any]) -> None:
    (tmp_path / "d.csv").write_text(f"Variable,Type,Values,Min,Max,Missing,Cut\n{line}\n")
    assert read_dictionary(tmp_path / "d.csv").drafts["a"].spec == column


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "got an empty file"),
        ("a,b\n1,2\n", "one field called 'column'"),
        ("column,kind,type\na,binary,binary\n", "two that mean 'kind'"),
        ("column,kind\na,colour\n", "line 2, column 'a': kind must be binary, categorical"),
        ("column,kind\na,binary\na,binary\n", "line 3, column 'a': every line must name a column of its own"),
        ("column,kind,levels\na,binary,A|B|C\n", "two levels"),
        ("column,kind,lower,upper\na,number,0 cm,9\n", "lower must be a number, got '0 cm'"),
        ("column,kind,lower,upper\na,number,9,0\n", "line 2, column 'a': Bounded.upper must be above lower"),
        ("column,kind,lower,upper,missing\na,number,0,9,unknown\n", "write exclude"),
        ("column,kind,zero,one\na,binary,no,\n", "must be given together"),
        ("column,kind\na,person\n", "a person must have upper"),
        ("column,kind\na,ignore\n", "must declare at least one column"),
    ],
)  # fmt: skip
def test_mistakes_in_a_dictionary_are_refused_with_their_line(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "d.csv").write_text(text)
    with pytest.raises(SchemaError, match=re.escape(told)):
        read_dictionary(tmp_path / "d.csv")


def test_a_dictionary_says_who_is_protected(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("column,kind,upper\npatient,person,3\nill,binary,\n")
    assert run("init", "study", "--epsilon", "3", "--dictionary", "d.csv").code == 0
    schema = Study.load("study/study.toml").schema
    assert (schema.unit.identifier, schema.unit.max_records, list(schema.columns)) == ("patient", 3, ["ill"])


def test_a_dictionary_of_another_table_is_refused(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words of the dictionary, which is public, and none of the table."""
    monkeypatch.chdir(written(tmp_path, b"Anna;Berg\nx;y\n"))
    Path("d.csv").write_text("column,kind\nsmoker,binary\n")
    ran = run("init", "study", "--epsilon", "3", "--from", "patients.csv", "--dictionary", "d.csv")
    assert (ran.code, ran.out) == (4, "")
    assert "'smoker'" in ran.err
    assert "--delimiter" in ran.err
    assert "Anna" not in ran.err
    assert not Path("study").exists()


# --- a public table


def test_a_public_table_gives_levels_and_bounds(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(
        "yes.no,ward,age,visits,bmi,flag,free,one,nothing\n"
        "yes,B,19,0,17.31,0,a,x,\nno,A,93,7,44.9,1,b,x,NA\nNA,C,40,3,?,1,c,x,\n" + "".join(f"no,A,50,1,20,0,t{i},x,\n" for i in range(60))
    )  # fmt: skip
    found = {name: draft.spec for name, draft in drafts_of(tmp_path / "p.csv", None).items()}
    excluded = {"missing": "exclude"}
    assert found == {
        "yes.no": {"kind": "binary", "zero": "no", "one": "yes", **excluded},
        "ward": {"kind": "categorical", "levels": ["A", "B", "C"], **excluded},
        "age": {"kind": "count", "upper": 95, **excluded},
        "visits": {"kind": "count", "upper": 7, **excluded},
        "bmi": {"kind": "bounded", "lower": 16, "upper": 46, **excluded},
        "flag": {"kind": "binary", **excluded},
        "free": None,
        "one": {"kind": "categorical", "levels": "?"},
        "nothing": None,
    }


FINITE = st.floats(-1e12, 1e12, allow_nan=False).filter(lambda value: value == 0 or abs(value) > 1e-12)


@given(FINITE, FINITE)
@settings(max_examples=200, deadline=None)
def test_readable_bounds_hold_every_cell_and_few_digits(one: float, other: float) -> None:
    low, high = sorted((one, other))
    lower, upper = readable_bounds(low, high)
    assert lower <= low <= high <= upper
    assert lower < upper
    width = high - low or abs(high) or 1.0
    assert upper - lower <= 1.4 * width + 1e-9 * abs(high)


def test_the_private_table_is_not_public(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written(tmp_path, b"ill\n0\n"))
    Path("link.csv").symlink_to("patients.csv")
    ran = run("init", "study", "--epsilon", "3", "--from", "patients.csv", "--public", "link.csv")
    assert ran.code == 4
    assert "another table than the private one" in ran.err


def test_what_public_means_is_said(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written(tmp_path, b"ill,age\n0,20\n"))
    Path("extract.csv").write_text("ill,age\n0,18\n1,97\n")
    out, _, study = made(run, tmp_path, "--from", "patients.csv", "--public", "extract.csv")
    for text in (out, study):
        assert "only if that table is published already, or about nobody" in " ".join(text.split())
    assert 'age = {kind = "bounded"' in study or 'age = {kind = "count"' in study


# --- what is left open


def test_an_open_study_says_what_to_type(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three messages lead from names alone to a plan, each saying the line that the next one accepts."""
    monkeypatch.chdir(written(tmp_path, b"is.ill,age\n0,20\n"))
    assert run("init", "study", "--epsilon", "3", "--from", "patients.csv").code == 0
    file = Path("study/study.toml")
    for ask in (("plan", file, "--n", "10"), ("release", file)):
        refused = run(*ask)
        assert (refused.code, refused.out) == (4, "")
        assert '"is.ill" = {kind = "binary", zero = "no", one = "yes"}' in refused.err
    file.write_text(
        file.read_text().replace('"is.ill" = {kind = "?"}', '"is.ill" = {kind = "binary", zero = "no", one = "yes"}')
    )
    refused = run("plan", file, "--n", "10")
    line = re.search(r"write (model = \{.*?\})", refused.err)
    assert line is not None
    file.write_text(file.read_text().replace('model = {kind = "?", column = "is.ill"}', line[1]))
    assert run("plan", file, "--n", "10", "--runs", "1").code == 0  # age may stay open: no release asks about it
    assert list(Study.load(file).schema.columns) == ["is.ill"]


def test_bounds_that_are_open_are_named(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"age": [1.5]}), "t.parquet")
    assert run("init", "study", "--epsilon", "3", "--from", "t.parquet").code == 0
    assert "lower and upper must be given" in run("plan", "study/study.toml", "--n", "10").err


def test_init_works_beside_files_and_replaces_none(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written(tmp_path, b"ill\n0\n"))
    assert run("init", ".", "--epsilon", "3", "--from", "patients.csv", "--ask", "ill").code == 0
    before = Path("study.toml").read_bytes(), Ledger.open("study.ledger").head(), Path("patients.csv").read_bytes()
    refused = run("init", ".", "--epsilon", "9", "--from", "patients.csv")
    assert refused.code == 4
    assert "discreet plan study.toml" in refused.err
    assert before == (
        Path("study.toml").read_bytes(),
        Ledger.open("study.ledger").head(),
        Path("patients.csv").read_bytes(),
    )


TEXTS = st.text(max_size=30)
NAMES = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(str.strip),
    min_size=1,
    max_size=5,
    unique=True,
)


@given(
    NAMES, st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), min_size=2, max_size=4, unique=True)
)
@settings(max_examples=100, deadline=None)
def test_whatever_the_names_are_the_study_is_toml(names: list[str], levels: list[str]) -> None:
    drafts = [Draft(name, {"kind": "categorical", "levels": levels}, "note\nof lines\x1b") for name in names]
    study = NewStudy("id", "t.csv", [*drafts, Draft("left\nout", None, "gone")], names, 0.1)
    body = tomllib.loads(study.text())
    assert {name: spec["levels"] for name, spec in body["columns"].items()} == dict.fromkeys(names, levels)
    assert [release["model"]["column"] for release in body["release"]] == names
    assert len({release["out"] for release in body["release"]}) == len(names)
    json.dumps(body)


def test_a_header_read_with_the_wrong_delimiter_is_told(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written(tmp_path, b"a;b;c\n1;2;3\n"))
    out = " ".join(made(run, tmp_path, "--from", "patients.csv")[0].split())
    assert "add --delimiter ';'" in out


def test_a_column_to_ask_about_is_one_of_the_table(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written(tmp_path, b"a,b\n1,2\n"))
    ran = run("init", "study", "--epsilon", "3", "--from", "patients.csv", "--ask", "c")
    assert (ran.code, Path("study").exists()) == (4, False)
    assert "there are 'a', 'b'" in ran.err
    assert "did you mean" not in ran.err
    assert "did you mean 'a'?" in run("init", "study", "--epsilon", "3", "--from", "patients.csv", "--ask", "A").err


def test_a_question_about_a_header_that_was_not_cut_names_the_delimiter(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for sign, typed in ((";", "--delimiter ';'"), ("\t", "--delimiter $'\\t'")):
        Path("patients.csv").write_text(sign.join(("a", "b")) + "\n1" + sign + "2\n")
        ran = run("init", "study", "--epsilon", "3", "--from", "patients.csv", "--ask", "a")
        assert (ran.code, Path("study").exists()) == (4, False)
        assert typed in ran.err


def test_a_study_needs_columns_from_somewhere(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "--dictionary" in run("init", "study", "--epsilon", "3", "--ask", "a").err
    assert declared_table.Given().is_nothing


def test_an_address_is_refused_and_not_repeated(run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("init", "study", "--epsilon", "3", "--from", "postgresql://me:secret@host/base")
    assert (ran.code, ran.out, Path("study").exists()) == (4, "", False)
    assert "secret" not in ran.err
    assert "--dictionary" in ran.err


def test_decimal_commas_are_asked_after_where_semicolons_are_declared(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From what was typed alone: the table is not read to find out."""
    monkeypatch.chdir(written(tmp_path, b"a;b\n1,5;2\n"))
    out = " ".join(made(run, tmp_path, "--from", "patients.csv", "--delimiter", ";")[0].split())
    assert 'if the table writes 1,5, let csv in the study be {delimiter = ";", decimal = ","}' in out
    out = made(run, tmp_path, "--from", "patients.csv", "--delimiter", ";", "--decimal", ",")[0]
    assert "decimal" not in out


def test_a_table_that_is_not_there_or_in_the_place_of_the_folder_is_told(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(written(tmp_path, b"a,b\n1,2\n"))
    ran = run("init", "study", "--epsilon", "3", "--from", "patient.csv")
    assert (ran.code, Path("study").exists()) == (4, False)
    assert "init --from must be an existing file or a glob that matches one, got 'patient.csv'; did you mean" in ran.err
    ran = run("init", "patients.csv", "--epsilon", "3")
    assert ran.code == 4
    assert "A table is named by --from, as in discreet init study --epsilon 3 --from patients.csv" in ran.err
    assert Path("patients.csv").read_text() == "a,b\n1,2\n"
