"""Public rules of a noisy-score release: from numbers that have left, the next map and the next point. No rows."""

from discreet.queries.scores.public_rule import Walk, first_map, walk
from discreet.queries.scores.score_frame import ScoreFrame
from discreet.queries.scores.score_terms import ScoreLink, ScoreTerms, Totals

__all__ = ["ScoreFrame", "ScoreLink", "ScoreTerms", "Totals", "Walk", "first_map", "walk"]
