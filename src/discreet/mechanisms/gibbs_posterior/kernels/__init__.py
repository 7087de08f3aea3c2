"""Compiled loops over the rows of a loss."""
