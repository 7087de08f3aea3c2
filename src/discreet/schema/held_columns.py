"""Which columns a source must hold, and how long their texts may be; refusals name columns and types, never content."""

from collections.abc import Iterable, Sequence

from discreet.errors import SchemaError
from discreet.schema.cell import LONGEST_IDENTIFIER, LONGEST_TEXT, longest_text
from discreet.schema.schema import Schema

__all__ = ["UNREADABLE", "columns_read", "longest_texts", "require_columns", "wrong_type"]


# The messages of libraries quote cells: whatever they refuse is refused with this.
UNREADABLE = "open.source must be a readable CSV or Parquet file or frame; this one could not be read"


def columns_read(schema: Schema) -> tuple[str, ...]:
    """The columns a source must hold: the declared ones, and the identifiers of persons where they are the unit."""
    identifier = schema.unit.identifier
    return tuple(dict.fromkeys((*schema.columns, *(() if identifier is None else (identifier,)))))


def longest_texts(schema: Schema) -> dict[str, int]:
    """How many bytes a text of each column that is read may have; a longer one means what a missing cell does.

    Readers that copy texts ask this first: one text that many rows share would be as many long ones.
    """
    longest = {name: longest_text(column.levels) for name, column in schema.columns.items()}
    identifier = schema.unit.identifier
    if identifier is not None:
        longest[identifier] = max(longest.get(identifier, 0), LONGEST_IDENTIFIER)
    return {name: min(length, LONGEST_TEXT) for name, length in longest.items()}


def require_columns(declared: Iterable[str], held: Sequence[object]) -> None:
    """Refuse a source in which a declared column is missing or there twice; the source's other names stay unsaid."""
    for name in declared:
        times = held.count(name)
        if times != 1:
            how = f"which it has {times} times" if times else "which it does not have"
            raise SchemaError(f"Schema.columns must be columns of the source, got {name!r}, {how}")


def wrong_type(name: str, kind: str) -> SchemaError:
    """The error for a column whose cells cannot be levels or numbers; nested types are not spelled out."""
    head = kind.partition("<")[0].partition("(")[0].partition("[")[0]
    return SchemaError(f"Schema.columns[{name!r}] must be texts, numbers or booleans in the source, got type {head}")
