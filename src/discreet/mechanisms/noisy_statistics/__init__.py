"""Exact integer sums with integer noise."""
