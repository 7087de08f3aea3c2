"""Gibbs chains, every update paid."""

from discreet.mechanisms.private_gibbs.private_gibbs import PrivateGibbs

__all__ = ["PrivateGibbs"]
