"""Convex losses: one file each, one line in the registry."""

from discreet.queries.losses.base import Loss, Query, Target
from discreet.queries.losses.binomial import Binomial
from discreet.queries.losses.hinge import Hinge
from discreet.queries.losses.huber import Huber
from discreet.queries.losses.logistic import Logistic
from discreet.queries.losses.poisson import Poisson
from discreet.queries.losses.quadratic import Quadratic
from discreet.queries.losses.tabulated import Tabulated

__all__ = [
    "LOSSES",
    "Binomial",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "Quadratic",
    "Query",
    "Tabulated",
    "Target",
]

LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (Binomial, Hinge, Huber, Logistic, Poisson, Quadratic, Tabulated)
}
