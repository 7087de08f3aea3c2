"""What a column does with cells that are no level or no number, in words, and the names of ranges: all as declared."""

from itertools import pairwise

from discreet.visible import visible

__all__ = ["count_labels", "level_words", "number_words", "range_labels", "two_level_words"]

LONGEST = 40  # letters of a level
COMPLETE = " (declared complete)"


def level_words(first: str, missing: str | None, other: str | None) -> str:
    """Of a column with declared levels, the first of which stands for bad cells where nothing is declared."""
    fate = _fate(None if missing is None else _shown(missing), _shown(first))
    if other is None:
        return f"unlisted levels and missing cells {fate}"
    return f"unlisted levels count as {_shown(other)}, missing cells {fate}"


def two_level_words(declared: tuple[str, str] | None, missing: int | str | None) -> str:
    """Of a column of two levels, whose texts are declared or 0 and 1."""
    good = "0, 1, true, false"
    if declared is not None:
        good = f"{_quoted(declared[0])} (0), {_quoted(declared[1])} (1) and truth values"
    fate = _fate(None if missing is None else str(missing), "0")
    return f"any cell but {good} {fate.replace('count', 'counts', 1).replace('exclude', 'excludes', 1)}"


def number_words(lower: float, upper: float, missing: float | str | None) -> str:
    """Of a column of numbers."""
    declared = missing if missing is None or isinstance(missing, str) else _number(missing)
    return f"numbers are clipped to {_number(lower)}..{_number(upper)}, other cells {_fate(declared, _number(lower))}"


def range_labels(lower: float, cut: tuple[float, ...], upper: float) -> tuple[str, ...]:
    """Of a number cut into ranges, each of which holds its lower end, and the last both."""
    ends = [_number(end) for end in (lower, *cut, upper)]
    ranges = [f"[{low}, {high})" for low, high in pairwise(ends[:-1])]
    return (*ranges, f"[{ends[-2]}, {ends[-1]}]")


def count_labels(cut: tuple[int, ...], upper: int) -> tuple[str, ...]:
    """Of a whole number cut into ranges: the numbers that each holds."""
    firsts, lasts = (0, *cut), (*(point - 1 for point in cut), upper)
    return tuple(
        str(first) if first == last else f"{first} to {last}" for first, last in zip(firsts, lasts, strict=True)
    )


def _fate(missing: str | None, default: str) -> str:
    if missing == "exclude":
        return "exclude the row"
    return f"count as {default}{COMPLETE}" if missing is None else f"count as {missing}"


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))


def _shown(level: str) -> str:
    return visible(level, LONGEST) if level.strip() else _quoted(level)


def _quoted(level: str) -> str:
    return f"'{visible(level, LONGEST)}'"
