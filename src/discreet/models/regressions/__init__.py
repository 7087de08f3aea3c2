"""Regressions that have their own files."""
