"""Compiled loops over records and counts of a network."""
