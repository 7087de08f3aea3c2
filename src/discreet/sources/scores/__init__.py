"""Sums of bounded scores of private rows, in whole numbers."""
