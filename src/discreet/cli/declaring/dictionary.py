"""A data dictionary: a small public CSV file with one line for every column of a table, and what is known of it.

    column;  kind;         levels;      lower;  upper;  missing
    smoker;  yes/no;       no|yes;      ;       ;
    ward;    categorical;  A|B|C;       ;       ;       exclude
    age;     number;       ;            0;      110;    40
    visits;  count;        ;            ;       20;     complete

Its first line says which of its own columns are which (`FIELDS`, with the words people use for them); others are
ignored and named. It is public, so everything here may be looked at and quoted: whether its columns are separated by
commas, semicolons or tabs is read from its first line.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.cli.declaring.drafts import OPEN, Draft
from discreet.errors import SchemaError
from discreet.recipe import read_text
from discreet.schema import KINDS

__all__ = ["KIND_WORDS", "DataDictionary", "read_dictionary"]

LARGEST = 2**24  # bytes
FIELDS = {
    "column": "column name variable field feature attribute|column name|variable name|field name|variable / field name",
    "kind": "kind type datatype|data type|column type|field type",
    "levels": "levels values categories codes choices|allowed values|choices, calculations, or slider labels",
    "lower": "lower min minimum low from|lower bound|text validation min",
    "upper": "upper max maximum high to|upper bound|text validation max",
    "missing": "missing|bad cells",
    "other": "other|other level",
    "zero": "zero no",
    "one": "one yes",
    "cut": "cut cuts breaks|cut points",
    "grid": "grid step",
}
KIND_WORDS = {
    "binary": "binary bool boolean yes/no yesno truefalse flag dichotomous logical",
    "categorical": "categorical category categories factor nominal ordinal enum radio dropdown",
    "bounded": "bounded number numeric numerical float double real continuous decimal measurement",
    "whole": "integer int whole",  # a count where it starts at 0
    "count": "count counts",
    "person": "person",
    "nothing": "identifier id key text string date datetime time timestamp ignore skip none notes|free text",
}
NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?")
CODED = re.compile(r"([^=,]+?)\s*[=,]\s*(.+)")  # 1=male, or 1, male
PLAIN_TWO = (("0", "1"), ("false", "true"))  # what a binary column holds where nothing is said
TYPED = "a line for each column, as in: smoker,binary,no|yes  or  age,number,,0,110"


@dataclass(frozen=True)
class DataDictionary:
    """The drafts by name, in order; the unit where a column says whose the rows are; which fields were not used."""

    drafts: Mapping[str, Draft]
    unit: Mapping[str, Any] | None
    ignored: list[str]


def read_dictionary(path: Path) -> DataDictionary:
    """The columns that a data dictionary declares; every mistake in it is refused with its line."""
    lines = _lines(path)
    try:
        where, header = next(lines)
    except StopIteration:
        raise SchemaError(f"--dictionary must have a header and {TYPED}, got an empty file {str(path)!r}") from None
    fields = {_plain(name): known for name in header if (known := _known(_plain(name), FIELDS))}
    found = [fields.get(_plain(name)) for name in header]
    if found.count("column") != 1:
        raise SchemaError(
            f"--dictionary must have one field called 'column' (or name, variable, field) in line {where}, its header, "
            f"got {header}: write the header column,kind,levels,lower,upper,missing and {TYPED}"
        )
    twice = sorted({name for name in found if name and found.count(name) > 1})
    if twice:
        raise SchemaError(f"--dictionary must have every field once, got two that mean {twice[0]!r} in {header}")
    drafts: dict[str, Draft] = {}
    unit: Mapping[str, Any] | None = None
    for number, cells in lines:
        entry = {key: cell.strip() for key, cell in zip(found, cells, strict=False) if key}
        name = entry.pop("column", "")
        if not name and not any(entry.values()):
            continue
        at = f"--dictionary line {number}, column {name!r}"
        if not name or name in drafts:
            raise SchemaError(f"{at}: every line must name a column of its own, got {'it twice' if name else 'none'}")
        kind = _kind(at, entry)
        if kind == "person":
            unit = {"kind": "person", "column": name, "max_records": _records(at, entry)}
        drafts[name] = _draft(at, name, kind, entry)
    if not any(draft.spec for draft in drafts.values()):
        raise SchemaError(f"--dictionary must declare at least one column, got none in {str(path)!r}: write {TYPED}")
    return DataDictionary(drafts, unit, [name for name, known in zip(header, found, strict=True) if known is None])


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not empty, with their numbers; separated by what the first of them has most of."""
    try:
        text = read_text(path, LARGEST).removeprefix("\ufeff")
    except (OSError, ValueError) as problem:
        detail = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8"
        raise SchemaError(f"--dictionary must be a readable CSV file in UTF-8, got {str(path)!r}: {detail}") from None
    first = text.lstrip().partition("\n")[0]
    reader = csv.reader(text.splitlines(), delimiter=max(",;\t", key=first.count))
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield reader.line_num, cells


def _plain(name: str) -> str:
    """A name of a field or a kind without case, underlines and space at its ends."""
    return " ".join(name.lower().replace("_", " ").split())


def _known(word: str, words: Mapping[str, str]) -> str | None:
    """Which of the things has this word among its own: single ones, then those with spaces."""
    for thing, text in words.items():
        single, *others = text.split("|")
        if word in single.split() or word in others:
            return thing
    return None


def _kind(at: str, entry: Mapping[str, str]) -> str:
    """What the column is, by its word or, without one, by what else is said."""
    word, levels = _plain(entry.get("kind", "")), entry.get("levels", "")
    kind = _known(word, KIND_WORDS) if word else None
    if word and kind is None:
        raise SchemaError(
            f"{at}: kind must be binary, categorical, number, count, person or ignore, got {entry['kind']!r}: "
            "write one of these (integer, boolean, factor and the like are understood, too)"
        )
    if kind == "nothing" and levels:
        return "categorical"  # texts of which all are listed
    if kind is None and (levels or entry.get("zero")):
        return "binary" if entry.get("zero") else "categorical"
    if kind == "whole" or (kind is None and entry.get("lower") and entry.get("upper")):
        from_zero = kind == "whole" and entry.get("lower", "") != "" and _number(at, "lower", entry["lower"]) == 0
        return "count" if from_zero else "bounded"
    return kind or OPEN


def _draft(at: str, name: str, kind: str, entry: Mapping[str, str]) -> Draft:
    if kind == "person":
        return Draft(name, None, "says whose a row is: see unit")
    if kind == "nothing":
        return Draft(name, None, f"left out, because the dictionary calls it {entry['kind']!r}")
    spec: dict[str, Any] = {"kind": kind}
    levels, note = _levels(entry.get("levels", ""))
    if kind == "binary":
        spec |= _two(at, entry, levels)
    if kind == "categorical":
        spec["levels"] = levels or OPEN
        if entry.get("other"):
            spec["other"] = entry["other"]
    if kind in ("bounded", "count"):
        for key in ("lower", "upper") if kind == "bounded" else ("upper",):
            spec[key] = _number(at, key, entry[key]) if entry.get(key) else OPEN
        if entry.get("cut"):
            spec["cut"] = [_number(at, "cut", point) for point in _levels(entry["cut"])[0]]
        if kind == "bounded" and entry.get("grid"):
            spec["grid"] = _number(at, "grid", entry["grid"])
    if kind != OPEN:
        spec |= _missing(at, spec, entry.get("missing", ""))
    draft = Draft(name, spec, note)
    if draft.is_declared:
        try:
            KINDS[kind](**{key: value for key, value in spec.items() if key != "kind"})
        except SchemaError as problem:
            raise SchemaError(f"{at}: {problem}") from None
    return draft


def _levels(cell: str) -> tuple[list[str], str]:
    """The levels of a cell, and what their codes mean where it says so: A|B|C, or 1=male|2=female."""
    sign = next((sign for sign in "|;," if sign in cell), "|")
    parts = [part.strip() for part in cell.split(sign) if part.strip()]
    coded = [CODED.fullmatch(part) for part in parts]
    if parts and all(coded):
        return [match[1].strip() for match in coded if match], ", ".join(parts)
    return parts, ""


def _two(at: str, entry: Mapping[str, str], levels: list[str]) -> dict[str, str]:
    """How the two levels of a binary column are written, where they are no 0 and 1."""
    zero, one = entry.get("zero", ""), entry.get("one", "")
    if (zero or one) and not (zero and one):
        raise SchemaError(f"{at}: zero and one must be given together, got {zero!r} and {one!r}: write both")
    if not zero and levels:
        if len(levels) != 2:
            raise SchemaError(
                f"{at}: a binary column must have two levels, got {levels}: write two, the one that counts as 0 first, "
                "or the kind categorical"
            )
        zero, one = levels
    return {} if not zero or (zero.lower(), one.lower()) in PLAIN_TWO else {"zero": zero, "one": one}


def _missing(at: str, spec: Mapping[str, Any], cell: str) -> dict[str, Any]:
    """What a bad cell counts as: where nothing is said its row is left out, which is right whatever the rows hold."""
    if cell.lower() in ("", "exclude"):
        return {"missing": "exclude"}
    if cell.lower() == "complete":
        return {}
    if spec["kind"] == "categorical":
        return {"missing": cell}
    two = {"0": 0, "1": 1, spec.get("zero"): 0, spec.get("one"): 1}
    if spec["kind"] == "binary" and cell in two:
        return {"missing": two[cell]}
    if spec["kind"] != "binary" and NUMBER.fullmatch(cell):
        return {"missing": _number(at, "missing", cell)}
    raise SchemaError(
        f"{at}: missing says what a bad cell counts as: a value of the column, exclude or complete, got {cell!r}. "
        "Texts that stand for missing cells need no declaration: they are no number and no level; write exclude"
    )


def _number(at: str, key: str, cell: str) -> int | float:
    """A number with a point or a comma."""
    if not NUMBER.fullmatch(cell):
        raise SchemaError(f"{at}: {key} must be a number, got {cell!r}: write it without unit and thousands sign")
    value = float(cell.replace(",", "."))
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _records(at: str, entry: Mapping[str, str]) -> int | float:
    if not entry.get("upper"):
        raise SchemaError(f"{at}: a person must have upper, the most rows of one person that are used: write it, as 3")
    return _number(at, "upper", entry["upper"])
