"""Draws of a Gibbs posterior of a convex loss."""

from discreet.mechanisms.gibbs_posterior.gibbs_posterior import GibbsPosterior

__all__ = ["GibbsPosterior"]
