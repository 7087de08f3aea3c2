"""Compiled loops over hidden states and counts."""
