"""Given noisy moments of clamped numbers: augmentation of the records, and its limit."""
