"""Files of one table whose types differ: every file is read by its own types, and then its cells mean what they say.

Writers choose the type of a column from its cells. One missing cell turns whole numbers into doubles, one fraction adds
digits to all decimals, and a file without any value of a column has no type for it, or no such column. So files of one
glob may differ, and a single cell decides whether they do. What the other cells mean must not follow from it, nor
whether the files can be read. Files that differ are streamed with one column for each type that a declared column has
in any of them; the file's own holds the cell, the others are NULL. They are put together as

| declared | in the files | together |
|---|---|---|
| a number | any types | doubles |
| levels | numbers of several types | doubles |
| levels | any other types | texts |

which is what `schema.cell` makes of each of them anyway. Identifiers are never put together: each is told by its own
type. A file in which a column is neither text, number nor boolean has no cells there, but not all files may be such.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.schema import Column, Schema
from discreet.schema.arrow_cell import MOST_DIGITS, is_bytes, scannable_type, scanned_type, storage_of
from discreet.schema.cell import Storage
from discreet.sources.sql.cell_sql import number, text

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp

__all__ = ["Slot", "alike", "place", "slot_of", "slots_of", "storage_together", "together"]

NUMBERS = {"decimal", "float", "integer"}

# Types that DuckDB's own reader widens to each other without a loss; it knows that nothing agrees with everything.
# Signed and unsigned ones of 64 bits together would be 128 bits wide, which it rounds twice on the way to a double.
ALIKE = (
    {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"},
    {"uint8", "uint16", "uint32", "uint64"},
    {"float", "double"},
    {"string", "large_string"},
)


@dataclass(frozen=True)
class Slot:
    """One of the columns that a stream has for a declared one: the Arrow type of its cells, and how they are read."""

    kind: "pa.DataType"
    storage: Storage


def slot_of(kind: "pa.DataType") -> Slot | None:
    """Where cells of this type go; None where no cell is read."""
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    scanned = None if pa.types.is_null(kind) else scanned_type(kind)
    return None if scanned is None else Slot(scanned, "decimal" if pa.types.is_decimal(kind) else storage_of(scanned))


def slots_of(name: str, kinds: "Sequence[pa.DataType]") -> tuple[Slot, ...]:
    """The columns that a stream has for column `name`, which is of these types; refused if none of them can be read."""
    import pyarrow as pa

    if all(scanned_type(kind) is None for kind in kinds):
        scannable_type(name, kinds[0])
    found = dict.fromkeys(slot for kind in kinds if (slot := slot_of(kind)) is not None)
    return tuple(found) or (Slot(pa.large_string(), "text"),)


def alike(kinds: "Sequence[pa.DataType]") -> bool:
    """Whether DuckDB's own reader makes of files with these types what their cells mean."""
    import pyarrow as pa

    plain = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in kinds]
    if any(scanned_type(kind) is None or is_bytes(kind) for kind in plain):
        return False
    if any(pa.types.is_decimal(kind) and kind.precision > MOST_DIGITS for kind in plain):  # it has doubles for them
        return False
    names = {str(kind) for kind in plain} - {"null"}
    return len(names) < 2 or any(names <= same for same in ALIKE)


def place(column: int, slot: int) -> str:
    """The name of a column of the stream."""
    return f"p{column}_{slot}"


def storage_together(column: Column, slots: Sequence[Slot]) -> Storage:
    """How the cells of a declared column are held when they have been put together."""
    storages = {slot.storage for slot in slots}
    if len(storages) == 1 and alike([slot.kind for slot in slots]):
        return slots[0].storage
    return "float" if column.holds == "numbers" or storages <= NUMBERS else "text"


def together(schema: Schema, slots: Mapping[str, Sequence[Slot]], owner: str | None, relation: str) -> str:
    """The query that puts the stream `relation` together: declared columns c0, c1, …, and the slots of the owner."""
    from sqlglot import exp

    names = list(slots)
    columns: list[exp.Expr] = []
    for i, (name, column) in enumerate(schema.columns.items()):
        at, held = names.index(name), slots[name]
        parts = [(place(at, k), slot.storage) for k, slot in enumerate(held)]
        columns.append(_put_together(column, parts, storage_together(column, held)).as_(f"c{i}", copy=False))
    if owner is not None:
        columns += [exp.column(place(names.index(owner), k)) for k, _ in enumerate(slots[owner])]
    return exp.select(*columns, copy=False).from_(exp.to_table(relation), copy=False).sql(dialect="duckdb", copy=False)


def _put_together(column: Column, parts: "Sequence[tuple[str, Storage]]", storage: Storage) -> "exp.Expr":
    from sqlglot import exp

    held: list[exp.Expr] = [exp.column(name) for name, _ in parts]
    if len(parts) == 1:
        return held[0]
    if any(own != storage for _, own in parts):
        kept = [(raw, own) for raw, (_, own) in zip(held, parts, strict=True)]
        held = [number(raw, own) if storage == "float" else text(raw, own, column.truths) for raw, own in kept]
    return exp.func("coalesce", *held)
