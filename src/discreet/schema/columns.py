"""Columns of a table: public declarations that give every conceivable cell exactly one meaning.

Every column declares a *total* rule: each conceivable cell has exactly one meaning, so nothing that happens later
can depend on whether a cell was well formed. Numbers clip to their bounds; a cell that is not a number or
not a declared level follows `missing`:

* a level or value: the cell counts as that one;
* `"exclude"`: the row adds nothing to statistics that use the column, and the number of used rows is private;
* not given: the custodian declares the column complete, and a bad cell falls on the lower bound or first level.

Where a categorical column has an `other` level, cells that are there but no declared level count as that one, and
`missing` is left for cells without a text (NULL, NaN, texts too long for a level) and for the empty text.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from discreet.errors import SchemaError
from discreet.recipe import without_none
from discreet.schema.cell import NO_LEVEL, Truths, declared_texts, number_of
from discreet.schema.cell_words import level_words, two_level_words
from discreet.schema.number_columns import Bounded, Count
from discreet.schema.views import Matches, Ranges
from discreet.visible import visible

__all__ = [
    "KINDS",
    "TRUTHS",
    "Binary",
    "Bounded",
    "Categorical",
    "Column",
    "Count",
    "LevelColumn",
    "Seen",
    "declared_words",
    "level_numbers",
    "level_texts",
]

LONGEST_LEVEL, MOST_LEVELS = 40, 12  # in words
CODES, TRUTHS = ("0", "1"), ("false", "true")


class _OfLevels:
    """What columns of levels have in common; `excluded` is the code of a cell that excludes its row."""

    holds: ClassVar[Literal["levels"]] = "levels"
    number: ClassVar[None] = None
    excluded: ClassVar[int] = NO_LEVEL

    @property
    def as_levels(self) -> Self:
        """It is one already."""
        return self

    @property
    def told_apart(self) -> Matches:
        """What becomes of a cell: it is a declared level, `other` takes it, or it is bad."""
        return Matches(self)  # type: ignore[arg-type]  # Binary and Categorical inherit this


@dataclass(frozen=True)
class Categorical(_OfLevels):
    """A column with declared levels, in the order in which every released vector lists them.

    A cell matches a level if their texts are equal, or if both are the same number ("1.0" is the level "1"). Unlisted
    levels count as `other`, one of the declared levels, if it is given; else they follow `missing`, as NULL, NaN and
    empty cells do.
    """

    levels: tuple[str, ...]
    missing: str | None = None
    other: str | None = None
    truths: ClassVar[Truths] = TRUTHS
    any_case: ClassVar[bool] = False

    def __init__(self, levels: Any, missing: str | int | None = None, other: str | int | None = None) -> None:
        if isinstance(levels, str) or not hasattr(levels, "__iter__"):
            raise SchemaError(f"Categorical.levels must be a list of levels, got {levels!r}")
        texts = declared_texts("Categorical.levels", tuple(levels))
        if "exclude" in texts:
            raise SchemaError(
                'Categorical.levels must not contain "exclude", which is the name of a rule for bad cells'
            )
        if len(texts) < 2 or len(set(texts)) != len(texts):
            raise SchemaError(f"Categorical.levels must be at least two different levels, got {list(texts)!r}")
        chosen, rest = (None if given is None else str(given) for given in (missing, other))
        if chosen not in (None, "exclude", *texts):
            raise SchemaError(f'Categorical.missing must be a declared level or "exclude", got {missing!r}')
        if rest not in (None, *texts):
            raise SchemaError(f"Categorical.other must be a declared level, got {other!r}")
        object.__setattr__(self, "levels", texts)
        object.__setattr__(self, "missing", chosen)
        object.__setattr__(self, "other", rest)

    @property
    def compared(self) -> tuple[str, ...]:
        """The text of each level in the table: a level is written as it is declared."""
        return self.levels

    @property
    def spellings(self) -> tuple[str, ...]:
        """All texts of levels, through the codes in order."""
        return self.levels

    @property
    def default_code(self) -> int | None:
        """The code of a bad cell; None excludes the row."""
        if self.missing == "exclude":
            return None
        return 0 if self.missing is None else self.levels.index(self.missing)

    @property
    def other_code(self) -> int | None:
        """The code of a cell with a text that is no level; None: it is a bad cell."""
        return None if self.other is None else self.levels.index(self.other)

    def other_cells(self) -> str:
        """What cells count as that are no declared level, in words."""
        return level_words(self.levels[0], self.missing, self.other)

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        return without_none(
            {"kind": "categorical", "levels": list(self.levels), "missing": self.missing, "other": self.other}
        )


@dataclass(frozen=True)
class Binary(_OfLevels):
    """A column of 0 and 1 (or false and true, in any case); levels are "0" and "1" in that order.

    With `zero` and `one` given, both or none, its cells are these texts or numbers, compared as levels of a categorical
    column are, and truth values: `Binary(zero="no", one="yes")`. They are its levels then, by which results are named;
    the texts "0" and "true" are bad cells.
    """

    missing: int | Literal["exclude"] | None = None
    zero: str | int | None = field(default=None, kw_only=True)
    one: str | int | None = field(default=None, kw_only=True)
    other_code: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.missing not in (None, "exclude", 0, 1):
            raise SchemaError(f'Binary.missing must be 0, 1 or "exclude", got {self.missing!r}')
        if isinstance(self.missing, bool | float):
            object.__setattr__(self, "missing", int(self.missing))
        if self.zero is None and self.one is None:
            return
        if self.zero is None or self.one is None:
            raise SchemaError(f"Binary.zero and Binary.one must be given together, got {self.zero!r} and {self.one!r}")
        zero, one = declared_texts("Binary.zero and Binary.one", (self.zero, self.one))
        if zero == one or (number_of(zero) is not None and number_of(zero) == number_of(one)):
            raise SchemaError(f"Binary.zero and Binary.one must be different levels, got {zero!r} and {one!r}")
        object.__setattr__(self, "zero", zero)
        object.__setattr__(self, "one", one)

    @property
    def _declared(self) -> tuple[str, str] | None:
        return None if self.zero is None else (str(self.zero), str(self.one))

    @property
    def levels(self) -> tuple[str, str]:
        """The text of each level, as results name it and, of any, the table."""
        return self._declared or CODES

    @property
    def compared(self) -> tuple[str, ...]:
        """The text of each level in the table."""
        return self.levels

    @property
    def spellings(self) -> tuple[str, ...]:
        """All texts of levels, through the codes in order."""
        return self._declared or (*CODES, *TRUTHS)

    @property
    def any_case(self) -> bool:
        """Whether upper and lower case are alike."""
        return self._declared is None

    @property
    def truths(self) -> Truths:
        """The texts of False and True."""
        return self._declared or TRUTHS

    @property
    def default_code(self) -> int | None:
        """The code of a bad cell; None excludes the row."""
        return None if self.missing == "exclude" else int(self.missing or 0)

    def other_cells(self) -> str:
        """What cells count as that are neither level, in words."""
        return two_level_words(self._declared, self.missing)

    def to_json(self) -> dict[str, Any]:
        """The column as the study file writes it."""
        return without_none({"kind": "binary", "missing": self.missing, "zero": self.zero, "one": self.one})


Column = Binary | Bounded | Categorical | Count
LevelColumn = Binary | Categorical | Matches | Ranges
Seen = Bounded | Count | LevelColumn  # by a query
KINDS: dict[str, type[Column]] = {"binary": Binary, "bounded": Bounded, "categorical": Categorical, "count": Count}


def level_texts(column: Binary | Categorical) -> dict[str, int]:
    """The code of each text of a level."""
    return {text: place % len(column.levels) for place, text in enumerate(column.spellings)}


def level_numbers(column: Binary | Categorical) -> dict[float, int]:
    """The code of each finite number that is a level, except those that are the same number as another level."""
    numbers = [(number_of(level), code) for code, level in enumerate(column.compared)]
    finite = [(value + 0.0, code) for value, code in numbers if value is not None and math.isfinite(value)]  # one zero
    times = Counter(value for value, _ in finite)
    return {value: code for value, code in finite if times[value] == 1}


def declared_words(column: Any) -> str:
    """What a column may hold, in a few words: its levels, the first of many, or its bounds."""
    if column.holds == "levels":
        levels = [visible(str(level), LONGEST_LEVEL) for level in column.levels]
        more = f", … ({len(levels)} levels)" if len(levels) > MOST_LEVELS else ""
        return ", ".join(levels[:MOST_LEVELS]) + more
    return f"numbers from {column.lower:g} to {column.upper:g}"
