"""Conjugate families, one file each."""

from discreet.queries.families.base import (
    BoundedMean,
    ConditionalTable,
    Dirichlet,
    DirichletTables,
    ExponentialRate,
    Family,
    GaussianMean,
    HiddenMarkov,
    PoissonRate,
    SumFamily,
)

__all__ = [
    "BoundedMean",
    "ConditionalTable",
    "Dirichlet",
    "DirichletTables",
    "ExponentialRate",
    "Family",
    "GaussianMean",
    "HiddenMarkov",
    "PoissonRate",
    "SumFamily",
]
