"""Blood pressure on age and weight: one release of noisy moments, and intervals that know the noise in them."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import discreet as dc

TRUTH = {"intercept": 70.0, "age": 0.4, "bmi": 1.2}

rng = np.random.default_rng(3)
people = pd.DataFrame({"age": rng.normal(50, 12, 5000), "bmi": rng.normal(26, 4, 5000)})
people["pressure"] = 70 + 0.4 * people["age"] + 1.2 * people["bmi"] + rng.normal(0, 10, 5000)

# public bounds, from what is known of people and not from these ones; the prior's slopes are 0 ± 10 error deviations
columns = {"age": dc.Bounded(0, 100), "bmi": dc.Bounded(8, 44), "pressure": dc.Bounded(50, 200)}
prior = ((100, 0, 0), ((0.01, 0, 0), (0, 0.01, 0), (0, 0, 0.01)), 3, 300)
data = dc.open(people, dc.Schema(columns), id="people-2026")
model = dc.LinearRegression("pressure", ("age", "bmi"), prior=prior)

with tempfile.TemporaryDirectory() as folder:
    ledger = dc.Ledger.create(Path(folder) / "study.ledger", dc.Budget(epsilon=1.0))
    release = dc.release(model, data, dc.NoisyStatistics(epsilon=1.0), ledger)

known, naive = (release.posterior(kind).interval(0.9)["coefficients"] for kind in ("noise-aware", "plug-in"))
print(f"{'coefficient':<12} {'truth':>6}   {'knows the noise':>16}   {'plug-in':>16}")
for i, (name, value) in enumerate(TRUTH.items()):
    own, other = (f"{lower[i]:6.2f} to {upper[i]:6.2f}" for lower, upper in (known, naive))
    print(f"{name:<12} {value:>6.1f}   {own:>16}   {other:>16}")
