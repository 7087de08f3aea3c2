"""Naive Bayes from one joint release: which symptoms point to flu, and a prediction for a new patient."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import discreet as dc

rng = np.random.default_rng(2)
flu = rng.random(5000) < 0.1
table = pd.DataFrame(
    {
        "flu": np.where(flu, "yes", "no"),
        "fever": (rng.random(5000) < np.where(flu, 0.8, 0.1)).astype(int),
        "cough": rng.choice(["none", "dry", "wet"], 5000),
    }
)
schema = dc.Schema(
    {"flu": dc.Categorical(["no", "yes"]), "fever": dc.Binary(), "cough": dc.Categorical(["none", "dry", "wet"])}
)
data = dc.open(table, schema, id="triage")

with tempfile.TemporaryDirectory() as folder:
    ledger = dc.Ledger.create(Path(folder) / "triage.ledger", dc.Budget(epsilon=1.0, delta=1e-6))
    release = dc.release(dc.NaiveBayes("flu", ("fever", "cough")), data, dc.NoisyStatistics(rho=0.01), ledger)
    posterior = release.posterior()
    print(posterior)
    print("P(flu | fever, dry cough) =", posterior.predict_proba({"fever": ["1"], "cough": ["dry"]})[0, 1].round(3))
    print(release.guarantee)
