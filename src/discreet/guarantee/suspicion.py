"""What a guarantee means to a privacy officer: how far a release can raise a suspicion about one person.

Somebody knows the whole table but one unit (a record, or all records of a person) and suspects something of that unit:
its cells lie in a set A, which they think has probability p. Under add-remove the suspicion is that the unit is in the
table at all. Let P and Q be the laws of the release if the suspicion is true and if it is false: mixtures, by what they
believe besides, of laws of neighbouring tables. Bayes: after the release the odds are p / (1 - p) · dP/dQ.

Hockey-stick divergences are jointly convex, so the mixtures keep the curve of the guarantee:

    P(S) - e^a Q(S) ≤ delta(a)    for every event S and a ≥ 0                                                    (1)

Theorem. Let 0 < t < 1, 0 < eta ≤ 1, delta(a) ≤ t · eta and b = a - log(1 - t). If the suspicion is true, the odds are
multiplied by more than e^b with probability at most eta.

Proof. Let S be where dP/dQ > e^b. There Q(S) ≤ e^-b P(S), so by (1)
    (1 - e^(a - b)) P(S) ≤ P(S) - e^a Q(S) ≤ delta(a) ≤ t · eta,
and 1 - e^(a - b) = t.  ∎

If it is false, the probability is smaller still: Q(S) ≤ e^-b P(S). For a pure guarantee delta(epsilon) = 0, and t → 0
gives b = epsilon with eta = 0: no release at all raises the odds further. `suspicion` takes the least b over several t;
each of them is proved. Whoever knows more or less of the others is another matter: what all other rows say of such
people in general is what the study is for, and no guarantee hides it.
"""

import math
from dataclasses import dataclass

from discreet.checks import positive
from discreet.guarantee.basis import Guarantee

__all__ = ["Suspicion", "suspicion"]

SHARES = (0.3, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)  # t of the theorem
ULPS = 1e-12  # relative: rounding of the bound itself
RAREST, LIKELIEST = 1e-6, 1e-2  # chances that are tried where some chance is needed
LARGEST = 700.0  # log-odds beyond which a belief is certain


@dataclass(frozen=True)
class Suspicion:
    """A belief before and the most it can be after the release, but for an exception of probability `chance`."""

    before: float
    after: float
    chance: float
    relation: str
    unit: str

    @property
    def words(self) -> str:
        """One sentence for a privacy officer."""
        return self.by_seeing("this release")

    def by_seeing(self, what: str) -> str:
        """The same sentence, of whatever carries the guarantee."""
        one = self.unit.partition(" (")[0]
        that = f"something about one {one} {_percent(self.before)} likely"
        if self.relation != "replace-one":
            that = f"it {_percent(self.before)} likely that one {one} is in the table"
        who = f"Someone who knows every other {one} and thinks {that}"
        if self.after >= 1.0:
            return f"{who} may become certain: this guarantee sets no limit to it."
        but = f", but for an exception with probability at most one in {1 / self.chance:,.0f}" if self.chance else ""
        return f"{who} can raise that suspicion to at most {_up(self.after)} by seeing {what}{but}."


def suspicion(guarantee: Guarantee, before: float = 0.1, chance: float | None = None) -> Suspicion:
    """The most that a release under this guarantee can raise a suspicion of probability `before`.

    `chance` is the probability of an exception, 0 for none. Without it none where the guarantee needs none, else one in
    a million, or the least power of ten at which the guarantee says anything.
    """
    positive("suspicion.before", before, below=1.0)
    if chance is None:
        chances = [0.0, *(RAREST * 10**k for k in range(1 + round(math.log10(LIKELIEST / RAREST))))]
    else:
        chances = [chance if chance == 0 else positive("suspicion.chance", chance, below=1.0)]
    for allowed in chances:
        raised = _log_factor(guarantee, allowed)
        if raised < LARGEST:
            return Suspicion(before, _believed(before, raised), allowed, guarantee.relation, guarantee.unit)
    return Suspicion(before, 1.0, chances[-1], guarantee.relation, guarantee.unit)


def _log_factor(guarantee: Guarantee, chance: float) -> float:
    """By how much log-odds grow at most, but with this probability: b of the theorem."""
    if chance == 0.0:
        return guarantee.epsilon(0.0)
    found = (guarantee.epsilon(share * chance * (1 - ULPS)) - math.log1p(-share) for share in SHARES)
    return min(min(found), guarantee.epsilon(0.0)) * (1 + ULPS)


def _believed(before: float, raised: float) -> float:
    odds = before / (1.0 - before) * math.exp(raised)
    return min(1.0, odds / (1.0 + odds) * (1 + ULPS))


def _percent(value: float) -> str:
    return f"{100 * value:.3g}%"


def _up(value: float) -> str:
    """A percentage that is not below the value."""
    digits = 1 if value < 0.99 else 3 if value < 0.9999 else 6
    rounded = math.ceil(value * 100 * 10**digits) / 10**digits
    return "almost 100%" if rounded >= 100 else f"{rounded:.{digits}f}%"
