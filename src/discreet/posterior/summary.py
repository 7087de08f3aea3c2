"""The words all posteriors share: quantile orders, interval tails, and the summary as a table, a frame and text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SUMMARY_LEVEL", "Summary", "as_frame", "as_text", "check_order", "describe", "labels", "tails"]

Summary = dict[str, dict[str, float]]

SUMMARY_LEVEL = 0.9


def check_order(q: float) -> None:
    """A quantile has an order strictly between 0 and 1."""
    if not 0.0 < q < 1.0:
        raise QueryError(f"quantile.q must be above 0 and below 1, got {q!r}")


def tails(level: float) -> NDArray[np.float64]:
    """The two quantile orders of an equal-tailed interval."""
    if not 0.0 < level < 1.0:
        raise QueryError(f"interval.level must be above 0 and below 1, got {level!r}")
    return np.array([0.5 - 0.5 * level, 0.5 + 0.5 * level])


def describe(names: Iterable[str], columns: Mapping[str, ArrayLike]) -> Summary:
    """{parameter: {column: value}} from flat columns, in the order of `names`."""
    flat = {column: np.ravel(np.asarray(values, dtype=float)) for column, values in columns.items()}
    return {name: {column: float(flat[column][i]) for column in flat} for i, name in enumerate(names)}


def labels(name: str, axes: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of a parameter's coordinates, in order: "name", or "name[level, …]" along its axes."""
    if not axes:
        return [name]
    places = np.ndindex(*map(len, axes.values()))
    return [f"{name}[{', '.join(texts[i] for texts, i in zip(axes.values(), at, strict=True))}]" for at in places]


def as_frame(summary: Summary, facts: Mapping[str, Any]) -> "pd.DataFrame":
    """The summary as a frame: a row for each parameter; `facts` are its `attrs`."""
    import pandas as pd

    frame = pd.DataFrame.from_dict(summary, orient="index")
    frame.attrs.update(facts)
    return frame


def as_text(title: str, summary: Summary) -> str:
    """A title and the summary as an aligned table."""
    columns = list(next(iter(summary.values())))
    width = max(len(name) for name in summary)
    lines = [title, " " * width + "".join(f"{column:>11}" for column in columns)]
    for name, row in summary.items():
        lines.append(f"{name:<{width}}" + "".join(f"{row[column]:>11.5g}" for column in columns))
    return "\n".join(lines)
