"""Private Bayesian posteriors."""
