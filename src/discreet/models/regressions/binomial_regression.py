"""A count of successes among a declared number of trials: log-odds of one trial, linear in the features."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.models.loss_model import MarginModel
from discreet.numerics.arrays import Array
from discreet.queries.losses import Binomial, Loss
from discreet.schema import Count, Schema

__all__ = ["BinomialRegression"]


@dataclass(frozen=True)
class BinomialRegression(MarginModel):
    """Log-odds of one trial; the target is a count from 0 whose declared upper bound is the number of trials."""

    def query(self, schema: Schema) -> Binomial:
        """The loss of one trial, on average: y ~ Binomial(trials, 1 / (1 + exp(-z · w))), w ~ N(0, 1/precision)."""
        asked = Binomial(schema, self._features(schema), self._number(schema, Count), self.precision, self._ball)
        if asked.axis.ends[0] != 0.0:
            raise QueryError(f"BinomialRegression.target must be a count from 0, got one from {asked.axis.ends[0]:g}")
        return asked

    def _drawn_targets(self, query: Loss, margins: Array, rng: np.random.Generator) -> NDArray[Any]:
        link = query.score_link
        assert link is not None
        return rng.binomial(round(query.axis.ends[1]), link.mean(margins))
