"""Python objects that have no business in a table, by kind; a seed chooses among them. None of them may be asked."""

import datetime
import enum
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

ASKED: list[str] = []  # which methods of a hostile object ran


def _loud(name: str) -> Any:
    def method(*_: Any, **__: Any) -> Any:
        ASKED.append(name)
        raise RuntimeError("a method of a cell ran")

    return method


ALL_METHODS = (
    *("__str__", "__repr__", "__eq__", "__ne__", "__lt__", "__bool__", "__len__", "__iter__", "__getitem__"),
    *("__int__", "__float__", "__index__", "__format__", "__contains__", "__array__", "__arrow_c_array__"),
    *("__getattr__", "__round__", "__abs__", "encode", "as_tuple", "normalize", "is_nan", "is_finite", "isoformat"),
)
LOUD = {name: _loud(name) for name in ALL_METHODS} | {"__hash__": object.__hash__}


class LoudType(type):
    __hash__ = _loud("type.__hash__")
    __eq__ = _loud("type.__eq__")
    __instancecheck__ = _loud("type.__instancecheck__")
    __subclasscheck__ = _loud("type.__subclasscheck__")


class Liar:
    """Says that it is a text."""

    @property
    def __class__(self) -> type:
        ASKED.append("__class__")
        return str


class Grade(enum.StrEnum):
    ONE = "1"


class Number(enum.IntEnum):
    SEVEN = 7


Plain = type("Plain", (), dict(LOUD))
Text = type("Text", (str,), dict(LOUD))
Whole = type("Whole", (int,), dict(LOUD))
Real = type("Real", (float,), dict(LOUD))
Exact = type("Exact", (Decimal,), dict(LOUD))
Meta = LoudType("Meta", (), {})
NumpyWhole = type("NumpyWhole", (np.int64,), dict(LOUD))


def _decimal(draw: random.Random) -> Decimal:
    texts = ["NaN", "sNaN", "-NaN123", "sNaN7", "Infinity", "-Infinity", "1E+1000000", "1E-1000000", "-0", "0E+999999"]
    digits = "".join(draw.choices("0123456789", k=draw.choice((1, 5, 17, 40, 3000))))
    return Decimal(draw.choice([*texts, f"{digits}E{draw.randint(-6000, 6000)}", f"-{digits}", f"0.{digits}"]))


def _numpy(draw: random.Random) -> Any:
    kind = np.dtype(draw.choice("?bhilqBHILQefdg"))
    if kind.kind in "fb":
        return kind.type(draw.choice(["1e4000", "-1e4000", "nan", "inf", "0.1", "-0.0"]) if kind.char == "g" else 0.1)
    bounds = np.iinfo(kind)
    return kind.type(draw.choice([bounds.min, bounds.max, 1]))


def _time(draw: random.Random) -> Any:
    unit, amount = draw.choice(["ns", "s", "D", "Y", "M", "as"]), draw.choice(["NaT", 1, -1, 2**40])
    now = datetime.datetime(2026, 1, 2)
    others = [now, now.date(), now.time(), now - now, pd.NaT, pd.Timestamp(now), pd.Period("2026"), pd.Timedelta(1)]
    return draw.choice([np.timedelta64(amount, unit), np.datetime64(amount, unit), *others])


def _text(draw: random.Random) -> Any:
    text = "".join(chr(draw.choice([*range(128), 0xD800, 0xDFFF, 0x10FFFF, 0xFFFD, 0xE9])) for _ in range(6))
    return draw.choice([text, np.str_(text), Text(text), text.encode("utf-8", "surrogatepass"), b"\xff", "x" * 2**21])


def _number(draw: random.Random) -> Any:
    whole = draw.choice([10**5000, -(10**5000), 10 ** draw.randrange(400), 2**53 + 1, 2**63, -(2**64), 2**1024])
    real = draw.choice([float("nan"), float("inf"), -0.0, 5e-324, 1e308, 0.1])
    parts = complex(draw.choice([0.0, 1.0]), draw.choice([0.0, 1.0, float("nan")]))
    return draw.choice([whole, real, Whole(whole), Real(real), parts, np.complex64(parts), Fraction(whole, 7)])


def _object(draw: random.Random) -> Any:
    nested: Any = [1, [2, {"k": [None]}]]
    loud = [Plain(), Liar(), Meta(), Meta, Exact("7"), NumpyWhole(7), lambda: 1, iter(()), Ellipsis, NotImplemented]
    boxes = [nested, {"k": 1}, {1}, (1,), np.array(1), np.array([1, 2]), memoryview(b"1"), bytearray(b"1"), range(3)]
    others = [None, pd.NA, pd.Interval(0, 1), pa.scalar(1), Grade.ONE, Number.SEVEN, np.bytes_(b"1"), np.void(b"1")]
    return draw.choice([*loud, *boxes, *others])


KINDS = {"decimal": _decimal, "numpy": _numpy, "time": _time, "text": _text, "number": _number, "object": _object}


def hostile(seed: int) -> Any:
    """One object; six seeds in a row give one of each kind."""
    draw = random.Random(seed)
    return list(KINDS.values())[seed % len(KINDS)](draw)
