"""Cells that have been misread somewhere, by the type that holds them, and columns in which they mean different things."""

import datetime
import math
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc

LEVELS: dict[str, list[Any]] = {
    "words": ["yes", "no", "Yes"],
    "numbers": [1, 2, "3.5"],
    "the same number twice": ["1", "1.0", "2", "x"],
    "words for nothing": ["None", "nan", "<NA>", "", "NaN", "null"],
    "truth": ["True", "false", "0"],
    "large": ["9007199254740993", "1e308", "inf"],
    "accents": ["Ü", "ü 'x'", "²", "٣"],
}
TEXTS = [
    "yes",
    "no",
    "Yes",
    "YES",
    " yes",
    "1",
    "1.0",
    "01",
    "+1",
    " 1 ",
    "1e0",
    "2",
    "2.00",
    "3.5",
    "3.50",
    "x",
    "",
    " ",
]
TEXTS += [
    "None",
    "nan",
    "NaN",
    "<NA>",
    "null",
    "True",
    "true",
    "TRUE",
    "false",
    "0",
    "-0",
    "0.0",
    "inf",
    "-inf",
    "1e400",
]
TEXTS += [
    "9007199254740993",
    "9007199254740992",
    "1e308",
    "Ü",
    "ü 'x'",
    "²",
    "٣",
    "1_000",
    "3,5",
    "1,0",
    "-2,5e0",
    "1.234,5",
    "0x1",
    "a\x00b",
    "\ud800",
    "y" * 5000,
]
FLOATS = [0.0, -0.0, 1.0, 2.0, 3.5, 0.1, 1e308, -1e308, 2.5, math.nan, math.inf, -math.inf, 9007199254740993.0]
OBJECTS = [
    None,
    pd.NA,
    pd.NaT,
    True,
    False,
    1,
    2,
    -1,
    2**53 + 1,
    10**400,
    Decimal("1.00"),
    Decimal("3.5"),
    Decimal("NaN"),
]
OBJECTS += [
    np.float32(0.1),
    np.int8(2),
    np.bool_(True),
    np.str_("yes"),
    b"yes",
    ["yes"],
    datetime.date(2026, 1, 1),
    object(),
]

COLUMNS: dict[str, Any] = {
    **{f"{name}, {rule}": dc.Categorical(levels, missing=levels[1] if rule == "counts as the second" else None)
       for name, levels in LEVELS.items() for rule in ("counts as the second", "complete")},
    "words, left out": dc.Categorical(LEVELS["words"], missing="exclude"),
    "binary, one": dc.Binary(missing=1),
    "binary, complete": dc.Binary(),
    "binary, left out": dc.Binary(missing="exclude"),
    "no and yes": dc.Binary(zero="no", one="yes"),
    "x or nothing": dc.Binary(missing=1, zero="", one="x"),
    "one and two": dc.Binary(zero=2, one=1, missing=0),
    "words of truth": dc.Binary(1, zero="True", one="false"),
    "long words": dc.Binary(1, zero="y" * 5000, one="Ü'"),
    **{f"{name}, others": dc.Categorical(levels, levels[1], levels[-1]) for name, levels in LEVELS.items()},
    "words, others, left out": dc.Categorical(LEVELS["words"], missing="exclude", other="yes"),
    "bounded": dc.Bounded(-3, 110.5, missing=40.25),
    "bounded, complete": dc.Bounded(-3, 110.5),
    "count": dc.Count(20, missing=7),
    "count, left out": dc.Count(20, missing="exclude"),
}  # fmt: skip
FRAGMENTS = [
    "1",
    "2",
    "3.5",
    "0",
    ".",
    "e",
    "+",
    "-",
    " ",
    "_",
    "yes",
    "no",
    "true",
    "n",
    "a",
    "N",
    "inf",
    "Ü",
    "x",
    "\t",
]


def cells_of(kind: str) -> list[Any]:
    """Cells of one type, as a column holds them; or of all."""
    draw = random.Random(kind)
    texts = [*TEXTS, *("".join(draw.choices(FRAGMENTS, k=draw.randint(1, 4))) for _ in range(40))]
    return {
        "objects": [*texts, *FLOATS, *OBJECTS],
        "texts": [*texts, None],
        "well-formed texts": [text for text in texts if text != "\ud800"] + [None],
        "floats": FLOATS,
        "whole": [0, 1, 2, 3, -1, 2**53 + 1],
        "truth": [True, False, None],
        "decimals": [Decimal("1.00"), Decimal("3.50"), Decimal("0.10"), None],
    }[kind]
