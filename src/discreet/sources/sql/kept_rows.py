"""At most k rows of each person, the same ones on every engine: those whose digest is smallest.

    digest = md5(dataset id ␟ person ␟ coded cells ␟ time)    ␟ is U+001F, the unit separator; commas join the cells

A coded cell is the code of its level or its whole grid steps; a bad cell that excludes its row is the letter x. Coded
are all columns of the query, in its order. `time` numbers the rows of a person that agree in all of them, from 1:
without it equal rows would be kept or dropped together, and a value seen once would weigh as much as one seen nine
times. Equal rows are interchangeable, so it does not matter which of them is the first; and since everything else
depends on the rows of the person alone, so does the choice: other people and the order of rows have no say in it.

The bound comes first, bad cells after it: a row that is excluded for a bad cell has used one of its person's k places.
Rows that belong to nobody are dropped; `identifiers` says which do.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.queries.influence import Influences
from discreet.queries.losses.base import Query
from discreet.sources.sql.cell_sql import cast, printed

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["BAD_CELL", "SEPARATOR", "coded_cells", "digest_head", "kept", "number_of_persons"]

SEPARATOR = "\x1f"
BAD_CELL = "x"


def number_of_persons(relation: str) -> "exp.Select":
    """How many persons there are in `relation`."""
    from sqlglot import exp

    persons = exp.select(exp.column("person")).from_(exp.to_table(relation)).distinct()
    counted = exp.select(exp.Count(this=exp.column("person")))  # of distinct ones, and NULL is not counted
    return counted.from_(persons.subquery("persons"))


def kept(query: Query | Influences, id: str, max_records: int, coded: "exp.Select") -> "exp.Select":  # noqa: A002
    """Codes and values of the rows of `coded` (code_i, value_i, person) that come first among those of their person."""
    from sqlglot import exp

    names = [name for i, _ in enumerate(query.columns) for name in (f"code_{i}", f"value_{i}")]
    present = {column.alias_or_name for column in coded.selects}
    columns = [exp.column(name) for name in names if name in present]
    separator, person, written = exp.Literal.string(SEPARATOR), exp.column("person"), exp.column("cells")
    parts: list[exp.Expr] = [exp.Literal.string("")]
    for i, cell in enumerate(coded_cells(query)):
        code = exp.func("coalesce", printed(cell), exp.Literal.string(BAD_CELL))
        parts += [exp.Literal.string(",")] * (i > 0) + [code]
    spelled = exp.select(*columns, person, _joined(parts).as_("cells")).from_(coded.subquery("inside"), copy=False)
    time = exp.Window(this=exp.RowNumber(), partition_by=[person, written])
    numbered = exp.select(*columns, person, written, time.as_("time")).from_(spelled.subquery("inside"), copy=False)
    head = exp.Literal.string(digest_head(id))
    digested = _joined([head, person, separator, written, separator, printed(exp.column("time"))])
    order = exp.Order(expressions=[exp.Ordered(this=exp.MD5(this=digested), nulls_first=False)])
    place = exp.Window(this=exp.RowNumber(), partition_by=[person], order=order)
    placed = exp.select(*columns, person, place.as_("place")).from_(numbered.subquery("inside", copy=False), copy=False)
    first = exp.column("place") <= exp.Literal.number(max_records)
    columns.append(person)  # a query without columns selects something too
    return exp.select(*columns).from_(placed.subquery("inside", copy=False), copy=False).where(first, copy=False)


def coded_cells(query: Query | Influences) -> "list[exp.Expr]":
    """The code or the grid steps of each column, a whole number; NULL excludes the row."""
    from sqlglot import exp

    holds = [query.schema.column(name).holds for name in query.columns]
    stems = ["value" if held == "numbers" else "code" for held in holds]
    return [cast(exp.column(f"{stem}_{i}"), "bigint") for i, stem in enumerate(stems)]


def digest_head(id: str) -> str:  # noqa: A002
    """What stands before the person in the text that is digested; an id that UTF-8 cannot write is mended."""
    return id.encode("utf-8", "replace").decode() + SEPARATOR


def _joined(parts: "Sequence[exp.Expr]") -> "exp.Expr":
    from sqlglot import exp

    first, *others = parts
    for part in others:
        first = exp.DPipe(this=first, expression=part)
    return first
