"""The rules for cells and persons written a second time, row by row in plain Python, and the tables the tests share."""

import hashlib
import math
import random
import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import Binary, Bounded, Categorical, Count, Person, Schema

DIGITS = r"\d+(_\d+)*"
NUMBER = re.compile(
    rf"[ \t\n\v\f\r]*\+?(-?(({DIGITS}(\.({DIGITS})?)?|\.{DIGITS})(e[+-]?{DIGITS})?|inf|infinity))[ \t\n\v\f\r]*",
    re.I | re.A,
)

SCHEMA = Schema(
    {
        "smoker": Binary(),
        "ward": Categorical(["A", "B", "Ü 'x'"]),
        "grade": Categorical([1, 2, "3.5"], missing=2),
        "age": Bounded(-3, 110.5, missing=40.25),
        "visits": Count(20),
    }
)
EXCLUDING = Schema(
    {
        "smoker": Binary(missing="exclude"),
        "ward": Categorical(["A", "B", "Ü 'x'"], missing="exclude"),
        "grade": Categorical([1, 2, "3.5"]),
        "age": Bounded(-3, 110.5, missing="exclude"),
        "visits": Count(20, missing="exclude"),
    }
)


def query_of(schema: Schema) -> Statistics:
    """Every kind of statistic, over every column."""
    return Statistics(
        schema,
        (
            Counts.over(schema, "smoker by ward", "smoker", "ward"),
            Counts.over(schema, "grade", "grade"),
            Counts.over(schema, "smokers", "smoker", cell=(1,)),
            Counts("used", (), ()),
            Sum.of(schema, "age", "age"),
            Sum.of(schema, "visits", "visits"),
            Sum.of(schema, "squared age", "age", "age", bits=12),
            Sum.of(schema, "age by visits", "age", "visits", bits=12),
            Sum.of(schema, "age in wards", "age", within="ward"),
            Sum.of(schema, "visits of smokers", "visits", "visits", within="smoker").grouped(
                "grade", ("1", "2", "3.5")
            ),
        ),
    )


def ordinary_rows(n: int, seed: int = 1) -> list[dict[str, str]]:
    """Rows of well-formed cells, as texts."""
    draw = random.Random(seed)
    return [
        {
            "smoker": draw.choice("01"),
            "ward": draw.choice(["A", "B", "Ü 'x'"]),
            "grade": draw.choice(["1", "2", "3.5"]),
            "age": repr(round(draw.uniform(0, 110), 2)),
            "visits": str(draw.randrange(21)),
        }
        for _ in range(n)
    ]


def written(column: Binary | Bounded | Categorical | Count, cell: Any) -> str | None:
    """The text of a cell of any type, None if it has none or too long a one."""
    if isinstance(cell, bool | np.bool_):
        if isinstance(column, Binary) and column.zero is not None:
            return str(column.one if cell else column.zero)
        return (("0", "1") if isinstance(column, Bounded | Count) else ("false", "true"))[bool(cell)]
    if isinstance(cell, str):
        declared = (column.zero, column.one) if isinstance(column, Binary) and column.zero is not None else ()
        levels = declared or getattr(column, "levels", ())
        longest = max((len(level.encode()) for level in levels), default=0) + 1024
        octets = cell.encode("utf-8", "surrogatepass")
        return cell if len(octets) <= longest and octets.decode("utf-8", "replace") == cell else None
    if not isinstance(cell, int | float | Decimal | np.number) or isinstance(cell, complex):
        return None
    value = math.inf if isinstance(cell, int) and cell > 10**308 else float(cell)
    if math.isnan(value):
        return None
    return str(int(value)) if abs(value) < 2**53 and value == int(value) else repr(value)


def number(cell: str | None) -> float | None:
    """The finite or infinite number a text denotes, or None."""
    found = None if cell is None else NUMBER.fullmatch(cell)
    return None if found is None else float(found[1].replace("_", ""))


def with_points(cell: str | None) -> str | None:
    """A text of a file with decimal commas, as it would be a number elsewhere: a point is no part of one there."""
    return None if cell is None or "." in cell else cell.replace(",", ".")


def code(column: Binary | Categorical, cell: str | None, commas: bool = False) -> int | None:
    """The level of a cell, or the default."""
    levels = ("0", "1") if isinstance(column, Binary) else column.levels
    plain = isinstance(column, Binary) and column.zero is None
    if isinstance(column, Binary) and not plain:
        levels = (column.zero, column.one)
    if cell is not None:
        text = cell.lower() if plain else cell
        if plain and text in ("false", "true"):
            return int(text == "true")
        if text in levels:
            return levels.index(text)
        numbers = [number(level) for level in levels]
        value = number(with_points(cell) if commas else cell)
        if value is not None and math.isfinite(value) and numbers.count(value) == 1:
            return numbers.index(value)
        if isinstance(column, Categorical) and column.other is not None and cell != "":
            return levels.index(column.other)
    if column.missing == "exclude":
        return None
    if isinstance(column, Binary):
        return int(column.missing or 0)
    return 0 if column.missing is None else levels.index(str(column.missing))


def steps(column: Bounded | Count, cell: str | None, commas: bool = False) -> int | None:
    """The grid steps of a cell, or those of the default."""
    cell = with_points(cell) if commas else cell
    lower, grid = (0, 1) if isinstance(column, Count) else (column.lower, column.grid)
    value = number(cell)
    if value is None:
        if column.missing == "exclude":
            return None
        value = lower if column.missing is None else float(column.missing)
    return math.floor(min(max(value, lower), column.upper) / grid + 0.5)


def meaning(column: Binary | Bounded | Categorical | Count, cell: Any, commas: bool = False) -> int | None:
    """The code or grid steps of a cell of any type, perhaps in a file with decimal commas; None excludes the row."""
    rule: Any = steps if isinstance(column, Bounded | Count) else code
    return rule(column, written(column, cell), commas)


def coded_cells(query: Statistics, row: dict[str, str | None]) -> dict[str, int | None]:
    """The code or grid steps of each cell; None excludes the row."""
    return {name: meaning(query.schema.column(name), row.get(name)) for name in query.columns}


def first_rows(query: Statistics, rows: list[dict[str, str | None]], dataset: str) -> list[dict[str, str | None]]:
    """At most k rows of every person; a row's person is its cell of the identifier column, None and empty are nobody."""
    unit = query.schema.unit
    if not isinstance(unit, Person):
        return rows
    owned: dict[str, list[tuple[str, dict[str, str | None]]]] = {}
    times: Counter[str] = Counter()  # how often a person had a row with these cells before
    for row in rows:
        who = row[unit.column]
        if who:
            cells = ["x" if cell is None else str(cell) for cell in coded_cells(query, row).values()]
            written = "\x1f".join([dataset, who, ",".join(cells)])
            times[written] += 1
            digest = hashlib.md5(f"{written}\x1f{times[written]}".encode()).hexdigest()
            owned.setdefault(who, []).append((digest, row))
    return [row for own in owned.values() for _, row in sorted(own, key=lambda pair: pair[0])[: unit.max_records]]


def expected(query: Statistics, rows: list[dict[str, str | None]], dataset: str = "t") -> dict[str, Any]:
    """The statistics of a table of texts, as nested lists and plain integers."""
    read = [coded_cells(query, row) for row in first_rows(query, rows, dataset)]
    read = [row for row in read if None not in row.values()]
    answers: dict[str, Any] = {}
    for statistic in query.statistics:
        if isinstance(statistic, Sum):
            cells = [tuple(row[name] for name in statistic.categories) for row in read]
            terms = [math.prod(int(axis.centred(row[axis.column])) for axis in statistic.axes) for row in read]
            answers[statistic.name] = _sums(list(zip(cells, terms, strict=True)), statistic.grid)
        else:
            cells = [tuple(row[name] for name in statistic.columns) for row in read]
            answers[statistic.name] = _table(cells, statistic.grid)
            if statistic.cell is not None:
                answers[statistic.name] = cells.count(statistic.cell)
    return answers


def _sums(terms: list[tuple[tuple[int, ...], int]], grid: tuple[int, ...]) -> Any:
    if not grid:
        return sum(term for _, term in terms)
    return [_sums([(cell[1:], term) for cell, term in terms if cell[0] == k], grid[1:]) for k in range(grid[0])]


def _table(cells: list[tuple[int, ...]], grid: tuple[int, ...]) -> Any:
    if not grid:
        return len(cells)
    return [_table([cell[1:] for cell in cells if cell[0] == level], grid[1:]) for level in range(grid[0])]


def plain(answers: dict[str, Any]) -> dict[str, Any]:
    """A source's arrays as nested lists and plain integers, which compare exactly."""
    return {name: array.tolist() for name, array in answers.items()}


def distances(query: Statistics, one: dict[str, Any], other: dict[str, Any]) -> tuple[Fraction, Fraction]:
    """How far two answers are apart, jointly and exactly, each statistic in its own unit: in L1 and in squared L2."""
    moves = [
        Fraction(int(a) - int(b), statistic.unit)
        for statistic in query.statistics
        for a, b in zip(one[statistic.name].ravel().tolist(), other[statistic.name].ravel().tolist(), strict=True)
    ]
    return sum(map(abs, moves), Fraction(0)), sum((move**2 for move in moves), Fraction(0))


def l1_distance(query: Statistics, one: dict[str, Any], other: dict[str, Any]) -> Fraction:
    """How far two answers are apart in L1."""
    return distances(query, one, other)[0]


def of_persons(schema: Schema, max_records: int) -> Schema:
    """The same columns, where the unit is a person."""
    return replace(schema, unit=Person("who", max_records))


BAD_CELLS = ["", "NaN", "inf", "-inf", "1e308", "-1e308", "1e400", "unknown", "TRUE", "2e0", "nan"]
PEOPLE = ["7", "ann", "", "Ünï ☃", "a,b", "nan", "x" * 50, "07", "Ann", "'; DROP TABLE rows; --"]


def table_of(n, seed=3, people=PEOPLE, bad=0.3, nobody=True):
    """Rows of people who have many or few of them; some rows are nobody's, some hold bad cells."""
    draw = random.Random(seed)
    rows = ordinary_rows(n, seed)
    for row in rows:
        row["who"] = people[min(int(draw.expovariate(0.4)), len(people) - 1)]
        if nobody and draw.random() < 0.1:
            row["who"] = None
        if draw.random() < bad:
            row[draw.choice(list(SCHEMA.columns))] = draw.choice(BAD_CELLS)
    return rows
