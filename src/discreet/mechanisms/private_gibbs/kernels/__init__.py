"""Compiled sweeps over the cells of an event log."""
