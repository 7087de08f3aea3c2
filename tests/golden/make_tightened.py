"""Releases whose certificates accounting 2 tightened, as accounting 1 wrote them: `accounting_1/`, kept for good.

Run once at commit 13a8927, the last of accounting 1: `python make_tightened.py FOLDER`. Later versions read the files
(tests/test_tightened_certificates.py) and never write them again.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

import discreet as dc
from discreet.ledger.events import request_key
from discreet.pipeline import query_of
from discreet.release import recipe_of

ROWS = 30
SCHEMA = dc.Schema(
    {
        "smoker": dc.Binary(),
        "ward": dc.Categorical(["a", "b", "c"]),
        "visits": dc.Count(8),
        "wait": dc.Bounded(0.5, 5.0, grid=0.25),
        "age": dc.Bounded(0, 100),
    },
    n=ROWS,
)
WARD = dc.DirichletCategorical("ward", prior=(6.0, 3.0, 4.0))
VISITS, WAIT = dc.GammaPoisson("visits", prior=(40.0, 10.0)), dc.GammaExponential("wait", prior=(2.0, 60.0))
CASES = {
    "dirichlet direct": (WARD, dc.DirectSample()),
    "dirichlet direct of 3": (WARD, dc.DirectSample(draws=3)),
    "dirichlet diffused": (WARD, dc.DiffusedSample(epsilon=1.0, delta=1e-6)),
    "poisson direct": (VISITS, dc.DirectSample()),
    "poisson concentrated": (VISITS, dc.ConcentratedSample(epsilon=1.0, delta=1e-6)),
    "exponential direct": (WAIT, dc.DirectSample()),
    "exponential diffused": (WAIT, dc.DiffusedSample(epsilon=1.0, delta=1e-6)),
    "posterior sample of 10": (dc.BetaBernoulli("smoker"), dc.PosteriorSample(epsilon=0.3, truncation=0.05, draws=10)),
    "gibbs on a ball of 4": (
        dc.LogisticRegression("smoker", ("age",), ball=1.0),
        dc.GibbsPosterior(epsilon=2.0, sampler="exact", draws=4),
    ),
}


def table() -> pd.DataFrame:
    """Any rows."""
    rng = np.random.default_rng(16)
    return pd.DataFrame(
        {
            "smoker": rng.integers(0, 2, ROWS),
            "ward": rng.choice(["a", "b", "c"], ROWS),
            "visits": rng.integers(0, 9, ROWS),
            "wait": rng.uniform(0.5, 5.0, ROWS),
            "age": rng.uniform(0, 100, ROWS),
        }
    )


def make(folder: Path) -> None:
    """Every case, released and stored; and once more under another label, reserved and never answered."""
    ledger = dc.Ledger.create(folder / "tightened.ledger", dc.Budget(1e4, 1e-2), filter="approximate")
    index: dict[str, object] = {}
    for name, (model, mechanism) in CASES.items():
        release = dc.release(model, dc.open(table(), SCHEMA, id="tightened"), mechanism, ledger)
        file = f"{name.replace(' ', '-')}.json"
        release.save(folder / file)
        guarantee = release.guarantee
        index[name] = {
            "file": file,
            "key": request_key(release.recipe),
            "epsilons": {repr(delta): guarantee.epsilon(delta) for delta in (1e-9, 1e-6, 1e-3)},
            "fractions": list(mechanism.fractions(release.query)) if hasattr(mechanism, "fractions") else None,
        }
        unanswered = replace(mechanism, label="unanswered")
        recipe = recipe_of(model, "tightened", SCHEMA, unanswered)
        ledger.reserve(unanswered.guarantee(query_of(model, unanswered, SCHEMA)), recipe)
    index["head"] = ledger.head()
    (folder / "index.json").write_text(json.dumps(index, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
