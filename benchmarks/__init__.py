"""Ratios against a peer or a limit measured in the same run. `make bench`; a missed target is printed as LOST."""
