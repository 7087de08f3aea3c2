"""Certificates about one draw: `AllOf`, several that hold at once, and `Within`, a sampler close to the ideal law."""

import math
from dataclasses import dataclass
from typing import Any

from discreet.accounting.rounding import ULPS
from discreet.checks import positive
from discreet.errors import GuaranteeError
from discreet.guarantee.basis import Basis, Guarantee

__all__ = ["AllOf", "Within", "within_delta", "within_epsilon"]

GOLDEN = (math.sqrt(5) - 1) / 2
SECTIONS = 14
NEGLIGIBLE = 1e-6  # of a delta: what a smaller epsilon could win back


@dataclass(frozen=True, repr=False)
class AllOf(Guarantee):
    """Several certificates of the *same* draw: the pointwise minimum holds. Not a composition."""

    parts: tuple[Guarantee, ...]
    kind = "AllOf"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if len({(part.relation, part.unit) for part in self.parts}) != 1:
            raise GuaranteeError("AllOf.parts must be certificates for one relation and unit, got none or several")

    @property
    def basis(self) -> Basis:
        """The basis of the first certificate."""
        return self.parts[0].basis

    def arguments(self) -> dict[str, Any]:
        """The certificates."""
        return {"parts": self.parts}

    def _epsilon(self, delta: float) -> float:
        """The smallest of the certificates'."""
        return min(part.epsilon(delta) for part in self.parts)

    def _delta(self, epsilon: float) -> float:
        """The smallest of the certificates'."""
        return min(part.delta(epsilon) for part in self.parts)

    def _renyi(self, order: float) -> float:
        """The smallest of the certificates'."""
        return min(part.renyi(order) for part in self.parts)

    def words(self) -> str:
        """One sentence for a privacy officer."""
        return "All of these hold for the same draw: " + " Also: ".join(part.words() for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """Kind, version and certificates."""
        return {"kind": self.kind, "version": self.version, "parts": [part.to_json() for part in self.parts]}


@dataclass(frozen=True, repr=False)
class Within(Guarantee):
    """A sampler whose law is, for every dataset, within total variation `tv` of one that satisfies `part`.

    If the ideal draw is (epsilon, delta)-DP, the actual one is (epsilon, delta + (1 + e^epsilon) tv)-DP  [M-P12].
    """

    part: Guarantee
    tv: float
    kind = "Within"

    def __post_init__(self) -> None:
        object.__setattr__(self, "tv", positive("Within.tv", self.tv, below=1.0))

    @property
    def basis(self) -> Basis:
        """The basis of the ideal draw."""
        return self.part.basis

    def arguments(self) -> dict[str, Any]:
        """The ideal guarantee and the distance."""
        return {"part": self.part, "tv": self.tv}

    def _epsilon(self, delta: float) -> float:
        """The smallest epsilon with part.delta(epsilon) + (1 + e^epsilon) tv ≤ delta, rounded up."""
        return within_epsilon(self.part, self.tv, delta)

    def _delta(self, epsilon: float) -> float:
        """The smallest over all epsilon' ≤ epsilon: the added term grows with epsilon."""
        return within_delta(self.part, self.tv, epsilon)

    def _renyi(self, order: float) -> float:
        """No Renyi curve survives an additive error."""
        return math.inf

    def words(self) -> str:
        """One sentence for a privacy officer."""
        return f"{self.part.words()} The sampler is within total variation {self.tv:g} of that law for every table."

    def to_json(self) -> dict[str, Any]:
        """Kind, version, ideal guarantee and distance."""
        return {"kind": self.kind, "version": self.version, "part": self.part.to_json(), "tv": self.tv}


def within_epsilon(ideal: Guarantee, tv: float, delta: float) -> float:
    """The smallest epsilon at which the ideal guarantee leaves room for (1 + e^epsilon) tv below delta, rounded up.

    Starting from below, e ← ideal.epsilon(delta - (1 + e^e) tv) increases to the smallest solution.
    """
    epsilon = 0.0
    for _ in range(200):
        room = delta - _inflation(epsilon) * tv * (1 + ULPS) - ULPS * delta
        needed = ideal.epsilon(room) if room >= 0 else math.inf
        if needed <= epsilon or math.isinf(needed):
            return max(needed, epsilon)
        epsilon = needed * (1 + 1e-9)
    return math.inf


def within_delta(ideal: Guarantee, tv: float, epsilon: float) -> float:
    """The smallest delta found over epsilon' ≤ epsilon: the added term grows with it. Every one of them is valid.

    At epsilon itself, and by golden sections below it, where a large epsilon makes the distance dear.
    """

    def delta(at: float) -> float:
        return (ideal.delta(at) + _inflation(at) * tv) * (1 + ULPS)

    left, right = 0.0, min(epsilon, 700.0)
    smallest = delta(right)
    if _inflation(right) * tv <= NEGLIGIBLE * smallest:
        return min(smallest, 1.0)
    a, b = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_a, at_b = delta(a), delta(b)
    for _ in range(SECTIONS):
        smallest = min(smallest, at_a, at_b)
        if at_a <= at_b:
            right, b, at_b = b, a, at_a
            a = right - GOLDEN * (right - left)
            at_a = delta(a)
        else:
            left, a, at_a = a, b, at_b
            b = left + GOLDEN * (right - left)
            at_b = delta(b)
    return min(smallest, at_a, at_b, 1.0)


def _inflation(epsilon: float) -> float:
    """1 + e^epsilon, rounded up."""
    return (1 + math.exp(epsilon)) * (1 + ULPS) if epsilon < 709 else math.inf
