"""A new study about a table: drafts of its columns from every public source, and which of them it asks about.

Of the table itself only the names of its columns are read, and the types that a Parquet file declares. The first line
of a CSV file is taken as those names, because nobody can tell a header from a record without looking at records.
"""

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.checks import meant
from discreet.cli.declaring.dictionary import DataDictionary, read_dictionary
from discreet.cli.declaring.drafts import OPEN, Draft, filled
from discreet.cli.declaring.public_table import drafts_of
from discreet.cli.declaring.study_text import NewStudy
from discreet.errors import SchemaError
from discreet.schema import Csv
from discreet.schema.cell import Storage

__all__ = ["Given", "new_study"]

TYPES = {
    "boolean": {"kind": "binary", "missing": "exclude"},
    "float": {"kind": "bounded", "lower": OPEN, "upper": OPEN, "missing": "exclude"},
    "text": {"kind": "categorical", "levels": OPEN, "missing": "exclude"},
}
MOST_NAMED = 12
ONE_NAME = "delimiter"  # what is told of a header that was perhaps not cut
SHELL = {"\t": "$'\\t'"}  # signs that a shell does not take as Python writes them


@dataclass(frozen=True)
class Given:
    """What the command line names: files, and what is said about them."""

    table: str | None = None
    dictionary: Path | None = None
    public: Path | None = None
    ask: Sequence[str] = ()
    csv: Csv | None = None
    n: int | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether the study is to be the example."""
        return self == Given()


def new_study(given: Given, folder: Path, epsilon: float) -> tuple[NewStudy, list[tuple[str, str]]]:
    """The study that `folder` is to hold, with a budget of `epsilon`, and what is to be told about its sources."""
    if given.table is None and given.dictionary is None and given.public is None:
        raise SchemaError(
            "init must get --from, --dictionary or --public where it gets --ask, --n or how CSV is written"
        )
    if given.table is not None and "://" in given.table:  # not repeated: it may carry a password
        raise SchemaError(
            "init --from must be a file, got an address: declare the table with --dictionary, and write where it is "
            'into the study, as data = {url = "postgresql://…", table = "…"}'
        )
    told: list[tuple[str, str]] = []
    held = None if given.table is None else _held(given.table, given.csv, told)
    dictionary = None if given.dictionary is None else read_dictionary(given.dictionary)
    public = {} if given.public is None else _public(given, told)
    drafts = _drafts(held, dictionary, public, given)
    if dictionary is not None:
        said = f"{given.dictionary}: {len(dictionary.drafts)} columns"
        ignored = (
            f"; its own columns {', '.join(map(repr, dictionary.ignored))} were not used" if dictionary.ignored else ""
        )
        told.append(("dictionary", said + ignored))
    usable = [draft.name for draft in drafts if draft.spec is not None]
    strangers = [name for name in given.ask if name not in usable]
    if strangers:
        hints = [f"; {text}" for label, text in told if label == ONE_NAME] or [meant(strangers[0], usable)]
        raise SchemaError(
            f"init --ask must name a column that can be declared, got {strangers[0]!r}; {_names(usable)}{hints[0]}"
        )
    declared = [draft.name for draft in drafts if draft.is_declared]
    asked = list(dict.fromkeys(given.ask)) or [*declared, *usable][:1]
    data = "table.csv" if given.table is None else _beside(given.table, folder)
    study = NewStudy(
        id=Path(data).stem.replace("*", "") or "table",
        data=data,
        drafts=drafts,
        asked=asked,
        epsilon=float(f"{epsilon / max(10, 2 * len(asked)):.1g}"),
        csv=given.csv,
        unit=None if dictionary is None else dictionary.unit,
        n=given.n,
        sources=[text for label, text in told if label == "public"],
    )
    left = len(drafts) - len(usable)
    still = len(usable) - len(declared)
    told.append(
        ("columns", f"{len(declared)} declared, {still} to choose, {left} left out; asked about: {', '.join(asked)}")
    )
    return study, told


def _held(table: str, csv: Csv | None, told: list[tuple[str, str]]) -> list[tuple[str, Storage | None]]:
    """The columns of the table, as its first line or its schema names them."""
    from discreet.sources.open import declared_types

    folder, name = os.path.split(table)
    if not (os.path.isfile(table) or glob.glob(table, recursive=True)):
        beside = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        raise SchemaError(
            f"init --from must be an existing file or a glob that matches one, got {table!r}{meant(name, beside)}"
        )
    held = declared_types(table, csv)
    if table.lower().endswith(".csv"):
        told.append(
            (
                "header",
                f"the first line of {table} is taken as the names of its columns and stands in the study: if it is a "
                "record, delete the study, and give the file a header. No other line was read",
            )
        )
        written = csv or Csv()
        others = [sign for sign in ";\t|," if sign != written.delimiter and len(held) == 1 and sign in held[0][0]]
        if others:
            told.append(
                (ONE_NAME, f"the header has one name with {others[0]!r} in it: if that separates columns, delete the "
                f"study, if it is made, and add --delimiter {SHELL.get(others[0], repr(others[0]))}")
            )  # fmt: skip
        if (written.delimiter, written.decimal) == (";", "."):
            told.append(
                ("decimal", "numbers are read with a point; if the table writes 1,5, let csv in the study be "
                '{delimiter = ";", decimal = ","}')
            )  # fmt: skip
    else:
        told.append(
            (
                "types",
                f"those that {table} declares; no cell of it was read, nor the least and greatest ones, and no type is "
                "taken that pandas chose by the cells",
            )
        )
    return held


def _public(given: Given, told: list[tuple[str, str]]) -> dict[str, Draft]:
    assert given.public is not None
    if given.table is not None and os.path.exists(given.table) and os.path.samefile(given.table, given.public):
        raise SchemaError(
            f"init --public must be another table than the private one, got {str(given.public)!r} for both: what is "
            "read there is written into the study. Name a published extract, or a --dictionary"
        )
    csv = given.csv if given.public.suffix.lower() == ".csv" else None
    found = drafts_of(given.public, csv)
    told.append(
        (
            "public",
            f"levels and bounds come from cells of {given.public}, and everyone who sees the study or a release sees "
            "them. That is safe only if that table is published already, or about nobody; if it is a part of the "
            "private table, delete the study",
        )
    )
    return found


def _drafts(
    held: Sequence[tuple[str, Storage | None]] | None,
    dictionary: DataDictionary | None,
    public: Mapping[str, Draft],
    given: Given,
) -> list[Draft]:
    """A draft for every column, in the order of the table: the dictionary first, then the public table, then types."""
    said = {} if dictionary is None else dictionary.drafts
    names = list(dict.fromkeys([*said, *public] if held is None else [name for name, _ in held]))
    absent = [name for name in said if name not in names]
    if absent:
        raise SchemaError(
            f"--dictionary must name columns of {given.table}, got {', '.join(map(repr, absent[:MOST_NAMED]))}, "
            f"which its header, read as {given.csv or Csv()}, does not have: correct or delete these lines, or say how "
            'the table is written, as in --delimiter ";"'
        )
    types = dict(held or ())
    times = [name for name, _ in held or ()]
    made = []
    for name in names:
        if not name.strip() or times.count(name) > 1:
            made.append(Draft(name, None, "left out: a column must have a name of its own"))
            continue
        draft = said.get(name, Draft(name, note="" if dictionary is None else "not in the dictionary"))
        made.append(filled(filled(draft, public.get(name)), _typed(name, types.get(name))))
    return made


def _typed(name: str, storage: Storage | None) -> Draft | None:
    return Draft(name, TYPES[storage]) if storage in TYPES else None


def _beside(table: str, folder: Path) -> str:
    """The path of the table as the study in `folder` names it."""
    if os.path.isabs(table):
        return table
    return Path(os.path.relpath(table, folder)).as_posix()


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"there are {', '.join(map(repr, names[:MOST_NAMED]))}{more}"
