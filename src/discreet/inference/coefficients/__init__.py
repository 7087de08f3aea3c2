"""Given drawn coefficients: the limit law of a draw."""
