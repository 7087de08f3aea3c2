"""Who a row belongs to: unequal identifiers are unequal persons, or the row is nobody's.

| cell of the identifier | person |
|---|---|
| text | itself: `17`, `017` and `17.0` are three; nobody's if it is empty, mended or longer than 4 KiB |
| whole number, decimal | its exact digits, without zeros after the point: 17, 17.0 and 17.00 are one |
| float | the same below 2^53; from there on a float stands for many whole numbers: nobody's, like NaN and infinity |
| number in a column of pandas | as if it were a float: below 2^53 its exact digits, nobody's from there on |
| field of a CSV file | a text; but `17.0` is the float 17, and with an exponent (`1e+16`) it is nobody's |
| field of a file with decimal commas | the same of `17,0`; `17.0` is a text |
| truth value | `false`, `true` |

A text is mended if bytes were replaced to make it Unicode: whoever did it wrote U+FFFD, and two names may have become
one. So may texts with U+0000, where many libraries end them: they are nobody's too. CSV files have no types, and
writers of tables turn all whole numbers into floats where one is missing: `17` and `17.0` must be one there, else a
single cell would change everyone's identifier. For the same reason numbers from 2^53 on are nobody's in a column whose
type pandas chose by its cells (`Owner`): they would all be floats if one of them were missing. In columns of texts
nothing is merged. Objects in a frame are read by the same rules, each by its own type, and are one person if they print
alike: `"17"` and 17. Their methods are never called: what a class of the user's own does would depend on a row.

Long identifiers are handed on as their SHA-256: whatever is grouped, sorted or compared later has a fixed size. With
its prefix a digest is longer than any text that is handed on as it is. Nothing is cut: cut names may be equal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.schema.cell import LARGEST_WHOLE_FLOAT, LONGEST_IDENTIFIER, MENDED, Storage, exact_digits
from discreet.sources.sql.cell_sql import cast, is_bad, parsed, printed, swapped

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp

__all__ = ["Owner", "identifier", "identifier_texts", "known", "text_of_identifier"]

LONGEST_AS_IT_IS = 64  # bytes
DIGEST = "sha256:"
END = "\0"  # where many libraries end a text
WHOLE_FLOAT = r"-?(0|[1-9][0-9]*)\.0+"
COMMA_OR_POINT = r"-?[0-9]+[.,][0-9]+([eE]\+[0-9]+)?"
WITH_EXPONENT = r"-?[0-9](\.[0-9]+)?[eE]\+[0-9]+"


@dataclass(frozen=True)
class Owner:
    """A column of identifiers, how its cells are held, and whether they are so whatever the other cells are."""

    column: str
    storage: Storage
    typed: bool = True


def known(text: str | None) -> str | None:
    """The person with this identifier, None if it is nobody's: the same rule as `identifier` in SQL."""
    if text is None or not _is_somebodys(text):
        return None
    octets = text.encode()
    return text if len(octets) <= LONGEST_AS_IT_IS else DIGEST + sha256(octets).hexdigest()


def _is_somebodys(text: str) -> bool:
    if not text or len(text) > LONGEST_IDENTIFIER or MENDED in text or END in text:
        return False
    try:
        return len(text.encode()) <= LONGEST_IDENTIFIER
    except UnicodeEncodeError:  # half a surrogate pair
        return False


def identifier(owner: Owner, relation: str) -> "exp.Expr":
    """The person that a row of `relation` belongs to, NULL if it is nobody's."""
    from sqlglot import exp

    held: exp.Expr = exp.column(owner.column, relation, quoted=True)
    if owner.storage == "float":
        return _of_float(cast(held, "double"))
    if owner.storage in ("decimal", "integer"):
        digits = _of_decimal(printed(held)) if owner.storage == "decimal" else printed(held)
        return digits if owner.typed else exp.Case(ifs=[exp.If(this=_is_small(parsed(held)), true=digits)])
    if owner.storage == "comma":
        held = _with_points(held)
    elif owner.storage != "field":
        return _of_text(held) if owner.storage == "text" else printed(held)
    is_float, has_exponent = (
        exp.Anonymous(this="regexp_full_match", expressions=[held, exp.Literal.string(pattern)])
        for pattern in (WHOLE_FLOAT, WITH_EXPONENT)
    )
    branches = [exp.If(this=is_float, true=_of_float(parsed(held))), exp.If(this=has_exponent, true=exp.null())]
    looks_so = exp.Or(this=_contains(held, "."), expression=_contains(held, "+"))  # patterns are slow
    as_written = _of_text(held)
    number = exp.Case(ifs=branches, default=as_written)
    return exp.Case(ifs=[exp.If(this=looks_so, true=number)], default=as_written)


def _with_points(held: "exp.Expr") -> "exp.Expr":
    """A field of a file with decimal commas as one of a file with points; unequal ones stay unequal."""
    from sqlglot import exp

    pattern = exp.Literal.string(COMMA_OR_POINT)  # what it matches, it matches with the signs exchanged
    is_number = exp.Anonymous(this="regexp_full_match", expressions=[held, pattern])
    return exp.Case(ifs=[exp.If(this=is_number, true=swapped(held))], default=held)


def identifier_texts(rows: Any, *, typed: bool = True) -> "pa.Array":
    """A sequence of objects as the texts of identifiers: at once where all are short texts, else one by one."""
    import pyarrow as pa

    plain = all(type(cell) is str or cell is None for cell in rows)
    if plain and max((len(cell) for cell in rows if cell is not None), default=0) <= LONGEST_IDENTIFIER:
        try:
            return pa.array(rows, type=pa.large_string())
        except (UnicodeError, pa.ArrowException):
            pass  # half a surrogate pair: nobody's, as below
    texts = (text_of_identifier(cell, typed=typed) for cell in rows)
    somebodys = [text if text is not None and _is_somebodys(text) else None for text in texts]
    return pa.array(somebodys, type=pa.large_string())


def text_of_identifier(cell: Any, *, typed: bool = True) -> str | None:
    """The text of one object that is an identifier; None if it is nobody's."""
    kind = type(cell)  # never isinstance: it asks the object for its class
    if issubclass(kind, str):
        return str.__str__(cell)
    if kind is bool or kind is np.bool_:
        return "true" if cell else "false"
    digits = _number(cell, kind)
    return digits if typed or digits is None or abs(float(digits)) < LARGEST_WHOLE_FLOAT else None


def _number(cell: Any, kind: type) -> str | None:
    if issubclass(kind, int):
        whole = int.__int__(cell)
        return exact_digits(Decimal(whole)) if whole.bit_length() < 4 * LONGEST_IDENTIFIER else None
    if issubclass(kind, Decimal):
        return exact_digits(cell)
    if issubclass(kind, float):
        return _float_digits(float.__float__(cell))
    read = _NUMPY.get(id(kind))
    return None if read is None else read(cell)


def _float_digits(value: float) -> str | None:
    if not abs(value) < LARGEST_WHOLE_FLOAT:  # NaN is not either
        return None
    return str(int(value)) if value == int(value) else repr(value)


def _numpy_float(cell: Any) -> str | None:
    with np.errstate(all="ignore"):
        value = float(cell)
        return _float_digits(value) if value == cell else None  # some have more digits than a float


# numpy's numbers by the identity of their types: to hash or compare a type of the user's own may run its metaclass
_NUMPY: dict[int, Callable[[Any], str | None]] = {
    id(np.dtype(code).type): str if code in np.typecodes["AllInteger"] else _numpy_float
    for code in np.typecodes["AllInteger"] + np.typecodes["Float"]
}


def _of_text(written: "exp.Expr") -> "exp.Expr":
    from sqlglot import exp

    bits = exp.func("bit_length", written)
    nobody = exp.Or(
        this=exp.Or(this=bits.eq(0), expression=bits > exp.Literal.number(8 * LONGEST_IDENTIFIER)),
        expression=exp.Or(this=_contains(written, MENDED), expression=_contains(written, END)),
    )
    digest = exp.DPipe(
        this=exp.Literal.string(DIGEST), expression=exp.SHA2(this=written, length=exp.Literal.number(256))
    )
    is_long = bits > exp.Literal.number(8 * LONGEST_AS_IT_IS)
    branches = [exp.If(this=nobody, true=exp.null()), exp.If(this=is_long, true=digest)]
    return exp.Case(ifs=branches, default=written)


def _of_float(value: "exp.Expr") -> "exp.Expr":
    from sqlglot import exp

    nobody = exp.Or(this=is_bad(value), expression=exp.Not(this=exp.Paren(this=_is_small(value))))
    is_whole = value.eq(exp.Floor(this=value))
    # a branch that is not taken must not fail either: engines may evaluate it
    digits = printed(exp.TryCast(this=value, to=exp.DataType(this=exp.DataType.Type.BIGINT)))
    branches = [exp.If(this=nobody, true=exp.null()), exp.If(this=is_whole, true=digits)]
    return exp.Case(ifs=branches, default=printed(value))


def _is_small(value: "exp.Expr") -> "exp.Expr":
    from sqlglot import exp

    return exp.Abs(this=value) < exp.Literal.number(LARGEST_WHOLE_FLOAT)


def _of_decimal(written: "exp.Expr") -> "exp.Expr":
    from sqlglot import exp

    pattern, zero = exp.Literal.string(r"^(-?)\."), exp.Literal.string(r"\10.")  # engines may print .5 for 0.5
    shortest: exp.Expr = exp.RegexpReplace(this=written, expression=pattern, replacement=zero)
    for last in ("0", "."):
        shortest = exp.Trim(this=shortest, position="TRAILING", expression=exp.Literal.string(last))
    return exp.Case(ifs=[exp.If(this=_contains(written, "."), true=shortest)], default=written)


def _contains(written: "exp.Expr", part: str) -> "exp.Expr":
    from sqlglot import exp

    sought = exp.func("chr", exp.Literal.number(0)) if part == END else exp.Literal.string(part)
    return exp.Contains(this=written, expression=sought)
