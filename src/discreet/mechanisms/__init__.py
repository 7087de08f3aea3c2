"""How an answer is protected: one mechanism per file, its proof beside it, one line in the registry."""

from typing import Any

from discreet.mechanisms.base import Mechanism, PaidChain
from discreet.mechanisms.conjugate_sample.conjugate_sample import (
    ConcentratedSample,
    ConjugateSample,
    DiffusedSample,
    DirectSample,
)
from discreet.mechanisms.gibbs_posterior.gibbs_posterior import GibbsPosterior
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
    "GibbsPosterior",
    "Mechanism",
    "NoisyStatistics",
    "PaidChain",
    "PosteriorSample",
    "PrivateAnnealing",
    "PrivateGibbs",
    "PrivateMetropolis",
]

MECHANISMS: dict[str, type[Any]] = {
    "ConcentratedSample": ConcentratedSample,
    "DiffusedSample": DiffusedSample,
    "DirectSample": DirectSample,
    "GibbsPosterior": GibbsPosterior,
    "NoisyStatistics": NoisyStatistics,
    "PosteriorSample": PosteriorSample,
    "PrivateAnnealing": PrivateAnnealing,
    "PrivateGibbs": PrivateGibbs,
    "PrivateMetropolis": PrivateMetropolis,
}
