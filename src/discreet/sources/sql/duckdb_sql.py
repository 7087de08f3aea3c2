"""DuckDB's words for the trees of `sources.sql`: its own dialect, but many levels are a table of the connection."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from discreet.sources.sql.level_sql import LISTED

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["duckdb_text", "listed_levels"]


def duckdb_text(tree: "exp.Expr") -> str:
    """A tree in DuckDB's words; what `listed_levels` says must be tables with the columns level and code."""
    return tree.sql(dialect=_dialect(), copy=False)


def listed_levels(tree: "exp.Expr") -> dict[str, Mapping[Any, int]]:
    """The levels of a tree that are tables, and the code of each, by the names of the tables."""
    from sqlglot import exp

    return {_name(table): table.meta[LISTED] for table in tree.find_all(exp.Values) if LISTED in table.meta}


def _name(table: "exp.Values") -> str:
    return f"listed_{table.alias}"


@cache
def _dialect() -> Any:
    from sqlglot import exp
    from sqlglot.dialects.duckdb import DuckDB

    generator = type(
        "DuckDBWriter", (DuckDB.Generator,), {"TRANSFORMS": DuckDB.Generator.TRANSFORMS | {exp.Values: _values}}
    )
    return type("DuckDBWords", (DuckDB,), {"Generator": generator})


def _values(writer: Any, table: "exp.Values") -> str:
    if LISTED not in table.meta:
        return str(writer.values_sql(table))
    return f"{_name(table)} AS {writer.sql(table, 'alias')}"
