"""Convex losses, one file each."""

from discreet.queries.losses.base import CHUNK, Loss, LossKind, Query, Target

__all__ = ["CHUNK", "Loss", "LossKind", "Query", "Target"]
