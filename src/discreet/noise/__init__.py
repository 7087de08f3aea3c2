"""Additive noise: its laws, which are public, and where privacy randomness comes from (`noise.sources`)."""

from discreet.noise.laws import DiscreteGaussian, DiscreteLaplace, DiscreteNoise, Laplace, NoiseLaw

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "DiscreteNoise", "Laplace", "NoiseLaw"]
