"""Metropolis chains, every acceptance paid."""

from discreet.mechanisms.private_metropolis.private_metropolis import PrivateMetropolis

__all__ = ["PrivateMetropolis"]
