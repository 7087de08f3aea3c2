"""Whole numbers of the embedded engine come home exactly, at every width, and without pandas."""

import subprocess
import sys
from decimal import Decimal

import duckdb
import pytest

from discreet.sources.engines.base import in_arrays
from discreet.sources.engines.duckdb import whole_numbers
from discreet.sources.sql.statements import Grouping

WIDE = [0, -5, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**127 - 1, 1 - 2**127, 2**64, -(2**64) + 3]


@pytest.mark.parametrize("numbers", [WIDE, WIDE[:3], WIDE[4:5], [number for number in WIDE if number < 0]])
def test_sums_of_128_bits_keep_all_of_them(numbers: list[int]) -> None:
    rows = ", ".join(f"({place}, {number}::HUGEINT)" for place, number in enumerate(numbers))
    with duckdb.connect() as connection:
        table = connection.sql(f"SELECT x FROM (VALUES {rows}) AS t(i, x) ORDER BY i").to_arrow_table()
    assert [int(number) for number in whole_numbers(table.column(0))] == numbers
    assert [int(number) for number in whole_numbers(table.slice(1).column(0))] == numbers[1:]


def test_codes_of_every_type_are_whole_numbers() -> None:
    kinds = ("UTINYINT", "USMALLINT", "UINTEGER", "TINYINT", "INTEGER", "BIGINT")
    with duckdb.connect() as connection:
        for rows in (0, 5, 5000):
            asked = ", ".join(f"(i % 100)::{kind}" for kind in kinds)
            table = connection.sql(f"SELECT {asked} FROM range({rows}) AS t(i)").to_arrow_table()
            assert [sorted(whole_numbers(column)) for column in table.columns] == [
                sorted(i % 100 for i in range(rows)) for _ in kinds
            ]


def test_decimals_of_an_engine_are_whole_numbers() -> None:
    codes, totals = in_arrays([(0, Decimal(2**90)), (1, Decimal(7))], Grouping((), ()), ("x",))
    assert [(type(number), number) for number in totals] == [(int, 2**90), (int, 7)]
    assert codes.tolist() == [0, 1]


def test_pandas_is_not_imported() -> None:
    asked = (
        "import duckdb, sys; from discreet.sources.engines.duckdb import whole_numbers; "
        "[whole_numbers(c) for c in duckdb.sql('SELECT 1::BIGINT, 1::HUGEINT').to_arrow_table().columns]; "
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", asked], check=False).returncode == 0
