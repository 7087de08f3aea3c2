"""NUTS on the records themselves by PyMC: no privacy. In an environment of its own; imports nothing of this project.

Run as a script: `python pymc_ceiling.py arrays.npz request.json`. Goes in and comes out what `numpyro_ceiling.py` says;
the same models and priors.
"""

import json
import logging
import sys
import time

import numpy as np
import pymc as pm

WIDE = 10.0  # of priors, in half-ranges


def model_of(is_share: bool, width: int) -> pm.Model:
    with pm.Model() as model:
        records = pm.Data("records", np.zeros((1, width)))
        if is_share:
            theta = pm.Beta("theta", 1.0, 1.0)
            pm.Bernoulli("seen", theta, observed=records[:, 0])
        else:
            theta = pm.Normal("theta", 0.0, WIDE, shape=width)
            spread = pm.HalfNormal("spread", WIDE)
            middle = theta[0] + records[:, :-1] @ theta[1:] if width > 1 else theta[0]
            pm.Normal("seen", middle, spread, observed=records[:, -1])
    return model


def main(arrays: str, request: str) -> None:
    logging.getLogger("pymc").setLevel(logging.ERROR)
    with np.load(arrays) as held, open(request) as text:
        samples, asked = held["samples"], json.load(text)
    low, high = np.array(asked["low"]), np.array(asked["high"])
    centre, half = (low + high) / 2, (high - low) / 2
    is_share = asked["kind"] == "share"
    model, found = model_of(is_share, low.size), []
    for seed, sample in enumerate([samples[0], *samples]):  # the first run compiles
        records = np.clip(sample, low, high)
        start = time.perf_counter()
        with model:
            pm.set_data({"records": records if is_share else (records - centre) / half})
            drawn = pm.sample(
                asked["draws"],
                tune=asked["warm_up"],
                chains=asked["chains"],
                cores=1,
                random_seed=seed,
                progressbar=False,
                compute_convergence_checks=False,
            )
        theta = drawn.posterior["theta"].to_numpy()
        theta = theta.reshape(-1, low.size)
        seconds = time.perf_counter() - start
        if not is_share:
            slopes = theta[:, 1:] * half[-1] / half[:-1]
            theta = np.column_stack([centre[-1] + half[-1] * theta[:, 0] - slopes @ centre[:-1], slopes])
        lower, upper = np.quantile(theta, (0.05, 0.95), axis=0)
        found.append(
            {
                "estimate": theta.mean(axis=0).tolist(),
                "lower": lower.tolist(),
                "upper": upper.tolist(),
                "seconds": seconds,
            }
        )
    print(json.dumps(found[1:]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
