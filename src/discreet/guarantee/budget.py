"""What a ledger may spend in total: epsilon alone (pure), or epsilon at a delta."""

from dataclasses import dataclass
from typing import Any

from discreet.checks import positive

__all__ = ["Budget"]


@dataclass(frozen=True)
class Budget:
    """A total privacy budget. Without `delta`, or with 0, only pure guarantees can be paid from it."""

    epsilon: float
    delta: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("Budget.epsilon", self.epsilon))
        if self.delta == 0 and not isinstance(self.delta, bool):
            object.__setattr__(self, "delta", None)
        if self.delta is not None:
            object.__setattr__(self, "delta", positive("Budget.delta", self.delta, below=1.0))

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}" + ("" if self.delta is None else f" at delta = {self.delta:g}")

    def to_json(self) -> dict[str, Any]:
        """Both numbers; delta is null for a pure budget."""
        return {"epsilon": self.epsilon, "delta": self.delta}
