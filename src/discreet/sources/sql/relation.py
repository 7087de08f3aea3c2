"""What readers hand to the engine: every declared column, its texts no longer than declared, and who owns each row.

    c0, c1, …   the declared columns, in order; a text longer than `longest_text` is NULL or still too long for a level
    person      who the row belongs to (`identifiers`), NULL if nobody, where units are persons

So memory does not depend on what rows hold: a text that is grouped, sorted or joined has a public length, far below
what the engine may take, before anything else is done with it. Nothing is shortened into something else: two long
names that are cut could be one person, and a cut text a level.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.schema import Schema
from discreet.schema.cell import Storage, longest_text
from discreet.schema.coded_cell import level_numbers
from discreet.sources.readers.identifiers import Owner, identifier

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["RAW", "Held", "handed_over"]

RAW = "raw"  # the relation that a reader found


@dataclass(frozen=True)
class Held:
    """How a source holds the cells of one declared column: the name it has there, and the kind of its type."""

    column: str
    storage: Storage


def handed_over(schema: Schema, held: Mapping[str, Held], owners: Sequence[Owner], *, by_text: bool = False) -> str:
    """The query that hands over the relation RAW, which holds the columns so and the identifier in one of `owners`.

    Where equal texts are kept once (`by_text`), as in Parquet files, some ways to say the same are far cheaper.
    """
    from sqlglot import exp

    columns: list[exp.Expr] = []
    for i, (name, column) in enumerate(schema.columns.items()):
        cell: exp.Expr = exp.column(held[name].column, RAW, quoted=True)
        if held[name].storage == "text":
            cut = by_text and column.holds == "levels" and not level_numbers(column)
            cell = (_begun if cut else _short)(cell, longest_text(column.levels))
        columns.append(cell.as_(f"c{i}", copy=False))
    if owners:
        persons = [identifier(owner, RAW) for owner in owners]
        person = persons[0] if len(persons) == 1 else exp.func("coalesce", *persons)
        columns.append(person.as_("person", copy=False))
    return exp.select(*columns, copy=False).from_(exp.to_table(RAW), copy=False).sql(dialect="duckdb", copy=False)


def _short(text: "exp.Expr", longest: int) -> "exp.Expr":
    from sqlglot import exp

    is_short = exp.func("bit_length", text) <= exp.Literal.number(8 * longest)
    return exp.Case(ifs=[exp.If(this=is_short, true=text)])


def _begun(text: "exp.Expr", longest: int) -> "exp.Expr":
    """The beginning of a text, one letter longer than any level: of one that is too long it says that, and no more.

    Only where no level is a number: the beginning of a number is another number.
    """
    from sqlglot import exp

    first, letters = exp.Literal.number(1), exp.Literal.number(longest + 1)
    return exp.Substring(this=text, start=first, length=letters)
