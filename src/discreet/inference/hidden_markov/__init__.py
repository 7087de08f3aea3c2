"""Given noisy tables of an event log: hidden states, profiles, transitions."""
