"""For the custodian's eyes: exact counts of what became of the cells of a table. No noise, no guarantee, no price.

What is returned here is private, and so is everything that is made from it: `discreet check` shows it to the person who
holds the data and marks every line of it. Nothing else may call these functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from discreet.queries.cell_classes import cell_class_query, cell_classes
from discreet.schema import Record, Schema
from discreet.schema.arrow_cell import columns_read
from discreet.sources.dataset import Dataset

__all__ = ["CheckedCells", "checked_cells", "wrong_columns"]


@dataclass(frozen=True)
class CheckedCells:
    """Rows, units, rows that are used of the units, and for each column how many cells are of each class: exact."""

    rows: int = field(repr=False)
    units: int = field(repr=False)
    used: int = field(repr=False)
    classes: Mapping[str, Mapping[str, int]] = field(repr=False)


def checked_cells(dataset: Dataset) -> CheckedCells:
    """Every row is counted, whoever owns it, in one class of every declared column."""
    schema, names = dataset.schema, tuple(dataset.schema.columns)
    found = dataset.source.statistics(cell_class_query(replace(schema, unit=Record()), names))
    classes = {
        name: dict(zip(cell_classes(schema, name), (int(count) for count in found[name]), strict=True))
        for name in names
    }
    rows = sum(classes[names[0]].values())
    used = rows
    if schema.unit.identifier is not None:
        used = int(dataset.source.statistics(cell_class_query(schema, names[:1]))[names[0]].sum())
    return CheckedCells(rows, dataset.source.count(), used, classes)


def wrong_columns(names: list[str], schema: Schema) -> dict[str, int]:
    """How often data of these columns have each one that they should have once, if not once."""
    times = {name: names.count(name) for name in columns_read(schema)}
    return {name: found for name, found in times.items() if found != 1}
