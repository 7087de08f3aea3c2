"""The temperature of one probability for the worst two tables of n records. Proof: posterior_sample.md, Theorem 5."""

from functools import lru_cache
from typing import cast

import numpy as np

from discreet.accounting.tempered_beta import Cooled, coolest
from discreet.errors import QueryError
from discreet.mechanisms.draws.declared_space import DeclaredSpace
from discreet.queries.families import Family, OneConjugate, Tempering
from discreet.queries.statistics import Statistics

__all__ = ["tempered_at"]

_coolest = lru_cache(maxsize=256)(coolest)  # a pure function of public facts, asked again for every draw's law


def tempered_at(
    query: Statistics, family: Family, space: DeclaredSpace, epsilon: float, tempering: Tempering
) -> Cooled:
    """The lowest temperature that is safe at this n; refused where the theorem does not reach."""
    if family.law != "beta":
        reason = "one probability, or the mean of a bounded column"
        raise QueryError(
            f"PosteriorSample.worst_case must be left out for anything but {reason}, got another parameter"
        )
    if query.excludes:
        reason = "for columns that exclude bad cells: how many rows are left is private"
        raise QueryError(f'PosteriorSample.worst_case must be left out {reason}, got "n"')
    one = cast(OneConjugate, family)
    flat = one.exponents if tempering == "likelihood" else one.flat(tempering)
    lower, (prior, even) = space.of(one)[0], (tuple(np.asarray(part).tolist()) for part in (one.exponents, flat))
    return _coolest(epsilon, lower, query.largest_total, prior, even)
