"""Exact integer sums with integer noise."""

from discreet.mechanisms.noisy_statistics.noisy_statistics import NoisyStatistics

__all__ = ["NoisyStatistics"]
