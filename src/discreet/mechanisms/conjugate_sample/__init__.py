"""Draws of conjugate posteriors, diffused or concentrated."""

from discreet.mechanisms.conjugate_sample.conjugate_sample import (
    ConcentratedSample,
    ConjugateSample,
    DiffusedSample,
    DirectSample,
)

__all__ = ["ConcentratedSample", "ConjugateSample", "DiffusedSample", "DirectSample"]
