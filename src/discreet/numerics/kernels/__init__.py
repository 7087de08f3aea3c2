"""Compiled loops that both sides use."""
