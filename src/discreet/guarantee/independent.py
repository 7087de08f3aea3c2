"""Several independent draws of one law: what `Repeated` says of any releases, and more where the law is one.

Of `Repeated` each part may have its own pair of laws, as the steps of a chain do. Here all draws are of the same law
given the data, so that two tables give them the same pair: bounded range then composes optimally
(`accounting.range_draws`). A ledger adds them up as it adds any others.
"""

from dataclasses import dataclass

from discreet.accounting.range_draws import range_draws_delta, range_draws_epsilon
from discreet.guarantee.basis import BoundedRange, Guarantee
from discreet.guarantee.certificates import AllOf
from discreet.guarantee.nodes import Repeated

__all__ = ["IndependentDraws"]


@dataclass(frozen=True, repr=False)
class IndependentDraws(Repeated):
    """`times` draws of one law on the same data, independent given the data; `part` certifies one of them."""

    kind = "IndependentDraws"

    def _epsilon(self, delta: float) -> float:
        """The smallest of the routes of `Repeated` and, for bounded range, the optimal one."""
        known = super()._epsilon(delta)
        if delta <= 0.0:
            return known
        return min([known, *(range_draws_epsilon(level, self.times, delta) for level in _ranges(self.part))])

    def _delta(self, epsilon: float) -> float:
        """The smallest of the same routes."""
        known = super()._delta(epsilon)
        return min([known, *(range_draws_delta(level, self.times, epsilon) for level in _ranges(self.part))])


def _ranges(part: Guarantee) -> list[float]:
    """The ranges that one draw is certified to have."""
    if isinstance(part, AllOf):
        return [level for certificate in part.parts for level in _ranges(certificate)]
    return [part.level] if isinstance(part, BoundedRange) else []
