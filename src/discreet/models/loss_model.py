"""What models with a loss cannot do: they have no statistics, so there is nothing to condition on or to update with."""

from typing import Any, NoReturn

from discreet.checks import positive
from discreet.errors import QueryError
from discreet.models.base import number

__all__ = ["LossModel", "checked_interval", "checked_size"]

SMALLEST, LARGEST = 1e-12, 1e12  # of declared lengths and precisions: their squares and products stay within doubles


class LossModel:
    """A model that `GibbsPosterior` asks: what leaves are draws, at a temperature."""

    def posterior(self, *_: Any, **__: Any) -> NoReturn:
        """Refused: there are no statistics."""
        raise QueryError(f"{type(self).__name__} must be asked by GibbsPosterior, got noisy statistics")

    def plug_in(self, *_: Any) -> NoReturn:
        """Refused: there are no statistics."""
        raise QueryError(f"{type(self).__name__} must be asked by GibbsPosterior, got noisy statistics")

    def updated(self, public: Any) -> NoReturn:  # noqa: ARG002 - the signature all models share
        """Refused: a convex loss has no conjugate prior that public records could strengthen."""
        raise QueryError(f"{type(self).__name__}.updated must not be asked: a convex loss has no conjugate prior")


def checked_interval(kind: str, interval: Any) -> tuple[float, float]:
    """Two rising numbers of ordinary size."""
    if not isinstance(interval, tuple | list) or len(interval) != 2:
        raise QueryError(f"{kind}.interval must be two numbers, got {interval!r}")
    low, high = (number(f"{kind}.interval", end) for end in interval)
    if not (low < high and SMALLEST <= max(abs(low), abs(high)) <= LARGEST):
        raise QueryError(f"{kind}.interval must be two rising numbers within {LARGEST:g}, got {interval!r}")
    return low, high


def checked_size(field: str, value: Any) -> float:
    """A length or a precision of ordinary size."""
    size = positive(field, value, error=QueryError)
    if not SMALLEST <= size <= LARGEST:
        raise QueryError(f"{field} must be from {SMALLEST:g} to {LARGEST:g}, got {value!r}")
    return size
