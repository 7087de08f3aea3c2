"""Gibbs chains, every update paid."""
