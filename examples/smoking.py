"""How many smoke: a ledger, a plan, a release, and a posterior that knows the noise."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import discreet as dc

rng = np.random.default_rng(1)
patients = pd.DataFrame({"smoker": (rng.random(2000) < 0.23).astype(int)})
data = dc.open(patients, dc.Schema({"smoker": dc.Binary()}), id="patients-2026")

with tempfile.TemporaryDirectory() as folder:
    ledger = dc.Ledger.create(Path(folder) / "study.ledger", dc.Budget(epsilon=1.0))
    model, mechanism = dc.BetaBernoulli("smoker", prior=(1, 1)), dc.NoisyStatistics(epsilon=0.3)
    print(dc.plan(model, mechanism, schema=data.schema))
    release = dc.release(model, data, mechanism, ledger)
    print(release.posterior())
    print(release.posterior("plug-in"))
    print("left:", ledger.remaining())
