"""Whether a source holds the declared columns; what is refused is told by names and types, never by content."""

from collections.abc import Iterable, Sequence

from discreet.errors import SchemaError
from discreet.schema import Person, Schema

__all__ = ["columns_read", "require_columns", "wrong_type"]


def columns_read(schema: Schema) -> tuple[str, ...]:
    """The columns a source must hold: the declared ones, and the identifiers of persons where they are the unit."""
    identifier = (schema.unit.column,) if isinstance(schema.unit, Person) else ()
    return tuple(dict.fromkeys((*schema.columns, *identifier)))


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
