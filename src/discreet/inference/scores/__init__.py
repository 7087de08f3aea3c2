"""Coefficients given released noisy scores: the features' law as far as it is known, and a normal law of theta."""

from discreet.inference.scores.score_posterior import ScoreEvidence, ThetaLaw
from discreet.inference.scores.score_slopes import MarginSlopes, margin_slopes

__all__ = ["MarginSlopes", "ScoreEvidence", "ThetaLaw", "margin_slopes"]
