"""Annealed particles, every update paid."""
