"""Noisy scores of a regression."""
