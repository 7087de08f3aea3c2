"""How an answer is protected: one mechanism per file, its proof beside it, one line in the registry."""

from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.noisy_statistics import NoisyStatistics
from discreet.mechanisms.posterior_sample import PosteriorSample

__all__ = ["MECHANISMS", "Mechanism", "NoisyStatistics", "PosteriorSample"]

MECHANISMS: dict[str, type[NoisyStatistics] | type[PosteriorSample]] = {
    "NoisyStatistics": NoisyStatistics,
    "PosteriorSample": PosteriorSample,
}
