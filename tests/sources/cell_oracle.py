"""The rules for cells written a second time, row by row in plain Python, and the tables that the tests share."""

import math
import random
import re
from typing import Any

from discreet.query import Counts, Statistics, Sum
from discreet.schema import Binary, Bounded, Categorical, Count, Schema

NUMBER = re.compile(r"[ \t\n\v\f\r]*[+-]?(\d+(_\d+)*\.?\d*|\.\d+|inf|infinity)(e[+-]?\d+)?[ \t\n\v\f\r]*", re.I | re.A)

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


def number(cell: str | None) -> float | None:
    """The finite or infinite number a text denotes, or None."""
    return float(cell) if cell is not None and NUMBER.fullmatch(cell) else None


def code(column: Binary | Categorical, cell: str | None) -> int | None:
    """The level of a cell, or the default."""
    if cell is not None:
        text = cell.lower() if isinstance(column, Binary) else cell
        if isinstance(column, Binary) and text in ("false", "true"):
            return int(text == "true")
        if text in column.levels:
            return column.levels.index(text)
        numbers = [number(level) for level in column.levels]
        value = number(cell)
        if value is not None and math.isfinite(value) and numbers.count(value) == 1:
            return numbers.index(value)
    return column.default_code


def steps(column: Bounded | Count, cell: str | None) -> int | None:
    """The grid steps of a cell, or those of the default."""
    value = number(cell)
    value = column.default_value if value is None else value
    return None if value is None else column.steps(value)


def expected(query: Statistics, rows: list[dict[str, str | None]]) -> dict[str, Any]:
    """The statistics of a table of texts, as nested lists and plain integers."""
    read = []
    for row in rows:
        coded = {}
        for name in query.columns:
            column = query.schema.column(name)
            rule = code if isinstance(column, Binary | Categorical) else steps
            coded[name] = rule(column, row.get(name))
        if None not in coded.values():
            read.append(coded)
    answers: dict[str, Any] = {}
    for statistic in query.statistics:
        if isinstance(statistic, Sum):
            answers[statistic.name] = sum(row[statistic.column] for row in read)
        else:
            cells = [tuple(row[name] for name in statistic.columns) for row in read]
            answers[statistic.name] = _table(cells, statistic.grid)
            if statistic.cell is not None:
                answers[statistic.name] = cells.count(statistic.cell)
    return answers


def _table(cells: list[tuple[int, ...]], grid: tuple[int, ...]) -> Any:
    if not grid:
        return len(cells)
    return [_table([cell[1:] for cell in cells if cell[0] == level], grid[1:]) for level in range(grid[0])]


def plain(answers: dict[str, Any]) -> dict[str, Any]:
    """A source's arrays as nested lists and plain integers, which compare exactly."""
    return {name: array.tolist() for name, array in answers.items()}


def l1_distance(query: Statistics, one: dict[str, Any], other: dict[str, Any]) -> int:
    """How far two answers are apart, jointly, in exact integers."""
    return sum(
        abs(int(a) - int(b))
        for name in query.names
        for a, b in zip(one[name].ravel().tolist(), other[name].ravel().tolist(), strict=True)
    )
