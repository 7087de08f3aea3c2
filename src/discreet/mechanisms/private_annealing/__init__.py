"""Annealed particles, every update paid."""

from discreet.mechanisms.private_annealing.private_annealing import PrivateAnnealing

__all__ = ["PrivateAnnealing"]
