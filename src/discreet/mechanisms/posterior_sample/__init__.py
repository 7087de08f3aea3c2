"""Draws of a tempered posterior on a declared space."""
