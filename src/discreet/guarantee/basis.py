"""What every guarantee rests on: relation, unit, theorem and the sampler that honours it; and the base of them all."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from discreet.errors import GuaranteeError

__all__ = ["Basis", "Guarantee"]


@dataclass(frozen=True)
class Basis:
    """Between which tables the guarantee holds, why, and by which sampler. Only relation and unit decide equality."""

    relation: str = "replace-one"
    unit: str = "record"
    theorem: str = field(default="", compare=False)
    sampler: str = field(default="", compare=False)

    def __str__(self) -> str:
        neighbours = "replaced" if self.relation == "replace-one" else "added or removed"
        reasons = [f"Theorem: {self.theorem}."] if self.theorem else []
        reasons += [f"Sampler: {self.sampler}."] if self.sampler else []
        return " ".join([f"Neighbours: one {self.unit} {neighbours}.", *reasons])

    def to_json(self) -> dict[str, Any]:
        """A plain description."""
        return asdict(self)


@dataclass(frozen=True)
class Guarantee(ABC):
    """A privacy guarantee as data: read, converted, composed and stored without running the mechanism."""

    kind: ClassVar[str]
    version: ClassVar[int] = 1

    @property
    @abstractmethod
    def basis(self) -> Basis:
        """Relation, unit, theorem and sampler."""

    @abstractmethod
    def _epsilon(self, delta: float) -> float:
        """What `epsilon` answers for a delta in [0, 1]."""

    @abstractmethod
    def _delta(self, epsilon: float) -> float:
        """What `delta` answers for an epsilon of at least 0."""

    @abstractmethod
    def _renyi(self, order: float) -> float:
        """What `renyi` answers for an order of at least 1."""

    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """The numbers (or parts) that define it, by name."""

    @abstractmethod
    def words(self) -> str:
        """One sentence for a privacy officer, without its basis."""

    def terms(self) -> "dict[Guarantee, int]":
        """The guarantees it is composed of with their multiplicities; most are composed of themselves."""
        return {self: 1}

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon this guarantee certifies at `delta` (inf if none)."""
        if not 0.0 <= delta <= 1.0:
            raise GuaranteeError(f"{type(self).__name__}.epsilon delta must be from 0 to 1, got {delta!r}")
        return self._epsilon(float(delta))

    def delta(self, epsilon: float) -> float:
        """The smallest delta this guarantee certifies at `epsilon`; 0 only where it is exactly 0."""
        if not epsilon >= 0.0:
            raise GuaranteeError(f"{type(self).__name__}.delta epsilon must be at least 0, got {epsilon!r}")
        return self._delta(float(epsilon))

    def renyi(self, order: float) -> float:
        """The Renyi divergence of `order` that this guarantee certifies (inf if none)."""
        if not order >= 1.0:
            raise GuaranteeError(f"{type(self).__name__}.renyi order must be at least 1, got {order!r}")
        return self._renyi(float(order))

    @property
    def relation(self) -> str:
        """The neighbour relation."""
        return self.basis.relation

    @property
    def unit(self) -> str:
        """The privacy unit."""
        return self.basis.unit

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.arguments().items())
        return f"{type(self).__name__}({inside})"

    def __str__(self) -> str:
        return f"{self.words()} {self.basis}"

    def to_json(self) -> dict[str, Any]:
        """Kind, version and parameters; `discreet.guarantee.from_json` reads it back."""
        return {"kind": self.kind, "version": self.version, **self.arguments(), "basis": self.basis.to_json()}
