"""Models that a noisy-score release answers: coefficients of a linear predictor, with a whole posterior."""

from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np
from threadpoolctl import threadpool_limits

from discreet.inference.scores import ScoreEvidence
from discreet.models.base import Progress, Value
from discreet.numerics.arrays import Array
from discreet.posterior import ScoreCoefficients
from discreet.queries.losses import Loss
from discreet.queries.scores import ScoreTerms, Totals, walk

__all__ = ["ScoreModel"]

MUCH, ROOMY = 30.0, 3.0  # zeta above which a model that is nearly true shows, and the headroom at which it does no harm


class OpenedScores(Protocol):
    """The public law of a release of noisy scores."""

    terms: ScoreTerms
    scale: float

    def opened(self, value: Value) -> tuple[Totals, Array | None, Array, Array]:
        """Totals, moments, points and scores, in real units."""


class ScoreModel:
    """What a model of a linear predictor does with noisy scores; `precision` is that of its prior, None for none."""

    precision: float | None

    def given_scores(
        self, query: Loss, law: OpenedScores, value: Value, progress: Progress = None
    ) -> ScoreCoefficients:
        """The posterior of the coefficients: the walk is taken again from what was released, which is free."""
        totals, moments, points, scores = law.opened(value)
        totals = replace(totals, size=max(totals.size, 1.0))  # a noisy count may be anything
        with threadpool_limits(1, user_api="blas"):  # the same reading from every number of threads
            path = walk(law.terms, totals, moments)
            for point, score in zip(points, scores, strict=True):
                path = path.after(score, point)
        evidence = ScoreEvidence(law.terms, totals, moments, points, scores, path)
        return ScoreCoefficients(query, evidence, law.scale, self.precision, _words(law.terms, totals))

    def with_prior(self, prior: Any) -> Self:
        """Another precision of the normal prior of every coefficient: the same release is read again."""
        return replace(self, precision=prior)  # type: ignore[type-var]  # models are dataclasses


def _words(terms: ScoreTerms, totals: Totals) -> str:
    """How much a release says, from released numbers alone."""
    size = max(totals.size, 1.0)
    clarity = terms.clarity(size)
    found = f"the signal of a direction is {clarity:.3g} times its noise"
    if terms.counts_only(size):
        return (
            f"{found}: too little for so many, so the scores are noisy counts of the target; next to nothing is said "
            "of the features, and intervals and predictions return to the prior"
        )
    if clarity > MUCH and terms.headroom < ROOMY:
        found += f"; where the model is not exactly true, far records count less (headroom={ROOMY:g}: all count)"
    if terms.moments_sd is None and terms.numbers and np.isfinite(clarity):
        return f"{found}; no second moments were worth their price, so features count as next to uncorrelated"
    return found
