"""What a law of records draws, codes and numbers, in the words of the schema: its columns, levels, bounds and grids.

A synthetic table can so be read wherever the private one can: a level is written as it is in the private table.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.queries.counts_and_sums import level_column
from discreet.schema import LevelColumn, Schema
from discreet.schema.cell import clipped_steps

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DeclaredRecords", "LevelCells", "NumberColumn", "stacked"]

ALONE = ""  # the name under which a law that draws one column has it


class DeclaredColumn(Protocol):
    """One column of new records."""

    @property
    def name(self) -> str:
        """As it is declared."""

    def cells(self, drawn: NDArray[Any]) -> NDArray[Any]:
        """What a law has drawn, as people read it."""

    def codes(self, drawn: NDArray[Any]) -> NDArray[np.int64]:
        """The same as a query sees it: codes of levels, or whole grid steps."""

    def arrow(self, drawn: NDArray[Any], rng: np.random.Generator) -> "pa.Array":
        """The same as a column of a table, where it can be read as the private one is."""


@dataclass(frozen=True)
class LevelCells:
    """Codes of levels, and the texts of these in the table; of a number that is cut, the names of its ranges.

    `seen` is the column as a query sees it.
    """

    name: str
    seen: LevelColumn

    @classmethod
    def of(cls, schema: Schema, name: str) -> "LevelCells":
        """The column of this name."""
        return cls(name, level_column(schema, name))

    @property
    def levels(self) -> tuple[str, ...]:
        """The texts as they are in the table; of a number that is cut into levels, the names of these."""
        return self.seen.levels

    def cells(self, drawn: NDArray[Any]) -> NDArray[Any]:
        """Texts."""
        return np.asarray(np.array(self.levels)[drawn])

    def codes(self, drawn: NDArray[Any]) -> NDArray[np.int64]:
        """As they were drawn."""
        return np.asarray(drawn, dtype=np.int64)

    def arrow(self, drawn: NDArray[Any], rng: np.random.Generator) -> "pa.Array":
        """Texts; a number that is cut is a number again, any one of its range: no more is known of it."""
        import pyarrow as pa

        if self.seen.number is None:
            return pa.array(self.levels, pa.string()).take(pa.array(drawn))
        first, last = np.array(self.seen.number.range_steps)[drawn].T
        number = NumberColumn.by(self.name, self.seen.number)
        return number.arrow(rng.integers(first, last, endpoint=True) * number.step, rng)


@dataclass(frozen=True)
class NumberColumn:
    """Numbers, clamped to their bounds and rounded to their grid; whole ones where the grid is."""

    name: str
    lower: float
    upper: float
    step: float

    @classmethod
    def of(cls, schema: Schema, name: str) -> "NumberColumn":
        """A bounded column or one of counts."""
        return cls.by(name, schema.column(name))

    @classmethod
    def by(cls, name: str, column: Any) -> "NumberColumn":
        """The same, of its declaration."""
        return cls(name, float(column.lower), float(column.upper), float(column.step))

    def cells(self, drawn: NDArray[Any]) -> NDArray[Any]:
        """Numbers as the private table has them after clamping and rounding."""
        steps = clipped_steps(drawn, self.lower, self.upper, self.step)
        numbers = np.clip(steps * self.step, self.lower, self.upper)
        whole = all(float(number).is_integer() for number in (self.lower, self.upper, self.step))
        return np.asarray(numbers.astype(np.int64) if whole else numbers)

    def codes(self, drawn: NDArray[Any]) -> NDArray[np.int64]:
        """Steps of the grid, within the bounds."""
        return np.asarray(clipped_steps(drawn, self.lower, self.upper, self.step), dtype=np.int64)

    def clamped(self, drawn: ArrayLike) -> NDArray[np.float64]:
        """Within the bounds, not rounded."""
        return np.asarray(np.clip(drawn, self.lower, self.upper), dtype=float)

    def arrow(self, drawn: NDArray[Any], rng: np.random.Generator) -> "pa.Array":
        """Numbers."""
        import pyarrow as pa

        return pa.array(self.cells(drawn))


@dataclass(frozen=True)
class DeclaredRecords:
    """The declared columns of a record, by the names under which the law of the model draws them."""

    columns: Mapping[str, DeclaredColumn]

    @classmethod
    def alone(cls, column: DeclaredColumn) -> "DeclaredRecords":
        """Of a law that draws one column, as an array."""
        return cls({ALONE: column})

    @classmethod
    def levels(cls, schema: Schema, *names: str) -> "DeclaredRecords":
        """Columns of levels, drawn under their own names."""
        return cls({name: LevelCells.of(schema, name) for name in names})

    @classmethod
    def numbers(cls, schema: Schema, *names: str) -> "DeclaredRecords":
        """Columns of numbers, drawn under their own names."""
        return cls({name: NumberColumn.of(schema, name) for name in names})

    def cells(self, drawn: Any) -> Any:
        """An array where one column is drawn alone, else arrays by the names of the columns."""
        if ALONE in self.columns:
            return self.columns[ALONE].cells(np.asarray(drawn))
        return {column.name: column.cells(drawn[key]) for key, column in self.columns.items()}

    def by_name(self, drawn: Any) -> dict[str, NDArray[Any]]:
        """Arrays by the names of the columns, also where there is one column only; none is called as draws are."""
        held = {ALONE: np.asarray(drawn)} if ALONE in self.columns else drawn
        named = {column.name: column.cells(held[key]) for key, column in self.columns.items()}
        return {f"{name}_column" if name in ("chain", "draw") else name: cells for name, cells in named.items()}

    def coded(self, drawn: Any) -> dict[str, NDArray[np.int64]]:
        """All columns as a query sees them."""
        held = {ALONE: np.asarray(drawn)} if ALONE in self.columns else drawn
        return {column.name: column.codes(np.asarray(held[key])) for key, column in self.columns.items()}

    def table(self, drawn: Any, rng: np.random.Generator) -> "pa.Table":
        """All columns as an Arrow table."""
        import pyarrow as pa

        held = {ALONE: drawn} if ALONE in self.columns else drawn
        return pa.table({column.name: column.arrow(np.asarray(held[key]), rng) for key, column in self.columns.items()})


def stacked(
    by: str, tables: Mapping[str, "pa.Table"], cells: LevelCells | None, rng: np.random.Generator
) -> "pa.Table":
    """Tables of groups, by level, under each other; the first column says of which group a record is, as declared."""
    import pyarrow as pa

    if any(by in table.column_names for table in tables.values()):
        raise QueryError(f"GroupedPosterior.by must be no column of a record, got {by!r}")
    parts = []
    for code, (level, table) in enumerate(tables.items()):
        alike = np.full(table.num_rows, code)
        own = pa.array([level] * table.num_rows, pa.string()) if cells is None else cells.arrow(alike, rng)
        parts.append(table.add_column(0, by, own))
    return pa.concat_tables(parts).combine_chunks()
