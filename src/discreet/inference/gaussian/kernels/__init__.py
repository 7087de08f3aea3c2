"""Compiled loops of the normal models."""
