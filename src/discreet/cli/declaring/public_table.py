"""Levels and bounds from a table that the custodian calls public: every one of them is a cell of that table.

Bounds are rounded outward to numbers of few digits, so that no cell is clipped there and a reader sees that they are
bounds, not records. Kinds follow from the cells, which are public: two words of which one says no are binary, few texts
are levels, whole numbers from about 0 are counts.
"""

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

from discreet.cli.declaring.drafts import OPEN, Draft
from discreet.errors import QueryError, SchemaError
from discreet.schema import Csv
from discreet.schema.cell import comma_number_of, number_of, object_texts

__all__ = ["drafts_of", "readable_bounds"]

MOST_LEVELS = 50
NO_CELL = {"", "na", "n/a", "nan", "null", "none", "?", "."}  # texts that people write where nothing is known
NO_AND_YES = (("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("0", "1"), ("absent", "present"))
STEPS = (Decimal(1), Decimal(2), Decimal(5))


def drafts_of(path: Path, csv: Csv | None) -> dict[str, Draft]:
    """A draft for every column of a public table."""
    from discreet.posterior.records.record_files import read_records

    try:
        table = read_records(path, csv)
    except QueryError as problem:
        raise SchemaError(f"--public: {problem}") from None
    commas = csv is not None and csv.decimal == ","
    return {name: _draft(name, table.column(name), commas=commas) for name in dict.fromkeys(table.column_names)}


def _draft(name: str, cells: Any, *, commas: bool) -> Draft:
    import pyarrow.compute as pc

    from discreet.schema.arrow_cell import scanned_type

    if scanned_type(cells.type) is None:
        return Draft(name, None, "left out: neither texts nor numbers in the public table")
    number = comma_number_of if commas else number_of
    found = object_texts(pc.unique(cells).to_pylist(), ("false", "true")).to_pylist()
    texts = sorted({text for text in found if text is not None and text.strip().lower() not in NO_CELL})
    if not texts:
        return Draft(name, None, "left out: no cell of the public table says anything")
    numbers = [number(text) for text in texts]
    values = [value for value in numbers if value is not None and math.isfinite(value)]
    if len(values) == len(texts):
        return Draft(
            name, {**_of_numbers(values), "missing": "exclude"}, "bounds rounded outward from the public table"
        )
    pair = _no_and_yes(texts)
    if pair is not None:
        two = {} if pair in (("false", "true"), ("0", "1")) else {"zero": pair[0], "one": pair[1]}
        return Draft(name, {"kind": "binary", **two, "missing": "exclude"}, "levels from the public table")
    if len(texts) > MOST_LEVELS:
        return Draft(name, None, f"left out: {len(texts)} different texts in the public table; levels must be declared")
    if len(texts) == 1:
        return Draft(name, {"kind": "categorical", "levels": OPEN}, f"only {texts[0]!r} in the public table")
    return Draft(
        name, {"kind": "categorical", "levels": texts, "missing": "exclude"}, "levels from the public table, sorted"
    )


def _of_numbers(values: list[float]) -> dict[str, Any]:
    low, high = min(values), max(values)
    if set(values) <= {0.0, 1.0}:
        return {"kind": "binary"}
    lower, upper = readable_bounds(low, high)
    if all(value == int(value) for value in values) and 0 <= low <= high - low and high < 2**30:
        return {"kind": "count", "upper": math.ceil(upper)}
    return {"kind": "bounded", "lower": lower, "upper": upper}


def _no_and_yes(texts: list[str]) -> tuple[str, str] | None:
    """The text for no and the text for yes, if these are all."""
    for pair in NO_AND_YES:
        if sorted(text.lower() for text in texts) == sorted(pair):
            return (texts[0], texts[1]) if texts[0].lower() == pair[0] else (texts[1], texts[0])
    return None


def readable_bounds(low: float, high: float) -> tuple[float, float]:
    """Multiples of 1, 2 or 5 times a power of ten, about twenty of them apart, at or outside of both numbers."""
    least, greatest = Decimal(repr(low)), Decimal(repr(high))
    width = (greatest - least) or abs(greatest) or Decimal(1)
    target = width / 10
    power = Decimal(1).scaleb(target.adjusted())
    step = max(step * power for step in STEPS if step * power <= target)
    lower, upper = (least / step).to_integral_value("ROUND_FLOOR"), (greatest / step).to_integral_value("ROUND_CEILING")
    upper = lower + 1 if upper == lower else upper
    return _plain(lower * step), _plain(upper * step)


def _plain(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() and abs(value) < 2**53 else float(value)
