"""How a CSV file is written is declared: nothing is guessed from its lines, and no text of it is shown."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.queries.counts_and_sums import Counts
from discreet.queries.statistics import Statistics
from discreet.sources.readers import identifiers

ENCODINGS = [
    "latin-1",
    "cp1252",
    "cp1250",
    "iso8859-15",
    "koi8-r",
    "koi8_u",
    "mac_roman",
    "cp437",
    "cp850",
    "iso8859-2",
]
SCHEMA = dc.Schema({"ward": dc.Categorical(["Süd", "Nord"], missing="exclude")})
CANARY = "secret-4217"


def counts(path: Path, csv: dc.Csv | None, schema: dc.Schema = SCHEMA) -> list[int]:
    data = dc.open(path, schema, csv=csv)
    return data.source.statistics(Statistics(data.schema, (Counts.over(data.schema, "n", "ward"),)))["n"].tolist()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_one_byte_is_one_letter_and_ascii_is_itself(encoding: str) -> None:
    """So no byte of a cell can hide a sign after it, or be one itself."""
    name = dc.Csv(encoding=encoding).encoding
    letters = [bytes([octet]).decode(name, "replace") for octet in range(256)]
    assert "".join(letters[:128]) == bytes(range(128)).decode("ascii")
    assert all(len(letter) == 1 and not letter.isascii() for letter in letters[128:])


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-32", "shift_jis", "gb18030", "utf-7", "unicode_escape", "x", "", 3]
)
def test_other_encodings_are_refused(encoding: Any) -> None:
    with pytest.raises(dc.SchemaError, match=r"Csv.encoding must be UTF-8 or an encoding of one byte for a letter"):
        dc.Csv(encoding=encoding)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"delimiter": ";;"}, "Csv.delimiter must be one ASCII sign"),
        ({"delimiter": "\\t"}, r"a shell writes a tab as \$'\\t'"),
        ({"delimiter": "\n"}, "Csv.delimiter must be one ASCII sign"),
        ({"delimiter": "a"}, "Csv.delimiter must be one ASCII sign"),
        ({"delimiter": "§"}, "Csv.delimiter must be one ASCII sign"),
        ({"decimal": ","}, "Csv.decimal must be another sign than the delimiter"),
        ({"decimal": "'"}, "Csv.decimal must be"),
        ({"quote": ","}, "Csv.quote must be another sign"),
        ({"quote": "xx"}, "Csv.quote must be one ASCII sign"),
    ],
)
def test_signs_that_cannot_be_told_apart_are_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(dc.SchemaError, match=words):
        dc.Csv(**given)


def test_a_declared_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("nr;ward\n1;Süd\n2;'Nord'\n3;\"Nord\"\n".encode("latin-1"))
    assert counts(path, dc.Csv(";", encoding="latin-1")) == [1, 1]
    assert counts(path, dc.Csv(";", quote="'", encoding="latin-1")) == [1, 1]
    assert counts(path, dc.Csv(";", quote="", encoding="latin-1")) == [1, 0]
    assert counts(path, dc.Csv(";")) == [0, 1]  # other bytes than UTF-8 in a cell are no level, and say nothing
    for frame in ({"ward": ["Nord"]},):
        import pandas as pd

        with pytest.raises(dc.SchemaError, match=r"open.csv must be given for CSV files only"):
            dc.open(pd.DataFrame(frame), SCHEMA, id="t", csv=dc.Csv())
    with pytest.raises(dc.SchemaError, match=r"open.csv must be a Csv, got str"):
        dc.open(path, SCHEMA, csv=";")  # type: ignore[arg-type]


@pytest.mark.parametrize("sign", [";", "\t", "|", ",", " "])
def test_a_file_without_a_header_shows_nobody(sign: str, tmp_path: Path) -> None:
    path, other = tmp_path / "t.csv", tmp_path / "u.csv"
    path.write_text(sign.join([CANARY, "Süd"]) + "\n")
    other.write_text("x\n")
    told = []
    for file in (path, other):
        with pytest.raises(dc.SchemaError, match=r"got 'ward', which it does not have.*declare csv=") as caught:
            dc.open(file, SCHEMA)
        told.append(str(caught.value))
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
    assert told[0] == told[1]


WHO = [
    "17",
    "17,0",
    "17,00",
    "17.0",
    "17,5",
    "17.5",
    "017,0",
    "1e+16",
    "1,5e+16",
    "1.5e+16",
    "a,0",
    "-3,0",
    "-3",
    "12,10",
]


def persons(folder: Path, who: list[str], csv: dc.Csv) -> int:
    (folder / "t.csv").write_text("who;ward\n" + "".join(f"{cell};Nord\n" for cell in who))
    schema = dc.Schema(SCHEMA.columns, unit=dc.Person("who", 1))
    return dc.open(folder / "t.csv", schema, csv=csv).schema.n or 0


def same_persons(folder: Path) -> set[tuple[str, str]]:
    csv = dc.Csv(";", ",")
    known = [cell for cell in WHO if persons(folder, [cell], csv)]
    assert set(WHO) - set(known) == {"1e+16", "1,5e+16"}  # nobody's, as they are with points elsewhere
    return {(a, b) for a, b in product(known, known) if a < b and persons(folder, [a, b], csv) == 1}


def test_with_decimal_commas_whole_floats_are_whole_numbers_and_no_others_merge(tmp_path: Path) -> None:
    """One missing identifier makes floats of all whole numbers of a file, and a glob has several."""
    assert same_persons(tmp_path) == {("17", "17,0"), ("17", "17,00"), ("17,0", "17,00"), ("-3", "-3,0")}


def test_identifiers_read_as_texts_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identifiers, "_with_points", lambda held: held)
    with pytest.raises(AssertionError):
        same_persons(tmp_path)


def test_the_notation_is_no_part_of_a_request(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ward,age\nNord,3.5\n")
    (tmp_path / "b.csv").write_text("ward;age\nNord;3,5\n")
    schema = dc.Schema({**SCHEMA.columns, "age": dc.Bounded(0, 9)})
    plain = dc.open(tmp_path / "a.csv", schema, id="t")
    other = dc.open(tmp_path / "b.csv", schema, id="t", csv=dc.Csv(";", ","))
    assert (plain.id, plain.schema) == (other.id, other.schema)
