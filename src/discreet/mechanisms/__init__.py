"""How an answer is protected: one mechanism per file, its proof beside it, one line in the registry."""

from typing import Any

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.conjugate_sample import ConcentratedSample, ConjugateSample, DiffusedSample, DirectSample
from discreet.mechanisms.gibbs_posterior import GibbsPosterior
from discreet.mechanisms.noisy_statistics import NoisyStatistics
from discreet.mechanisms.posterior_sample import PosteriorSample

__all__ = [
    "MECHANISMS",
    "ConcentratedSample",
    "ConjugateSample",
    "DiffusedSample",
    "DirectSample",
    "GibbsPosterior",
    "Mechanism",
    "NoisyStatistics",
    "PosteriorSample",
]

MECHANISMS: dict[str, type[Any]] = {
    "ConcentratedSample": ConcentratedSample,
    "DiffusedSample": DiffusedSample,
    "DirectSample": DirectSample,
    "GibbsPosterior": GibbsPosterior,
    "NoisyStatistics": NoisyStatistics,
    "PosteriorSample": PosteriorSample,
}
