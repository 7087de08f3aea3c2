"""Public rules of a noisy-score release: from numbers that have left, the next map and the next point. No rows."""

from discreet.queries.scores.public_rule import ScoreWalk, first_map, walk
from discreet.queries.scores.score_frame import ScoreFrame
from discreet.queries.scores.score_links import binomial_link, identity_link, logistic_link, poisson_link
from discreet.queries.scores.score_terms import ScoreLink, ScoreTerms, Totals, moments_wanted

__all__ = [
    "ScoreFrame",
    "ScoreLink",
    "ScoreTerms",
    "ScoreWalk",
    "Totals",
    "binomial_link",
    "first_map",
    "identity_link",
    "logistic_link",
    "moments_wanted",
    "poisson_link",
    "walk",
]
