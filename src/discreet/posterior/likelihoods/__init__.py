"""What released numbers say of the exact ones: for a model of one's own, and for several releases of one question."""

from discreet.posterior.likelihoods.combined_releases import combine
from discreet.posterior.likelihoods.noise_likelihood import NoiseLikelihood, likelihood

__all__ = ["NoiseLikelihood", "combine", "likelihood"]
