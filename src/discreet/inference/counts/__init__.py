"""Given noisy counts: sums over the true ones."""
