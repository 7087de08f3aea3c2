"""Given the likelihoods of groups: the population they come from."""
