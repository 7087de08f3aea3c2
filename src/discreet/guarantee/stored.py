"""Guarantees that were written: how they are read, and whether they are what is computed today.

Never by equality: accounting improves.

Two guarantees are the **same** if they have the same kinds, parts, relation and unit, and every number agrees to 1e-9
of itself; theorems and samplers are words. Today's is **above** a stored one if, at some point of a public grid, it has
a larger epsilon at a delta, or a larger Rényi divergence at an order, by more than 1e-9. What is read follows:

| priced by | and today's is | what is shown |
|---|---|---|
| any version | the same | today's |
| an older version | not above | the stored one: what was promised still holds; today's where they cannot be compared |
| an older version | above | today's, and beside it what was paid |
| this version | another | nothing: the file was altered, or the guarantee is another request's |

A stored guarantee that is infinite where today's is not says nothing there, and may say too little elsewhere: one pair
of epsilon and delta fits between the points of any grid. It cannot be compared, and neither can a list of certificates
that holds one; the parts of such lists are compared one by one.

A request is answered by the same law whatever version prices it, so an answer that left is returned whatever it cost.
One that has not left does not leave for less than today's price: whoever may write events may call them old.

The version of the accounting: which numbers this library gives to a request.

Every ledger entry and release records it. It is raised by one whenever the certificate or the price of some request
changes by more than 1e-9 of itself, up or down; the golden releases in the tests notice when it was forgotten. Entries
and releases that name none were written before versions were counted: they are version 0.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np

from discreet.errors import DiscreetError, GuaranteeError
from discreet.guarantee.basis import ZCDP, ApproxDP, Basis, BoundedRange, GaussianDP, Guarantee, PureDP
from discreet.guarantee.certificates import AllOf, Within
from discreet.guarantee.conjugate import ConjugateProfile, RenyiDP
from discreet.guarantee.independent import IndependentDraws
from discreet.guarantee.nodes import Composed, Repeated

__all__ = [
    "ACCOUNTING",
    "GUARANTEES",
    "TOLERANCE",
    "UNVERSIONED",
    "Restated",
    "above",
    "from_json",
    "read_today",
    "read_version",
    "same",
]

TOLERANCE = 1e-9
DELTAS = (0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2)
ORDERS = (1.5, 2.0, 4.0, 16.0, 64.0)


GUARANTEES: dict[str, type[Guarantee]] = {
    cls.kind: cls
    for cls in (
        AllOf,
        ApproxDP,
        BoundedRange,
        Composed,
        ConjugateProfile,
        GaussianDP,
        IndependentDraws,
        PureDP,
        RenyiDP,
        Repeated,
        Within,
        ZCDP,
    )
}

UNVERSIONED = 0
ACCOUNTING = 2


def from_json(body: Mapping[str, Any], words: Basis | None = None) -> Guarantee:
    """Read any guarantee written by `to_json`; with `words`, theorem and sampler are told as in this basis."""
    fields = dict(body) if isinstance(body, Mapping) else {}
    kind, version = fields.pop("kind", None), fields.pop("version", None)
    if kind not in GUARANTEES or version != GUARANTEES[kind].version:
        raise GuaranteeError(
            f"Guarantee.kind must be one of {sorted(GUARANTEES)} in a known version, got {kind!r} {version!r}"
        )
    try:
        if "parts" in fields:
            fields["parts"] = tuple(from_json(part, words) for part in fields["parts"])
        if "part" in fields:
            fields["part"] = from_json(fields["part"], words)
        if "basis" in fields:
            basis = Basis(**fields["basis"])
            fields["basis"] = basis if words is None else replace(basis, theorem=words.theorem, sampler=words.sampler)
        return GUARANTEES[kind](**fields)
    except (TypeError, KeyError, AttributeError):
        raise GuaranteeError(f"Guarantee.{kind} must have exactly its own fields, got {sorted(body)}") from None


@dataclass(frozen=True)
class Restated:
    """The guarantee to show, and what was paid where that is less than today's accounting certifies."""

    shown: Guarantee
    paid: Guarantee | None = None


def read_today(stored: Guarantee, today: Guarantee, *, older: bool) -> Restated | None:
    """What a stored guarantee means under today's accounting; None if it cannot be of the same request."""
    if same(stored, today):
        return Restated(today)
    if not older or (stored.relation, stored.unit) != (today.relation, today.unit):
        return None
    if above(today, stored):
        return Restated(today, stored)
    return Restated(stored if _covers(stored, today) else today)


def same(one: Guarantee, other: Guarantee) -> bool:
    """Equal in kind, parts, relation and unit, and in every number to 1e-9."""
    return _alike(one, other)


def above(today: Guarantee, stored: Guarantee) -> bool:
    """Whether today's curve is above the stored one somewhere on the grid."""
    return not all(now <= then * (1 + TOLERANCE) for now, then in _points(today, stored))


@lru_cache(maxsize=64)  # a pure function of public facts; the curve of a composition takes its time
def _points(today: Guarantee, stored: Guarantee) -> tuple[tuple[float, float], ...]:
    """Both curves on the grid."""
    with np.errstate(all="ignore"):  # what is stored may have any numbers
        points = [(today.epsilon(delta), stored.epsilon(delta)) for delta in DELTAS]
        return tuple(points + [(today.renyi(order), stored.renyi(order)) for order in ORDERS])


def _covers(stored: Guarantee, today: Guarantee) -> bool:
    """Whether all that is stored can be compared, and today's is nowhere above it."""
    if isinstance(stored, AllOf):
        others = today.parts if isinstance(today, AllOf) else ()
        return all(map(_covers, stored.parts, others if len(others) == len(stored.parts) else repeat(today)))
    finite = all(math.isfinite(then) or now == then for now, then in _points(today, stored))
    return finite and not above(today, stored)


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, Guarantee):
        if type(one) is not type(other) or (one.relation, one.unit) != (other.relation, other.unit):
            return False
        return _alike(one.arguments(), other.arguments())
    if isinstance(one, Mapping):
        return isinstance(other, Mapping) and one.keys() == other.keys() and all(_alike(one[k], other[k]) for k in one)
    if isinstance(one, tuple | list):
        both = isinstance(other, tuple | list) and len(one) == len(other)
        return both and all(_alike(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) or isinstance(other, float):
        return isinstance(other, int | float) and math.isclose(one, other, rel_tol=TOLERANCE)
    return bool(one == other)


def read_version(field: str, found: Any, error: type[DiscreetError]) -> int:
    """A version as files write it; refused where only a newer library knows it."""
    if not isinstance(found, int) or isinstance(found, bool) or not UNVERSIONED <= found <= ACCOUNTING:
        known = f"a whole number from {UNVERSIONED} to {ACCOUNTING}"
        raise error(f"{field} must be {known} in this version of discreet, got {found!r}")
    return found
