"""Guarantees as data: leaves (`PureDP`, `BoundedRange`, `ZCDP`, `GaussianDP`, `ApproxDP`), nodes and budgets.

Kinds and versions are never removed and never change meaning; an unknown kind or a newer version is refused.
"""

from collections.abc import Mapping
from typing import Any

from discreet.errors import GuaranteeError
from discreet.guarantee.basis import Basis, Guarantee
from discreet.guarantee.budget import Budget
from discreet.guarantee.leaves import ZCDP, ApproxDP, BoundedRange, GaussianDP, Leaf, PureDP
from discreet.guarantee.nodes import Composed, Node, Repeated, terms

__all__ = [
    "GUARANTEES",
    "ZCDP",
    "ApproxDP",
    "Basis",
    "BoundedRange",
    "Budget",
    "Composed",
    "GaussianDP",
    "Guarantee",
    "Leaf",
    "Node",
    "PureDP",
    "Repeated",
    "from_json",
    "terms",
]

GUARANTEES: dict[str, type[Guarantee]] = {
    cls.kind: cls for cls in (ApproxDP, BoundedRange, Composed, GaussianDP, PureDP, Repeated, ZCDP)
}


def from_json(body: Mapping[str, Any]) -> Guarantee:
    """Read any guarantee written by `to_json`."""
    fields = dict(body) if isinstance(body, Mapping) else {}
    kind, version = fields.pop("kind", None), fields.pop("version", None)
    if kind not in GUARANTEES or version != GUARANTEES[kind].version:
        raise GuaranteeError(
            f"Guarantee.kind must be one of {sorted(GUARANTEES)} in a known version, got {kind!r} {version!r}"
        )
    try:
        if kind == "Composed":
            return Composed(tuple(from_json(part) for part in fields.pop("parts")), **fields)
        if kind == "Repeated":
            return Repeated(from_json(fields.pop("part")), **fields)
        return GUARANTEES[kind](basis=Basis(**fields.pop("basis")), **fields)  # type: ignore[call-arg]
    except (TypeError, KeyError, AttributeError):
        raise GuaranteeError(f"Guarantee.{kind} must have exactly its own fields, got {sorted(body)}") from None
