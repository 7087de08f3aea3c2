"""Draws of conjugate posteriors, diffused or concentrated."""
