"""What models with a loss cannot do: they have no statistics, so there is nothing to condition on or to update with."""

from typing import Any, NoReturn

from discreet.errors import QueryError

__all__ = ["LossModel"]


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
