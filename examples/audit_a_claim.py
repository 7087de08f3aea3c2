"""Attack a mechanism: the loss that is certain stays below the claim, and a wrong claim is found out."""

import discreet as dc

schema = dc.Schema({"smoker": dc.Binary()}, n=10)
model = dc.BetaBernoulli("smoker")

honest = dc.audit(model, dc.NoisyStatistics(epsilon=1.0), schema=schema, runs=4000, seed=1)
print("claimed epsilon = 1:", honest)
assert honest.epsilon <= 1.0

careless = dc.audit(model, dc.NoisyStatistics(epsilon=2.0), schema=schema, runs=4000, seed=1)
print("noise for epsilon = 2, sold as epsilon = 1:", careless)
assert careless.epsilon > 1.0
