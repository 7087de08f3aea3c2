"""Conjugate families of released statistics: one file each, one line in the registry. All of it is public.

| family | statistics | parameter |
|---|---|---|
| Dirichlet | counts of K cells | probabilities, or one of two |
| DirichletTables | counts of several tables of the same rows | probabilities, row by row |
| GaussianMean | sum of n clipped numbers of known deviation | mean |
| PoissonRate | sum of n clipped counts | rate |
| ExponentialRate | sum of n clipped waiting times | rate |
| BoundedMean | sum of n numbers in an interval | mean, as a place in the interval |
| HiddenMarkov | counts of events in cells | hidden states, profiles, transitions |
"""

from discreet.queries.families.base import Family, Interval, OneConjugate, Tempering
from discreet.queries.families.bounded_mean import BoundedMean
from discreet.queries.families.conditional_table import ConditionalTable
from discreet.queries.families.dirichlet import Dirichlet
from discreet.queries.families.dirichlet_tables import DirichletTables
from discreet.queries.families.exponential_rate import ExponentialRate
from discreet.queries.families.gaussian_mean import GaussianMean
from discreet.queries.families.hidden_markov import HiddenMarkov
from discreet.queries.families.one_sum import OneSum
from discreet.queries.families.poisson_rate import PoissonRate

__all__ = [
    "FAMILIES",
    "BoundedMean",
    "ConditionalTable",
    "Dirichlet",
    "DirichletTables",
    "ExponentialRate",
    "Family",
    "GaussianMean",
    "HiddenMarkov",
    "Interval",
    "OneConjugate",
    "OneSum",
    "PoissonRate",
    "Tempering",
]

FAMILIES: dict[str, type[Family]] = {
    "BoundedMean": BoundedMean,
    "Dirichlet": Dirichlet,
    "DirichletTables": DirichletTables,
    "ExponentialRate": ExponentialRate,
    "GaussianMean": GaussianMean,
    "HiddenMarkov": HiddenMarkov,
    "PoissonRate": PoissonRate,
}
