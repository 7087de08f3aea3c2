r"""Spark's dialect of the trees of `sources.sql`.

No text stands in a statement as it is: settings of a session decide how Spark reads quotes, backslashes and `${…}`, and
so a text is the hexadecimal digits of its bytes. In ANSI mode a cast, a sum or a division that cannot be done stops
everything with a message that quotes the cell. So casts are those that give NULL, what is rounded was clipped before,
and no sum of whole numbers can overflow: those over rows are cut into parts of few bits, by the public number of rows,
and those over groups are decimals of 38 digits.

A text is a number by the rule of `schema.cell.number_of`, in a pattern that never tries a second way: a long text
cannot exhaust the stack of Java.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from discreet.sources.sql.level_sql import LISTED
from discreet.sources.sql.sum_sql import HALVES, WITHIN

__all__ = ["spark_text"]

_DIGITS = "[0-9]++(?:_[0-9]++)*+"
_BLANKS = r"[ \t\n\x0B\f\r]*+"
_NUMBER = (
    rf"\A{_BLANKS}\+?+(-?+(?:(?:{_DIGITS}(?:\.(?:{_DIGITS})?+)?+|\.{_DIGITS})(?:[eE][+-]?+{_DIGITS})?+"
    rf"|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?+)){_BLANKS}\z"
)
_FAR = 2**62  # more than any quotient that is looked at


def spark_text(tree: Any) -> str:
    """A tree in Spark's words, every name in quotes."""
    return str(tree.sql(dialect=_dialect(), identify=True))


@cache
def _dialect() -> Any:
    from sqlglot import exp
    from sqlglot.dialects.spark import Spark

    ours = {
        exp.Anonymous: _function,
        exp.Cast: _cast,
        exp.IntDiv: _quotient,
        exp.Literal: _literal,
        exp.Sum: _sum,
        exp.TryCast: _tried,
        exp.Values: _values,
        exp.Window: _window,
    }
    words = type("Generator", (Spark.Generator,), {"TRANSFORMS": Spark.Generator.TRANSFORMS | ours})
    return type("InSpark", (Spark,), {"Generator": words})


def _literal(_: Any, node: Any) -> str:
    """A text by its bytes."""
    written = str(node.this)
    return _text(written) if node.is_string else written


def _text(written: str) -> str:
    return f"CAST(X'{written.encode().hex()}' AS STRING)"


def _double(value: float) -> str:
    return f"CAST({_text(repr(value))} AS DOUBLE)"


def _function(write: Any, node: Any) -> str:
    """`enum_code` of a text cast to an enumeration is its place."""
    if node.name.lower() != "enum_code":
        return str(write.func(node.name, *node.expressions))
    tried = node.expressions[0]
    levels = ", ".join(write.sql(level) for level in tried.to.expressions)
    return f"(NULLIF(ARRAY_POSITION(ARRAY({levels}), {write.sql(tried, 'this')}), 0) - 1)"


def _cast(write: Any, node: Any) -> str:
    """To a whole number, NULL where it has no room."""
    return str(write.cast_sql(node, safe_prefix="TRY_" if _is(node.to, "BIGINT") else None))


def _tried(write: Any, node: Any) -> str:
    """A text as a double; a double as a whole number."""
    from sqlglot import exp

    inner = write.sql(node, "this")
    if not _is(node.to, "DOUBLE"):
        return f"TRY_CAST({inner} AS {write.sql(node, 'to')})"
    pattern, sign, nothing = (write.sql(exp.Literal.string(text)) for text in (_NUMBER, "_", ""))
    return f"TRY_CAST(REPLACE(REGEXP_EXTRACT({inner}, {pattern}, 1), {sign}, {nothing}) AS DOUBLE)"


def _sum(write: Any, node: Any) -> str:
    """Of whole numbers: at once, of halves at once, or in parts of 32 bits for 2^31 rows, or of 22 bits for 2^41 rows.

    Where there are more rows than were declared, a sum may be NULL: it is then asked for again.
    """
    from sqlglot import exp

    inner = write.sql(node, "this")
    if isinstance(node.this, exp.Column) or not all(_is(cast.to, "BIGINT") for cast in node.find_all(exp.Cast)):
        return f"SUM(CAST({inner} AS DECIMAL(38, 0)))"
    rows, largest = node.meta.get(WITHIN, (None, None))
    if rows is not None and rows * largest < 2**63:
        return f"TRY_SUM({inner})"
    halves, factor = node.meta.get(HALVES, (None, 1))
    if halves is not None and rows is not None and rows * largest < 2**63 * factor:
        return f"(CAST(TRY_SUM({write.sql(halves)}) AS DECIMAL(38, 0)) * {factor})"
    bits = 32 if rows is not None and rows <= 2**31 else 22
    cut = [f"{inner} & {2**bits - 1}", f"SHIFTRIGHT({inner}, {bits})"]
    if bits == 22:
        cut = [cut[0], f"{cut[1]} & {2**bits - 1}", f"SHIFTRIGHT({inner}, {2 * bits})"]
    parts = (f"CAST(TRY_SUM({part}) AS DECIMAL(38, 0)) * {2 ** (bits * k)}" for k, part in enumerate(cut))
    return f"({' + '.join(parts)})"


def _values(write: Any, table: Any) -> str:
    """Many levels are written at once, without a node for each."""
    if LISTED not in table.meta:
        return str(write.values_sql(table))
    constant: dict[type, Callable[[Any], str]] = {str: _text, float: _double}
    written = ", ".join(f"({constant[type(level)](level)}, {code})" for level, code in table.meta[LISTED].items())
    return f"VALUES {written} AS {write.sql(table, 'alias')}"


def _quotient(write: Any, node: Any) -> str:
    """Of a sum over a person, which may need more than 64 bits, no more than what 64 bits have room for."""
    from sqlglot import exp

    left, right = (write.sql(node, side) for side in ("this", "expression"))
    if node.find(exp.Abs) is not None:
        left = f"LEAST(CAST({left} AS DECIMAL(38, 0)), CAST({right} AS DECIMAL(38, 0)) * {_FAR})"
    return f"({left} DIV {right})"


def _window(write: Any, node: Any) -> str:
    """Spark numbers no rows without an order; rows that are alike have none."""
    from sqlglot import exp

    if node.args.get("order") is None:
        node.set("order", exp.Order(expressions=[exp.Ordered(this=exp.null())]))
    return str(write.window_sql(node))


def _is(kind: Any, name: str) -> bool:
    return str(kind.this.name) == name
