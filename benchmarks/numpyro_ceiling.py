"""NUTS on the records themselves by NumPyro: no privacy. In an environment of its own; imports nothing of this project.

Run as a script: `python numpyro_ceiling.py arrays.npz request.json`. It gets samples of records, the target last, and
writes for each the mean and the ends of a 90% interval of the share, the mean, or (constant, slopes), and seconds of
warm-up and draws: one model is compiled for all samples.
"""

import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS

jax.config.update("jax_enable_x64", True)

WIDE = 10.0  # of priors, in half-ranges


def share(records):  # type: ignore[no-untyped-def]
    theta = numpyro.sample("theta", dist.Beta(1.0, 1.0))
    numpyro.sample("records", dist.Bernoulli(theta), obs=records[:, 0])


def line(records):  # type: ignore[no-untyped-def]
    """A constant alone is a mean."""
    theta = numpyro.sample("theta", dist.Normal(0.0, WIDE).expand([records.shape[1]]))
    spread = numpyro.sample("spread", dist.HalfNormal(WIDE))
    numpyro.sample("records", dist.Normal(theta[0] + records[:, :-1] @ theta[1:], spread), obs=records[:, -1])


def main(arrays: str, request: str) -> None:
    with np.load(arrays) as held, open(request) as text:
        samples, asked = held["samples"], json.load(text)
    low, high = np.array(asked["low"]), np.array(asked["high"])
    centre, half = (low + high) / 2, (high - low) / 2
    is_share = asked["kind"] == "share"
    sampler = MCMC(
        NUTS(share if is_share else line),
        num_warmup=asked["warm_up"],
        num_samples=asked["draws"],
        num_chains=asked["chains"],
        chain_method="sequential",
        progress_bar=False,
        jit_model_args=True,
    )
    found = []
    for seed, sample in enumerate([samples[0], *samples]):  # the first run compiles
        records = np.clip(sample, low, high)
        start = time.perf_counter()
        sampler.run(jax.random.PRNGKey(seed), jnp.asarray(records if is_share else (records - centre) / half))
        theta = np.asarray(sampler.get_samples()["theta"], dtype=float)
        seconds = time.perf_counter() - start
        if is_share:
            drawn = theta[:, None]
        else:
            slopes = theta[:, 1:] * half[-1] / half[:-1]
            drawn = np.column_stack([centre[-1] + half[-1] * theta[:, 0] - slopes @ centre[:-1], slopes])
        lower, upper = np.quantile(drawn, (0.05, 0.95), axis=0)
        found.append(
            {
                "estimate": drawn.mean(axis=0).tolist(),
                "lower": lower.tolist(),
                "upper": upper.tolist(),
                "seconds": seconds,
            }
        )
    print(json.dumps(found[1:]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
