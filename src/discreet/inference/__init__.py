"""Free side: likelihoods and samplers given released numbers only."""
