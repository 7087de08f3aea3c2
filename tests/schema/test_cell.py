"""What a cell means, in numbers and texts alone: the round trip of numbers, the grid, and what columns say of themselves."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from discreet.schema import Binary, Bounded, Categorical, Column, Count
from discreet.schema.cell import NO_LEVEL, NO_NUMBER, clipped_steps, number_of, number_text
from discreet.schema.coded_cells import coded_numbers, coded_objects
from discreet.schema.columns import level_numbers, level_texts


def test_a_number_is_the_number_of_its_text() -> None:
    draw = random.Random(1)
    values = [0.0, -0.0, 1.0, -7.0, 2.0**53, 2.0**53 - 1, 5e-324, 1e308, math.inf, -math.inf, 0.1, 1e16, 123456789.125]
    values += [draw.uniform(-1, 1) * 10.0 ** draw.randint(-320, 308) for _ in range(2000)]
    assert all(number_of(number_text(value) or "") == value for value in values)
    assert number_text(math.nan) is None
    assert [number_text(value) for value in (-0.0, 2.0, 2.5, 2.0**53)] == ["0", "2", "2.5", "9007199254740992.0"]


@pytest.mark.parametrize(
    "column", [Bounded(-3, 110.5), Bounded(0, 1, grid=0.3), Bounded(-1e-9, 1e9, grid=1.0), Count(20)]
)
def test_steps_are_the_nearest_multiples_of_the_grid(column: Bounded | Count) -> None:
    draw = random.Random(2)
    for value in [draw.uniform(column.lower, column.upper) for _ in range(500)] + [-1e300, 1e300, math.inf, -math.inf]:
        within = min(max(value, column.lower), column.upper)
        away = abs(Fraction(within) - column.steps(value) * Fraction(column.step))
        assert away <= Fraction(column.step) * Fraction(1 + 2**-30) / 2
        assert column.steps(value) == int(clipped_steps(np.array([value]), column.lower, column.upper, column.step)[0])


def test_a_bad_number_is_the_default_or_excludes_its_row() -> None:
    values = np.array([math.nan, 1.0])
    assert coded_numbers(Count(9, missing=4), values).tolist() == [4, 1]
    assert coded_numbers(Count(9), values).tolist() == [0, 1]
    assert coded_numbers(Count(9, missing="exclude"), values).tolist() == [NO_NUMBER, 1]


def test_levels_are_known_by_text_or_else_by_number() -> None:
    column = Categorical(["1", "1.0", "x", "2e0", "-0", "inf"], missing="exclude")
    assert level_texts(column) == {"1": 0, "1.0": 1, "x": 2, "2e0": 3, "-0": 4, "inf": 5}
    assert level_numbers(column) == {2.0: 3, 0.0: 4}  # 1 is two levels, and no number can tell which
    cells = ["1", "1.0", "1.00", 1, 2, "02", 0.0, "+0", "inf", math.inf, "1e999", "X", None, True]
    codes = [0, 1, NO_LEVEL, 0, 3, 3, 4, 4, 5, 5, NO_LEVEL, NO_LEVEL, NO_LEVEL, NO_LEVEL]
    assert coded_objects(column, cells).tolist() == codes
    assert coded_objects(Binary(), ["TRUE", "False", True, 1, "1.0", "yes"]).tolist() == [1, 0, 1, 1, 1, 0]


@pytest.mark.parametrize("column", [Binary(), Categorical(["a", "b"]), Bounded(0, 1), Count(3)])
def test_a_column_says_what_it_holds(column: Column) -> None:
    assert (column.holds == "levels") == bool(column.levels)
    assert column.excluded == (NO_LEVEL if column.levels else NO_NUMBER)
    assert column.truths == (("false", "true") if column.levels else ("0", "1"))
