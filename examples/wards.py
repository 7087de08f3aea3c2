"""Rates of many wards from one release: each on its own, and pooled, at no further cost."""

import numpy as np
import pandas as pd

import discreet as dc

WARDS = [f"ward {i}" for i in range(1, 13)]

rng = np.random.default_rng(7)
sizes = rng.integers(20, 2000, len(WARDS))
rates = 1 / (1 + np.exp(-rng.normal(-1.2, 0.4, len(WARDS))))
patients = pd.DataFrame({"ward": np.repeat(WARDS, sizes)})
patients["fall"] = (rng.random(len(patients)) < np.repeat(rates, sizes)).astype(int)

schema = dc.Schema({"ward": dc.Categorical(WARDS), "fall": dc.Binary()})
data = dc.open(patients, schema, id="falls-2026")
ledger = dc.Ledger.create("falls.ledger", dc.Budget(epsilon=1.0))
release = dc.release(dc.BetaBernoulli("fall", by="ward"), data, dc.NoisyStatistics(epsilon=1.0), ledger)

alone, pooled = release.posterior().interval(0.9), release.posterior(pooling="partial").interval(0.9)
print(f"{'ward':<8} {'patients':>8} {'rate':>6}   {'on its own':>14}   {'pooled':>14}")
for ward, size, rate in zip(WARDS, sizes, rates, strict=True):
    own, shared = (f"{low:.3f} to {high:.3f}" for low, high in (alone[ward], pooled[ward]))
    print(f"{ward:<8} {size:>8} {rate:>6.3f}   {own:>14}   {shared:>14}")
