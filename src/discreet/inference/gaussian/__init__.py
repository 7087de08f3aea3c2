"""Given noisy moments of clamped numbers: the unseen moments of the rows, and from them the population's."""
