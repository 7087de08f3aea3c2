"""What pictures and tables of a posterior are made of: plain numbers with the names that people read.

A posterior says these of itself (`Posterior.quantities`); charts and pages know nothing else of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError

__all__ = ["INNER", "Quantity", "scalar_quantity"]

INNER = 0.5  # the probability of the thick part of an interval

Array = NDArray[np.float64]
Ends = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Quantity:
    """One parameter: a number, or several that belong together, such as the shares of levels.

    Parameters
    ----------
    name
        Of the parameter.
    labels
        Of its numbers, in order; `names` say the parameter too.
    dimensions
        What the labels are levels of.
    mean, sd
        One number for each label; of released draws `mean` is their average, and there is no `sd`.
    outer, inner
        Lower and upper ends of intervals of `level` and of `INNER`; None where there is no honest interval.
    reason
        Why there is none.
    draws
        (draws, labels): of the posterior, or what was released.
    released
        Whether the draws are what was paid for.
    density
        The exact density of a single number, where it is known.
    rhat, ess
        How the chains behind each number mixed.
    kind
        What the numbers have in common for the eye: "plain", "coefficients" (around zero), "groups", or "check"
        (what was released beside what could have been).
    """

    name: str
    labels: tuple[str, ...]
    mean: Array
    level: float
    outer: Ends | None = None
    inner: Ends | None = None
    sd: Array | None = None
    reason: str = ""
    draws: Array | None = field(default=None, repr=False)
    released: bool = False
    density: Callable[[Array], Array] | None = field(default=None, repr=False)
    rhat: Array | None = None
    ess: Array | None = None
    kind: str = "plain"
    dimensions: tuple[str, ...] = ()
    called: tuple[str, ...] = ()  # names that say more, where there are such

    def __post_init__(self) -> None:
        if len(self.labels) != np.size(self.mean):
            raise QueryError(f"Quantity.labels must be {np.size(self.mean)} texts, got {len(self.labels)}")

    @property
    def single(self) -> bool:
        """Whether it is one number."""
        return len(self.labels) == 1

    @property
    def names(self) -> tuple[str, ...]:
        """What the numbers are called where the parameter is not said beside them."""
        if self.called:
            return self.called
        if self.kind == "groups":
            return tuple(f"{label}: {self.name}" for label in self.labels)
        return self.labels if not self.dimensions else tuple(f"{self.name}[{label}]" for label in self.labels)

    @property
    def rows(self) -> tuple[str, ...]:
        """What the numbers are called beside the name of the parameter."""
        return tuple(_bare(name) for name in self.called) or self.labels

    def without(self, label: str) -> Self:
        """The same without one of its numbers."""
        kept = np.array([k for k, own in enumerate(self.labels) if own != label], dtype=int)

        def some(values: Any) -> Any:
            if isinstance(values, tuple):
                return tuple(end[kept] for end in values)
            return None if values is None else values[..., kept]

        held = {name: some(getattr(self, name)) for name in ("mean", "sd", "outer", "inner", "draws", "rhat", "ess")}
        labels, called = ([names[k] for k in kept] if names else () for names in (self.labels, self.called))
        return replace(self, labels=tuple(labels), called=tuple(called), density=None, **held)

    def named(self, names: Sequence[str]) -> Self:
        """The same numbers under other names."""
        return replace(self, called=tuple(names))


def _bare(name: str) -> str:
    """Of "P(ward = A)" what it is the probability of: the parameter is said beside it."""
    return name[2:-1] if name.startswith("P(") and name.endswith(")") else name


def scalar_quantity(name: str, parts: Sequence[tuple[str, Quantity, int]], kind: str) -> Quantity:
    """One number of each of several quantities, under a label of its own: the same share in every group, say."""

    def each(attribute: str) -> Any:
        found = [getattr(part, attribute) for _, part, _ in parts]
        if any(values is None for values in found):
            return None
        if attribute in ("outer", "inner"):
            return tuple(np.array([v[side][j] for v, (_, _, j) in zip(found, parts, strict=True)]) for side in (0, 1))
        if attribute == "draws":
            fewest = min(len(values) for values in found)
            return np.stack([v[:fewest, j] for v, (_, _, j) in zip(found, parts, strict=True)], axis=1)
        return np.array([values[j] for values, (_, _, j) in zip(found, parts, strict=True)])

    first = parts[0][1]
    held = {name: each(name) for name in ("mean", "sd", "outer", "inner", "draws", "rhat", "ess")}
    labels = tuple(label for label, _, _ in parts)
    alone = first.density if len(parts) == 1 else None
    return Quantity(
        name, labels, level=first.level, reason=first.reason, released=first.released, kind=kind, density=alone, **held
    )
