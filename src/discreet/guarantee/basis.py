"""What every guarantee rests on (relation, unit, theorem, sampler), and its leaves: one notion each, with its curves.

`PureDP(0.5).epsilon(0.0)` is 0.5: the number that defines a leaf is read back through the same three methods that
every guarantee has, or by name from `arguments()`.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from discreet.accounting import conversions, curves
from discreet.accounting.rounding import ULPS
from discreet.checks import positive
from discreet.errors import GuaranteeError
from discreet.guarantee.told_guarantee import ToldGuarantee

__all__ = ["ZCDP", "ApproxDP", "Basis", "BoundedRange", "GaussianDP", "Guarantee", "Leaf", "PureDP"]


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
class Guarantee(ToldGuarantee, ABC):
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


@dataclass(frozen=True, repr=False)
class Leaf(Guarantee):
    """A guarantee given by one positive number, called `symbol`."""

    level: float
    _basis: Basis
    symbol: ClassVar[str] = "epsilon"

    @property
    def basis(self) -> Basis:
        """Relation, unit, theorem and sampler."""
        return self._basis

    def arguments(self) -> dict[str, Any]:
        """The number that defines it."""
        return {self.symbol: self.level}

    def _store(self, value: float, basis: Basis | None) -> None:
        object.__setattr__(self, "level", positive(f"{type(self).__name__}.{self.symbol}", value))
        object.__setattr__(self, "_basis", basis or Basis())


@dataclass(frozen=True, repr=False, init=False)
class PureDP(Leaf):
    """epsilon-DP: every event is at most e^epsilon times as likely under a neighbour."""

    kind = "PureDP"

    def __init__(self, epsilon: float, basis: Basis | None = None) -> None:
        self._store(epsilon, basis)

    def _epsilon(self, delta: float) -> float:
        """Solve the profile (e^level - e^epsilon) / (1 + e^level) = delta."""
        used = delta * (1 + math.exp(-self.level)) * (1 - ULPS)
        return _below(self.level, math.log1p(-used)) if used < 1 else 0.0

    def _delta(self, epsilon: float) -> float:
        """The profile at `epsilon`."""
        return curves.pure_delta(self.level, epsilon)

    def _renyi(self, order: float) -> float:
        """The tight curve."""
        return curves.pure_renyi(self.level, order)

    def words(self) -> str:
        """One sentence for a privacy officer."""
        factor = f"e^{self.level:g}" + (f" = {math.exp(self.level):.4g}" if self.level < 700 else "")
        return (
            f"{self.level:g}-differential privacy (pure): no event is more than {factor} times as likely on a "
            "neighbouring table."
        )


@dataclass(frozen=True, repr=False, init=False)
class BoundedRange(Leaf):
    """The log-ratio of neighbouring laws stays in an interval of length epsilon: pure DP, and four times less zCDP."""

    kind = "BoundedRange"

    def __init__(self, epsilon: float, basis: Basis | None = None) -> None:
        self._store(epsilon, basis)

    def _epsilon(self, delta: float) -> float:
        """Solve the profile (1 - e^{(epsilon - level)/2})² / (1 - e^-level) = delta."""
        root = math.sqrt(delta * -math.expm1(-self.level)) * (1 - ULPS)
        return _below(self.level, 2 * math.log1p(-root)) if root < 1 else 0.0

    def _delta(self, epsilon: float) -> float:
        """The profile at `epsilon`."""
        return curves.bounded_range_delta(self.level, epsilon)

    def _renyi(self, order: float) -> float:
        """Its own curve, below order · epsilon² / 8."""
        return curves.bounded_range_renyi(self.level, order)

    def words(self) -> str:
        """One sentence for a privacy officer."""
        return (
            f"{self.level:g}-differential privacy (pure), of bounded range: all log-ratios between neighbours "
            f"lie in one interval of length {self.level:g}, so that repetition costs epsilon²/8 of zCDP each."
        )


@dataclass(frozen=True, repr=False, init=False)
class ZCDP(Leaf):
    """rho-zero-concentrated DP: Renyi divergence of every order a is at most rho · a."""

    kind = "ZCDP"
    symbol = "rho"

    def __init__(self, rho: float, basis: Basis | None = None) -> None:
        self._store(rho, basis)

    def _epsilon(self, delta: float) -> float:
        """By the improved conversion over a continuous order."""
        return conversions.zcdp_epsilon(self.level, delta) if delta > 0 else math.inf

    def _delta(self, epsilon: float) -> float:
        """By the improved conversion over a continuous order."""
        return conversions.renyi_delta(self.renyi, epsilon)

    def _renyi(self, order: float) -> float:
        """Linear in the order."""
        return curves.zcdp_renyi(self.level, order)

    def words(self) -> str:
        """One sentence for a privacy officer."""
        return (
            f"{self.level:g}-zCDP: Rényi divergence of every order a at most {self.level:g}·a, "
            f"which is epsilon = {self.epsilon(1e-6):.4g} at delta = 1e-6."
        )


@dataclass(frozen=True, repr=False, init=False)
class GaussianDP(Leaf):
    """mu-Gaussian DP: telling neighbours apart is no easier than telling N(0, 1) from N(mu, 1)."""

    kind = "GaussianDP"
    symbol = "mu"

    def __init__(self, mu: float, basis: Basis | None = None) -> None:
        self._store(mu, basis)

    def _epsilon(self, delta: float) -> float:
        """The exact inverse of the profile, rounded up."""
        return conversions.gaussian_epsilon(self.level, delta) if delta > 0 else math.inf

    def _delta(self, epsilon: float) -> float:
        """The exact profile."""
        return curves.gaussian_delta(self.level, epsilon)

    def _renyi(self, order: float) -> float:
        """mu² a / 2."""
        return curves.gaussian_renyi(self.level, order)

    def words(self) -> str:
        """One sentence for a privacy officer."""
        return (
            f"{self.level:g}-Gaussian differential privacy: as hard as telling N(0,1) from N({self.level:g},1), "
            f"which is epsilon = {self.epsilon(1e-6):.4g} at delta = 1e-6."
        )


@dataclass(frozen=True, repr=False, init=False)
class ApproxDP(Leaf):
    """(epsilon, delta)-DP at a single point: nothing is known about other deltas below this one."""

    slack: float
    kind = "ApproxDP"

    def __init__(self, epsilon: float, delta: float, basis: Basis | None = None) -> None:
        self._store(epsilon, basis)
        object.__setattr__(self, "slack", positive("ApproxDP.delta", delta, below=1.0))

    def arguments(self) -> dict[str, Any]:
        """Both numbers."""
        return {"epsilon": self.level, "delta": self.slack}

    def _epsilon(self, delta: float) -> float:
        """The profile between the given point and (0, 1) of an (epsilon, delta)-DP release  [KOV2015]."""
        # The worst (e, d)-DP pair has profile d + (1 - d) (e^level - e^epsilon)/(1 + e^level).
        rest = (delta - self.slack) / (1 - self.slack) * (1 - ULPS)
        return math.inf if delta < self.slack else PureDP(self.level).epsilon(rest)

    def _delta(self, epsilon: float) -> float:
        """The profile of the worst (epsilon, delta)-DP pair."""
        added = curves.pure_delta(self.level, epsilon)
        return min((self.slack + (1 - self.slack) * added) * (1 + ULPS), 1.0) if added > 0 else self.slack

    def _renyi(self, order: float) -> float:
        """No Renyi curve follows from one (epsilon, delta)."""
        return math.inf

    def words(self) -> str:
        """One sentence for a privacy officer."""
        return (
            f"({self.level:g}, {self.slack:g})-differential privacy: no event exceeds e^{self.level:g} times its "
            f"probability on a neighbouring table by more than {self.slack:g}."
        )


def _below(level: float, log: float) -> float:
    """The sum of a level and a negative logarithm, rounded up and from 0 to the level."""
    return min(max(level + log + ULPS * (level - log), 0.0), level)
