"""A picture as a page shows it: a chart, what one sees on it in words, and the numbers behind it as a table."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Cell", "Picture"]

Cell = str | float | int | None


@dataclass(frozen=True, eq=False)
class Picture:
    """One figure.

    Parameters
    ----------
    title
        What it is of.
    words
        What one sees on it, for those who do not see it; the caption too.
    chart
        Makes the Altair chart, of plain numbers.
    head, rows
        The numbers behind it.
    wide
        Whether it takes the whole width of a page.
    """

    title: str
    words: str
    chart: Callable[[], Any] = field(repr=False)
    head: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = field(default=(), repr=False)
    wide: bool = False
