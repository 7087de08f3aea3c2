"""The nodes: several releases on the same data, composed before anything is converted.

Composition is of adaptively chosen releases with parameters fixed in advance; what a budget may *admit* while choosing
as it goes is decided by a filter (`discreet.ledger.filters`).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.accounting import conversions
from discreet.accounting.loss_distribution import LossDistribution, compose_all, grid_for
from discreet.accounting.rounding import ULPS, rational, typed_root_up, typed_up
from discreet.errors import GuaranteeError
from discreet.guarantee.basis import ZCDP, ApproxDP, Basis, GaussianDP, Guarantee, Leaf, PureDP
from discreet.guarantee.certificates import AllOf, Within, within_delta, within_epsilon

__all__ = ["Composed", "Node", "Repeated"]

Terms = dict[Guarantee, int]

MOST_CONVOLVED = 10**6  # beyond, the closed routes answer at once and lose little


@dataclass(frozen=True, repr=False)
class Node(Guarantee):
    """A composition, read through its leaves and how often each occurs."""

    def _renyi(self, order: float) -> float:
        """Renyi divergences of one order add."""
        return _curve(self.terms())(order)

    def _epsilon(self, delta: float) -> float:
        """The smallest of the valid routes.

        (epsilon, delta) parts add on their own (basic composition). Samplers within tv_i of ideal laws are together
        within the sum of the tv_i of the composed ideal law, for every dataset. Of a draw with several certificates
        any one may be composed.
        """
        return min(_epsilon_of(leaves, delta) for leaves in _choices(self.terms()))

    def _delta(self, epsilon: float) -> float:
        """The smallest of the same routes at `epsilon`: each is solved for delta, none is searched."""
        return min(_delta_of(leaves, epsilon) for leaves in _choices(self.terms()))

    def words(self) -> str:
        """One sentence for a privacy officer."""
        pure = self.epsilon(0.0)
        total = sum(self.terms().values())
        parts = "; ".join(f"{count} × {leaf!r}" for leaf, count in self.terms().items())
        also = f", and pure epsilon = {pure:.4g}" if math.isfinite(pure) else ""
        return f"{total} releases composed ({parts}): epsilon = {self.epsilon(1e-6):.4g} at delta = 1e-6{also}."


@dataclass(frozen=True, repr=False)
class Composed(Node):
    """All of `parts`, released on the same data."""

    parts: tuple[Guarantee, ...]
    kind = "Composed"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        if not self.parts:
            raise GuaranteeError("Composed.parts must have at least one guarantee, got none")
        for part in self.parts:
            if (part.relation, part.unit) != (self.relation, self.unit):
                shared = f"{self.relation} of a {self.unit}"
                raise GuaranteeError(f"Composed.parts must all hold for {shared}, got {part.relation} of a {part.unit}")

    @property
    def basis(self) -> Basis:
        """Relation and unit of the parts; theorems and samplers stay with the parts."""
        first = self.parts[0].basis
        return Basis(first.relation, first.unit, "composition", "as each part names it")

    def arguments(self) -> dict[str, Any]:
        """The parts."""
        return {"parts": self.parts}

    def terms(self) -> Terms:
        """Every leaf with its number of occurrences."""
        total: Terms = {}
        for part in self.parts:
            _add(total, part.terms(), 1)
        return total

    def to_json(self) -> dict[str, Any]:
        """Kind, version and parts."""
        return {"kind": self.kind, "version": self.version, "parts": [part.to_json() for part in self.parts]}


@dataclass(frozen=True, repr=False)
class Repeated(Node):
    """`part`, released `times` times on the same data with fresh randomness: k draws cost k draws."""

    part: Guarantee
    times: int
    kind = "Repeated"

    def __post_init__(self) -> None:
        if not isinstance(self.times, int) or isinstance(self.times, bool) or self.times < 1:
            raise GuaranteeError(f"Repeated.times must be a whole number from 1, got {self.times!r}")

    @property
    def basis(self) -> Basis:
        """The basis of the repeated part."""
        return self.part.basis

    def arguments(self) -> dict[str, Any]:
        """The part and its multiplicity."""
        return {"part": self.part, "times": self.times}

    def terms(self) -> Terms:
        """Every leaf with its number of occurrences."""
        return {leaf: count * self.times for leaf, count in self.part.terms().items()}

    def to_json(self) -> dict[str, Any]:
        """Kind, version, part and multiplicity."""
        return {"kind": self.kind, "version": self.version, "part": self.part.to_json(), "times": self.times}


def _choices(leaves: Terms) -> list[Terms]:
    """The leaves, and for each kind of certificate the leaves with it alone in the place of every `AllOf` that has it.

    All certificates of a draw hold, so every choice is valid. Kinds are not mixed: that would take a search.
    """
    kinds = sorted({part.kind for leaf in leaves if isinstance(leaf, AllOf) for part in leaf.parts})
    choices = [leaves]
    for kind in kinds:
        chosen: Terms = {}
        for leaf, count in leaves.items():
            parts = [part for part in leaf.parts if part.kind == kind] if isinstance(leaf, AllOf) else []
            _add(chosen, parts[0].terms() if parts else {leaf: 1}, count)
        choices.append(chosen)
    return choices


def _epsilon_of(leaves: Terms, delta: float) -> float:
    fixed, slack, tv, rest = _split(leaves)
    if delta < slack:
        return math.inf
    room = max(delta - slack - (ULPS * delta if slack else 0.0), 0.0)
    if tv > 0:
        return _sum_up(fixed, within_epsilon(_composed(rest), tv, room))
    route = _sum_up(fixed, _compose(rest, room))
    exact = _loss(leaves) if delta > 0 else None
    return route if exact is None else min(route, exact.epsilon(delta))


def _delta_of(leaves: Terms, epsilon: float) -> float:
    fixed, slack, tv, rest = _split(leaves)
    room = epsilon - fixed if fixed == 0 else (epsilon - fixed) - ULPS * epsilon
    route = 1.0
    if epsilon >= fixed:
        ideal = within_delta(_composed(rest), tv, max(room, 0.0)) if tv > 0 else _compose_delta(rest, max(room, 0.0))
        route = _sum_up(slack, ideal)
    exact = _loss(leaves)
    return min(route, 1.0 if exact is None else exact.delta(epsilon))


def _loss(leaves: Terms) -> LossDistribution | None:
    """The composed loss, where there is something to compose that a closed form does not settle."""
    several = 1 < sum(leaves.values()) <= MOST_CONVOLVED
    if not several or all(isinstance(leaf, GaussianDP) for leaf in leaves):
        return None
    return _distribution(tuple(_merged(leaves).items()))


def _add(total: Terms, more: Terms, times: int) -> None:
    for leaf, count in more.items():
        total[leaf] = total.get(leaf, 0) + times * count


def _split(leaves: Terms) -> tuple[float, float, float, Terms]:
    """The sums of epsilon and delta of (epsilon, delta) parts, of distances to ideal laws, and all other leaves."""
    fixed = slack = tv = Fraction(0)
    rest: Terms = {}
    for leaf, count in leaves.items():
        if isinstance(leaf, ApproxDP):
            fixed, slack = fixed + count * rational(leaf.level), slack + count * rational(leaf.slack)
        elif isinstance(leaf, Within):
            tv += count * rational(leaf.tv)
            _add(rest, leaf.part.terms(), count)
        else:
            _add(rest, {leaf: 1}, count)
    return typed_up(fixed), typed_up(slack), typed_up(tv), rest


def _composed(leaves: Terms) -> "Composed":
    return Composed(tuple(Repeated(leaf, count) for leaf, count in leaves.items()))


def _sum_up(first: float, second: float) -> float:
    """A sum that is not below the true one."""
    return math.nextafter(first + second, math.inf) if first and second else first + second


def _merged(leaves: Terms) -> Terms:
    """The same leaves with all Gaussian ones as one, whose mu² is the sum, and all zCDP ones as one: both exact."""
    rest = {leaf: count for leaf, count in leaves.items() if not isinstance(leaf, GaussianDP | ZCDP)}
    mu = sum((c * rational(leaf.level) ** 2 for leaf, c in leaves.items() if isinstance(leaf, GaussianDP)), Fraction(0))
    rho = sum((c * rational(leaf.level) for leaf, c in leaves.items() if isinstance(leaf, ZCDP)), Fraction(0))
    one: Terms = ({GaussianDP(typed_root_up(mu)): 1} if mu else {}) | ({ZCDP(typed_up(rho)): 1} if rho else {})
    return one | rest


def _basic(leaves: Terms) -> float:
    """The sum of pure levels, as they are written."""
    levels = [(leaf.epsilon(0.0), count) for leaf, count in leaves.items()]
    if not all(math.isfinite(level) for level, _ in levels):
        return math.inf
    return typed_up(sum((count * rational(level) for level, count in levels), Fraction(0)))


def _curve(leaves: Terms) -> conversions.Curve:
    counts = {leaf: count if count < 10**300 else math.inf for leaf, count in leaves.items()}
    return lambda order: math.fsum(count * leaf.renyi(order) for leaf, count in counts.items())


def _compose(leaves: Terms, delta: float) -> float:
    """Epsilon of leaves that have profiles: exact for Gaussians and equal pure parts, else the best valid route."""
    if not leaves:
        return 0.0
    leaves = _merged(leaves)
    if sum(leaves.values()) == 1:
        return next(iter(leaves)).epsilon(delta)
    basic = _basic(leaves)
    return min(basic, conversions.renyi_epsilon(_curve(leaves), delta)) if delta > 0 else basic


def _compose_delta(leaves: Terms, epsilon: float) -> float:
    """Delta by the same routes."""
    if not leaves:
        return 0.0
    leaves = _merged(leaves)
    if sum(leaves.values()) == 1:
        return next(iter(leaves)).delta(epsilon)
    return 0.0 if _basic(leaves) <= epsilon else conversions.renyi_delta(_curve(leaves), epsilon)


@lru_cache(maxsize=32)
def _distribution(leaves: tuple[tuple[Guarantee, int], ...]) -> LossDistribution | None:
    """The composed loss of dominating pairs; zCDP, Renyi curves and bounded range have no single dominating pair."""
    if not all(isinstance(leaf, PureDP | ApproxDP | GaussianDP) for leaf, _ in leaves):
        return None
    levels = {leaf.level for leaf, _ in leaves if isinstance(leaf, Leaf)}
    if len(levels) == 1 and not any(isinstance(leaf, GaussianDP) for leaf, _ in leaves):
        (grid,) = levels  # every loss is a multiple of epsilon: the optimal composition, without rounding  [KOV2015]
    else:
        grid = grid_for((leaf.level, count) for leaf, count in leaves if isinstance(leaf, Leaf))
    return compose_all((_pair(leaf, grid), count) for leaf, count in leaves)


def _pair(leaf: Guarantee, grid: float) -> LossDistribution:
    if isinstance(leaf, GaussianDP):
        return LossDistribution.gaussian(leaf.level, grid=grid)
    assert isinstance(leaf, PureDP | ApproxDP)
    return LossDistribution.approximate(leaf.level, leaf.delta(leaf.level), grid=grid)
