"""Draws of a Gibbs posterior of a convex loss."""
