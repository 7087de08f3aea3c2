"""How an answer is protected: one folder per mechanism with its proof, one line in the registry."""

from typing import Any

from discreet.mechanisms.base import Drawing, Mechanism, Reading
from discreet.mechanisms.conjugate_sample.conjugate_sample import (
    ConcentratedSample,
    ConjugateSample,
    DiffusedSample,
    DirectSample,
)
from discreet.mechanisms.gibbs_posterior.gibbs_posterior import GibbsPosterior
from discreet.mechanisms.noisy_score.noisy_score import NoisyScore
from discreet.mechanisms.noisy_statistics.noisy_statistics import NoisyStatistics
from discreet.mechanisms.posterior_sample.posterior_sample import PosteriorSample
from discreet.mechanisms.private_annealing.private_annealing import PrivateAnnealing
from discreet.mechanisms.private_gibbs.private_gibbs import PrivateGibbs
from discreet.mechanisms.private_metropolis.private_metropolis import PrivateMetropolis

__all__ = [
    "MECHANISMS",
    "ConcentratedSample",
    "ConjugateSample",
    "DiffusedSample",
    "DirectSample",
    "Drawing",
    "GibbsPosterior",
    "Mechanism",
    "NoisyScore",
    "NoisyStatistics",
    "PosteriorSample",
    "PrivateAnnealing",
    "PrivateGibbs",
    "PrivateMetropolis",
    "Reading",
]

# in the order in which `compare` tries them
MECHANISMS: dict[str, type[Any]] = {
    "NoisyStatistics": NoisyStatistics,
    "DirectSample": DirectSample,
    "DiffusedSample": DiffusedSample,
    "ConcentratedSample": ConcentratedSample,
    "PosteriorSample": PosteriorSample,
    "NoisyScore": NoisyScore,
    "GibbsPosterior": GibbsPosterior,
    "PrivateAnnealing": PrivateAnnealing,
    "PrivateGibbs": PrivateGibbs,
    "PrivateMetropolis": PrivateMetropolis,
}
