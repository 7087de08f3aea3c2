"""Given noisy tables of a network: the unseen records."""
