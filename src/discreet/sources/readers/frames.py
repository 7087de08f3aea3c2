"""pandas, polars and pyarrow frames: their declared columns and, where units are persons, who owns each row."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.schema import Schema
from discreet.schema.arrow_cell import storage_of
from discreet.schema.cell import Storage
from discreet.schema.frame_columns import frame_columns, package_of
from discreet.sources.readers.identifiers import Owner
from discreet.sources.readers.owners import is_typed, pandas_owners, pandas_typed, polars_owners
from discreet.sources.readers.parts import slot_of
from discreet.sources.sql.relation import RAW, Held, handed_over

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ArrowRows", "frame_rows"]


@dataclass(frozen=True, eq=False)
class ArrowRows:
    """A table in memory, as DuckDB scans it, and the view that hands it over."""

    rows: "pa.Table" = field(repr=False)
    view: str
    files: tuple[str, ...] = ()  # DuckDB opens none

    def count(self) -> int:
        """The number of rows."""
        return int(self.rows.num_rows)

    def attach(self, connection: Any, name: str) -> None:
        """The table under `name`."""
        connection.register(RAW, self.rows)
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {self.view}")

    def batches(self, columns: Sequence[str]) -> "list[pa.RecordBatch]":
        """These columns, in order."""
        return list(self.rows.select(list(columns)).to_batches())


def frame_rows(rows: Any, schema: Schema) -> tuple[tuple[ArrowRows], dict[str, Held]]:
    """The declared columns of a frame, under positional names, and how each is held."""
    import pyarrow as pa

    columns = frame_columns(rows, schema)
    held = {name: Held(f"c{i}", storage_of(columns[name].type)) for i, name in enumerate(schema.columns)}
    table, owners = {held[name].column: columns[name] for name in schema.columns}, []
    identifier = schema.unit.identifier
    if identifier is not None:
        exactly, typed = _owners(rows, identifier)
        table["owner"] = columns[identifier] if exactly is None else exactly
        owners = [Owner("owner", _storage(rows, identifier) or storage_of(table["owner"].type), typed)]
    return (ArrowRows(pa.table(table), handed_over(schema, held, owners)),), held


def _owners(rows: Any, name: str) -> tuple[Any | None, bool]:
    """The column of identifiers, None where it is read as cells are, and whether its type was declared."""
    package = package_of(rows)
    if package == "pandas":
        return pandas_owners(rows[name]), pandas_typed(rows[name].dtype)
    return (polars_owners(rows[name]), True) if package == "polars" else (None, is_typed(rows.schema, name))


def _storage(rows: Any, name: str) -> Storage | None:
    """How an Arrow table holds identifiers, None if it is none: long decimals are read as texts, but are not names."""
    slot = slot_of(rows.schema.field(name).type) if package_of(rows) == "pyarrow" else None
    return None if slot is None else slot.storage
