"""`discreet check`: what became of the cells of a study's table, counted exactly, for the custodian's eyes.

Nothing is paid, so nothing is protected: its output is private, every line of it says so, and it must not leave the
place where the data are. No file is written and the ledger is not opened. What may leave is the release of `BadCells`.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.cli import terminal
from discreet.errors import DiscreetError, SchemaError
from discreet.visible import visible

if TYPE_CHECKING:
    from discreet.cli.study import Study
    from discreet.schema import Column, Schema
    from discreet.sources.cell_check import CheckedCells

__all__ = ["check"]

MARK = "PRIVATE"
NOTE = "exact counts for the custodian's eyes: not to leave"
MOST_SHOWN = 100  # columns of the file
QUIET = ("declared", "inside")  # what most cells should be

Line = tuple[str, str]  # a text and its style


def check(study: terminal.StudyFile, as_json: terminal.AsJson = False, quiet: terminal.Quiet = False) -> None:
    """Count bad cells exactly. PRIVATE: for the custodian's eyes only.

    Shows whether the declared columns are there, how many rows and persons there are, and for every column how many
    cells are bad, taken by other levels, clipped, or on a bound. Nothing is paid and nothing is protected: the output
    must not leave, and says so on every line. No file is written and the ledger is not opened. To publish such counts,
    release the model BadCells.

    \b
    Example:
      discreet check study.toml
      discreet check study.toml --json
    """  # noqa: D301
    from discreet.cli.study import Study

    loaded = Study.load(study)
    document: dict[str, Any] = {"private": NOTE, "study": str(study)}
    try:
        found, lines, problem = _checked(loaded)
    except DiscreetError as refusal:
        found, lines, problem = {}, [], refusal
    lines.insert(0, (f"{loaded.data}, {NOTE}", "bold"))
    if not as_json:
        _show(lines, terminal.console(quiet=quiet))
    document |= found
    if problem is not None:
        marked = type(problem)(f"{MARK} {problem}")
        raise terminal.Incomplete(marked, {**document, "error": {"private": NOTE}})
    if as_json:
        terminal.emit(document)


def _checked(study: "Study") -> tuple[dict[str, Any], list[Line], DiscreetError | None]:
    """The document, the lines, and why the releases of the study would be refused, if they would."""
    from discreet.sources.cell_check import checked_cells, wrong_columns

    names = study.columns
    wrong = wrong_columns(names, study.schema)
    if wrong:
        absent = [{"private": NOTE, "name": name, "times": times} for name, times in wrong.items()]
        refusal = SchemaError("declared columns must each be in the source once, got others")
        return {"wrong_columns": absent, "file_columns": names[:MOST_SHOWN]}, _headings(study, wrong, names), refusal
    found = checked_cells(replace(study, schema=replace(study.schema, n=None)).open())
    problem = None
    if study.schema.n not in (None, found.units):
        told = f"Schema.n must be the number of units in the source, {found.units}, got {study.schema.n}"
        problem = SchemaError(told)
    return _document(study, found), list(_lines(study, found)), problem


def _headings(study: "Study", wrong: Mapping[str, int], names: Sequence[str]) -> list[Line]:
    """Which columns are not there, and which are."""
    lines = [("", "")]
    lines += [
        (f"{name}: {f'there {times} times' if times else 'not there'}", "yellow") for name, times in wrong.items()
    ]
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    lines += [("", ""), (f"The columns of the data are {', '.join(map(repr, names[:MOST_SHOWN]))}{more}.", "")]
    if study.data.lower().endswith(".csv"):
        lines.append(("If they look joined or broken, declare how the file is written: csv = {delimiter = …}", ""))
    return lines


def _document(study: "Study", found: "CheckedCells") -> dict[str, Any]:
    columns = [
        {
            "private": NOTE,
            "name": name,
            "rule": study.schema.columns[name].other_cells(),
            "cells": {"private": NOTE, **classes},
        }
        for name, classes in found.classes.items()
    ]
    return {"rows": found.rows, "units": found.units, "used": found.used, "columns": columns}


def _lines(study: "Study", found: "CheckedCells") -> Iterator[Line]:
    schema, persons = study.schema, study.schema.unit.identifier is not None
    declared, style = _size(schema, found.units)
    yield "", ""
    if not persons:
        yield f"rows     {found.rows:,}{declared}", style
    else:
        yield f"rows     {found.rows:,}", ""
        yield f"persons  {found.units:,}{declared}", style
        yield f"used     {found.used:,} rows, at most {schema.unit.max_records} of each person", ""
    for name, classes in found.classes.items():
        yield "", ""
        yield name, "bold"
        yield schema.columns[name].other_cells(), "dim"
        for kind, count in classes.items():
            share = f"{count / found.rows:>9.2%}" if count else ""
            yield f"  {kind:<20}{count:>13,}{share}", "yellow" if count and kind not in QUIET else ""
        if 0 < found.rows == classes["bad"]:
            yield f"  no cell is {_wanted(schema.columns[name])}", "yellow"


def _wanted(column: "Column") -> str:
    """What a column whose cells are all bad was declared to hold, and where that is said."""
    if column.holds == "numbers":
        return 'a number as it is written: if that is 1,5, declare csv = {decimal = ","}'
    return "a declared level: they are compared letter by letter"


def _size(schema: "Schema", units: int) -> Line:
    """What the study says of the number of units."""
    if schema.n_max is not None:
        over = units > schema.n_max
        return f", {'above' if over else 'within'} n_max = {schema.n_max:,}", "yellow" if over else ""
    if schema.n in (None, units):
        return ("" if schema.n is None else ", as declared"), ""
    return f", not n = {schema.n:,} as declared", "yellow"


def _show(lines: list[Line], screen: terminal.Screen) -> None:
    """Each line marked, and folded so that no part of it stands without its mark."""
    width = max(screen.width - len(MARK) - 2, 20)
    for text, style in lines:
        for part in textwrap.wrap(visible(text), width, subsequent_indent="  ") or [""]:
            screen.line((f"{MARK}  ", "red"), (part, style))
