"""Draws of a tempered posterior on a declared space."""

from discreet.mechanisms.posterior_sample.posterior_sample import PosteriorSample

__all__ = ["PosteriorSample"]
