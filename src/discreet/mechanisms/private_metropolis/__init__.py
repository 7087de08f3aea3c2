"""Metropolis chains, every acceptance paid."""
