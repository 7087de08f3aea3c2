"""Guarantees as data: leaves (`PureDP`, `BoundedRange`, `ZCDP`, `GaussianDP`, `ApproxDP`), nodes and budgets.

Kinds and versions are never removed and never change meaning; an unknown kind or a newer version is refused.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from discreet.errors import GuaranteeError
from discreet.guarantee.basis import Basis, Guarantee
from discreet.guarantee.budget import Budget
from discreet.guarantee.certificates import AllOf, Within
from discreet.guarantee.conjugate import ConjugateProfile, RenyiDP
from discreet.guarantee.leaves import ZCDP, ApproxDP, BoundedRange, GaussianDP, Leaf, PureDP
from discreet.guarantee.nodes import Composed, Node, Repeated, terms

__all__ = [
    "GUARANTEES",
    "ZCDP",
    "AllOf",
    "ApproxDP",
    "Basis",
    "BoundedRange",
    "Budget",
    "Composed",
    "ConjugateProfile",
    "GaussianDP",
    "Guarantee",
    "Leaf",
    "Node",
    "PureDP",
    "RenyiDP",
    "Repeated",
    "Within",
    "from_json",
    "terms",
]

GUARANTEES: dict[str, type[Guarantee]] = {
    cls.kind: cls
    for cls in (
        AllOf,
        ApproxDP,
        BoundedRange,
        Composed,
        ConjugateProfile,
        GaussianDP,
        PureDP,
        RenyiDP,
        Repeated,
        Within,
        ZCDP,
    )
}


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
