"""Conversions between privacy notions, and the filters that decide what a budget admits."""
