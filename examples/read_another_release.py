"""A noisy count published elsewhere, with continuous Laplace noise: its exact posterior, without any data."""

import discreet as dc

schema = dc.Schema({"x": dc.Binary()}, n=20)
model = dc.BetaBernoulli("x")
posterior = model.posterior(model.query(schema), {"ones": 9.3}, {"ones": dc.Laplace(1.0)})
print(posterior)
print("evidence", round(float(posterior.log_evidence()), 6))
