"""Public facts: columns and what a cell of each means, the privacy unit, the relation, how many rows there are."""

from discreet.schema.columns import KINDS, Binary, Bounded, Categorical, Column, Count, LevelColumn, Seen
from discreet.schema.csv_format import Csv
from discreet.schema.schema import UNITS, LabelOnly, Person, Record, Relation, Schema, Unit

__all__ = [
    "KINDS",
    "UNITS",
    "Binary",
    "Bounded",
    "Categorical",
    "Column",
    "Count",
    "Csv",
    "LabelOnly",
    "LevelColumn",
    "Person",
    "Record",
    "Relation",
    "Schema",
    "Seen",
    "Unit",
]
