"""Given one noisy sum of clamped records: its characteristic function, inverted."""
