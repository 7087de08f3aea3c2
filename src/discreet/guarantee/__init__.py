"""Guarantees as data: leaves (`PureDP`, `BoundedRange`, `ZCDP`, `GaussianDP`, `ApproxDP`), nodes and budgets.

Kinds and versions are never removed and never change meaning; an unknown kind or a newer version is refused.
"""

from discreet.guarantee.basis import ZCDP, ApproxDP, Basis, BoundedRange, GaussianDP, Guarantee, Leaf, PureDP
from discreet.guarantee.budget import Budget
from discreet.guarantee.certificates import AllOf, Within
from discreet.guarantee.conjugate import ConjugateProfile, RenyiDP
from discreet.guarantee.independent import IndependentDraws
from discreet.guarantee.nodes import Composed, Node, Repeated
from discreet.guarantee.stored import GUARANTEES, from_json
from discreet.guarantee.suspicion import Suspicion, suspicion

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
    "IndependentDraws",
    "Leaf",
    "Node",
    "PureDP",
    "RenyiDP",
    "Repeated",
    "Suspicion",
    "Within",
    "from_json",
    "suspicion",
]
