"""Compiled loops over the rows of a score."""
