"""PostgreSQL's dialect of the trees of `sources.sql`, and the normal form in which it hands over the cells of a table.

PostgreSQL has no cast that gives NULL, and its errors print the cell: every cast here is of something that cannot fail.
It raises where a double overflows or underflows. It compares texts by collations, some of which make unequal texts
equal: every text is compared by its bytes.

    raw    SELECT cells as texts COLLATE "C", doubles, whole numbers, truth values FROM schema.table
    rows   SELECT what `handed_over` says FROM raw

The server writes out the columns of a subselect wherever they are used, and computes them each time. One with a WITH of
its own, of which nothing is read, it leaves alone: its columns are computed once, and by parallel workers too, as those
of an OFFSET 0 are not. What a statement means does not depend on it.

A text is a number by the rule of `schema.cell.number_of`. Those that may be one, by their form, have at most
`LONGEST_NUMBER` bytes and four digits in the exponent, or else are too large or too small for any double; so what is
cast to a decimal is within its range, and what is cast to a double lies between public bounds.
"""

from collections.abc import Callable
from decimal import Context, Decimal
from functools import cache, partial
from math import frexp, nextafter
from typing import TYPE_CHECKING, Any

from discreet.schema.cell import LARGEST_WHOLE_FLOAT, Storage, clipped_steps
from discreet.schema.columns import Bounded, Count
from discreet.sources.sql.cell_sql import GRID, ONCE
from discreet.sources.sql.level_sql import LISTED

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["LONGEST_NUMBER", "double_of_decimal", "normal_cell", "normal_owner", "once", "quoted", "text_of"]

LONGEST_NUMBER = 5_000  # bytes of a text that may be the number of a level

_DIGITS = "[0-9]+(_[0-9]+)*"
_NUMBER = rf"^[ \t\n\v\f\r]*\+?-?({_DIGITS}(\.({_DIGITS})?)?|\.{_DIGITS})(e[+-]?{_DIGITS})?[ \t\n\v\f\r]*$"
_SMALL_EXPONENT = "^-?0*[0-9]{0,4}$"

# Decimals from here on round to infinity, and up to there to zero.
_TOO_LARGE = str(2**1024 - 2**970)
_TOO_SMALL = format(Context(prec=1100).power(Decimal(2), -1075), "f")
_PLAIN = "1e-290", "1e290"  # nothing between them rounds to zero or to infinity
_LEAST_STEP = 2.0**-900  # of a grid whose points are as exact as those of the grid 1


def _text(value: str) -> str:
    """A constant; standard_conforming_strings is on."""
    return "'" + value.replace("'", "''") + "'"


def _double(value: float) -> str:
    """A constant to the last bit."""
    return f"DOUBLE PRECISION '{value!r}'"


def double_of_decimal(cell: str) -> str:
    """A decimal as the nearest double, whatever its size; NaN and infinities are those of doubles."""
    small, large = _PLAIN
    return (
        f"CASE WHEN {cell} > -{large} AND {cell} < {large} AND ({cell} > {small} OR {cell} < -{small}) "
        f"THEN CAST({cell} AS DOUBLE PRECISION) "
        f"WHEN {cell} = 'NaN' THEN DOUBLE PRECISION 'NaN' "
        f"WHEN {cell} >= {_TOO_LARGE} THEN DOUBLE PRECISION 'Infinity' "
        f"WHEN {cell} <= -{_TOO_LARGE} THEN DOUBLE PRECISION '-Infinity' "
        f"WHEN {cell} <= {_TOO_SMALL} AND {cell} >= -{_TOO_SMALL} THEN DOUBLE PRECISION '0' "
        f"ELSE CAST({cell} AS DOUBLE PRECISION) END"
    )


def _number(written: str) -> str:
    """The double that a text is, NULL if it is none; those that no finite number equals are NULL too."""
    plain = f"LOWER(TRANSLATE({written}, E'_+ \\t\\n\\x0b\\f\\r', ''))"
    mantissa, exponent = (f"SPLIT_PART({plain}, 'e', {part})" for part in (1, 2))
    is_number = f"{written} ~* {_text(_NUMBER)} AND OCTET_LENGTH({written}) <= {LONGEST_NUMBER}"
    small = f"{exponent} ~ {_text(_SMALL_EXPONENT)}"
    # zero, or nearer to it than any double, or beyond all of them, which no level is
    rest = f"CASE WHEN {exponent} LIKE '-%' OR {mantissa} !~ '[1-9]' THEN DOUBLE PRECISION '0' END"
    decimal = f"CAST({mantissa} || 'e' || CASE WHEN {exponent} IN ('', '-') THEN '0' ELSE {exponent} END AS NUMERIC)"
    return f"CASE WHEN {is_number} THEN CASE WHEN {small} THEN {double_of_decimal(decimal)} ELSE {rest} END END"


def _place(levels: "exp.DataType", written: str) -> str:
    """The place of a text among the declared ones, from 0; NULL if it is none."""
    texts = ", ".join(_text(level.name) for level in levels.expressions)
    return f'(ARRAY_POSITION(CAST(ARRAY[{texts}] AS TEXT[]) COLLATE "C", {written} COLLATE "C") - 1)'


def _whole(value: str) -> str:
    """A double as a whole number, clamped before it is cast, NaN upwards: exact wherever the result is looked at."""
    low, high = (f"DOUBLE PRECISION '{sign}{LARGEST_WHOLE_FLOAT}'" for sign in ("-", ""))
    return f"CAST(LEAST(GREATEST({value}, {low}), {high}) AS BIGINT)"


def _trycast(writer: Any, cast: "exp.TryCast") -> str:
    """A text as a double; a double as a whole number."""
    from sqlglot import exp

    inner = writer.sql(cast, "this")
    return _number(inner) if cast.to.this == exp.DataType.Type.DOUBLE else _whole(inner)


def _intdiv(writer: Any, quotient: "exp.IntDiv") -> str:
    """Of decimals, in which there is every whole number."""
    left, right = (f"CAST({writer.sql(quotient, side)} AS NUMERIC)" for side in ("this", "expression"))
    return f"DIV({left}, {right})"


def _contains(writer: Any, sought: "exp.Contains") -> str:
    """No text here has a U+0000."""
    from sqlglot import exp

    if isinstance(sought.expression, exp.Chr):
        return "FALSE"
    return f"(STRPOS({writer.sql(sought, 'this')}, {writer.sql(sought, 'expression')}) > 0)"


def _sha2(writer: Any, digest: "exp.SHA2") -> str:
    """Of the bytes in UTF-8, which is how the server keeps them."""
    return f"ENCODE(SHA256(CONVERT_TO({writer.sql(digest, 'this')}, 'UTF8')), 'hex')"


def _anonymous(writer: Any, called: "exp.Anonymous") -> str:
    """`enum_code` of a text cast to an enumeration is its place; others are PostgreSQL's own."""
    if called.name.lower() != "enum_code":
        return f"{called.name}({', '.join(writer.sql(argument) for argument in called.expressions)})"
    cast = called.expressions[0]
    return _place(cast.to, writer.sql(cast, "this"))


def _selected(writer: Any, select: "exp.Select") -> str:
    """A select whose columns are computed once, if it is within another that uses them more often."""
    from sqlglot import exp
    from sqlglot.dialects.postgres import Postgres

    written = str(Postgres.Generator.TRANSFORMS[exp.Select](writer, select))
    return once(written) if select.parent is not None and select.meta.get(ONCE) else written


def once(select: str) -> str:
    """A select that stays one."""
    return f"WITH once AS (SELECT 1) {select}"


def _at_most(writer: Any, compared: "exp.LTE") -> str:
    """The length of a text in bytes stands in its head; the server would multiply it to have bits."""
    from sqlglot import exp

    left, right = compared.this, compared.expression
    if not isinstance(left, exp.BitLength):
        return str(writer.binary(compared, "<="))
    return f"OCTET_LENGTH({writer.sql(left, 'this')}) <= {int(right.name) // 8}"


def _floor(writer: Any, rounded: "exp.Floor") -> str:
    """A grid step by one call that compares, divides and cuts, where it is the same to the last bit."""
    value, column = rounded.meta.get(GRID, (None, None))
    bucket = None if value is None else _bucket(writer.sql(value), column)
    return f"FLOOR({writer.sql(rounded, 'this')})" if bucket is None else bucket


def _bucket(value: str, column: Bounded | Count) -> str | None:
    """A number on its grid as a count of the points where steps begin: a whole number of 32 bits, or None.

    From `first` on, WIDTH_BUCKET is 1 + floor(count (value - first) / (last - first)) in doubles, and 0 below. With 2^j
    buckets that are as wide as a step, a power of two, only the subtraction can round. In steps, they begin at
    half-integers from low + 1/2 on. What is above one that is above 0 is a multiple of its own last bit, as the
    half-integer is, and so is the difference, which is smaller: it is exact. But step 1 begins at 1/2 - 2^-54, since in
    doubles 1/2 more than that is 1. To subtract it is to add 2^-54 to the exact difference; and a number below a later
    beginning is 2^-52 below it or more, which rounding does not make up for.
    """
    steps = partial(clipped_steps, lower=column.lower, upper=column.upper, step=column.step)
    low, high = int(steps(column.lower)), int(steps(column.upper))
    wide = (high - low).bit_length()
    mantissa, _ = frexp(column.step)
    if mantissa != 0.5 or not _LEAST_STEP <= column.step <= 1 / _LEAST_STEP or low < 0 or wide > 30:
        return None
    first = nextafter(0.5, 0.0) if low == 0 else low + 0.5
    points = (first * column.step, (low + 0.5 + 2**wide) * column.step, float(column.upper))
    begin, end, upper = map(_double, points)
    other = "NULL" if column.default_value is None else str(int(steps(column.default_value)))
    reached = f"WIDTH_BUCKET({value}, {begin}, {end}, {2**wide})" + (f" + {low}" if low else "")
    # NaN is above everything; it never reaches the function, which would not take it
    above = f"{value} < DOUBLE PRECISION 'NaN'"
    return f"CASE WHEN {value} <= {upper} THEN {reached} WHEN {above} THEN {high} ELSE {other} END"


def _literal(_: Any, literal: "exp.Literal") -> str:
    """A number with an exponent is a double, not a decimal."""
    if literal.is_string:
        return _text(literal.name)
    return f"DOUBLE PRECISION '{literal.name}'" if "e" in literal.name else literal.name


def _values(writer: Any, table: "exp.Values") -> str:
    """Many levels are written at once, without a node for each."""
    if LISTED not in table.meta:
        return str(writer.values_sql(table))
    constant: dict[type, Callable[[Any], str]] = {str: _text, float: _double}
    written = ", ".join(f"({constant[type(level)](level)}, {code})" for level, code in table.meta[LISTED].items())
    return f"(VALUES {written}) AS {writer.sql(table, 'alias')}"


@cache
def _dialect() -> Any:
    """PostgreSQL, where some nodes are written as above."""
    from sqlglot import exp
    from sqlglot.dialects.postgres import Postgres

    own: dict[Any, Any] = {
        exp.Anonymous: _anonymous,
        exp.Contains: _contains,
        exp.Floor: _floor,
        exp.IntDiv: _intdiv,
        exp.LTE: _at_most,
        exp.Literal: _literal,
        exp.Select: _selected,
        exp.SHA2: _sha2,
        exp.TryCast: _trycast,
        exp.Values: _values,
    }
    generator = type("PostgresWriter", (Postgres.Generator,), {"TRANSFORMS": {**Postgres.Generator.TRANSFORMS, **own}})
    return type("PostgresWords", (Postgres,), {"Generator": generator})


def text_of(tree: "exp.Expr") -> str:
    """A tree in PostgreSQL's words, every name in quotes."""
    return tree.sql(dialect=_dialect(), identify=True)


def normal_cell(cell: str, storage: Storage, typmod: int, numbers: bool) -> tuple[str, Storage]:
    """A declared column in the normal form, and how it is then held; `numbers` are due or levels."""
    if storage == "boolean" and numbers:
        return f"CASE WHEN {cell} THEN DOUBLE PRECISION '1' WHEN NOT {cell} THEN DOUBLE PRECISION '0' END", "float"
    if storage == "decimal":
        return (f"CAST({cell} AS DOUBLE PRECISION)" if _is_short(typmod) else double_of_decimal(cell)), "float"
    return (f'CAST({cell} AS TEXT) COLLATE "C"', "text") if storage == "text" else (cell, storage)


def normal_owner(cell: str, storage: Storage) -> tuple[str, Storage]:
    """The column of identifiers in the normal form: texts of exact digits where it holds decimals or floats."""
    if storage == "decimal":
        digits = f"CAST(TRIM_SCALE({cell}) AS TEXT)"
        return f"CASE WHEN {digits} !~ '[A-Za-z]' THEN {digits} END COLLATE \"C\"", "text"
    if storage == "float":
        value = f"CAST({cell} AS DOUBLE PRECISION)"
        size = f"ABS({value})"
        # from 1e15 on PostgreSQL prints exponents
        point = f"REGEXP_REPLACE({value}::text, '^(-?[0-9])\\.([0-9]{{15}})([0-9]*)e\\+15$', '\\1\\2.\\3')"
        whole = f"CAST({_whole(value)} AS TEXT)"
        digits = (
            f"CASE WHEN {value} = FLOOR({value}) THEN {whole} WHEN {size} >= 1e15 THEN {point} ELSE {value}::text END"
        )
        return f'CASE WHEN {size} < {LARGEST_WHOLE_FLOAT} THEN {digits} END COLLATE "C"', "text"
    return (f'CAST({cell} AS TEXT) COLLATE "C"', "text") if storage == "text" else (cell, storage)


def _is_short(typmod: int) -> bool:
    """Whether a decimal is declared with so few digits that it is a double's size; NaN it may be all the same."""
    precision, scale = ((typmod - 4) >> 16) & 0xFFFF, (typmod - 4) & 0x7FF
    return typmod >= 4 and precision <= 200 and scale <= 200  # from version 15 on a scale may be negative: above 1023


def quoted(*names: str) -> Any:
    """A name of the catalogue, in quotes."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
