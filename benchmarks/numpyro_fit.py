"""NUTS on the unseen moments of a release; runs in an environment of its own: python numpyro_fit.py target.npz.

The target is that of `inference/gaussian`, written once more in JAX for weak priors and a public number of rows. Prints
as JSON the smallest effective sample size, the seconds of warm-up and draws after compiling, and those of compiling;
`gap` is how far differences of the two log-densities between the starting points are apart.
"""

import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC, NUTS

jax.config.update("jax_enable_x64", True)
WARM_UP, DRAWS = 500, 1000


def main() -> None:
    held = dict(np.load(sys.argv[1]))
    starts, densities = jnp.asarray(held.pop("starts")), held.pop("log_densities")
    potential = potential_of({name: jnp.asarray(array) for name, array in held.items()})
    ours = -jax.vmap(potential)(starts)
    gap = np.max(np.abs(np.diff(np.asarray(ours) - densities)))
    numpyro.set_host_device_count(1)
    sampler = MCMC(
        NUTS(potential_fn=potential, dense_mass=True),
        num_warmup=WARM_UP,
        num_samples=DRAWS,
        num_chains=len(starts),
        chain_method="vectorized" if len(starts) > 1 else "parallel",
        progress_bar=False,
    )
    first, found = run(sampler, starts, 0)
    again, found = run(sampler, starts, 1)
    print(
        json.dumps(
            {
                "ess": float(np.min(effective_sample_size(found))),
                "rhat": float(np.max(split_gelman_rubin(found))),
                "seconds": again,
                "compiling": first - again,
                "gap": float(gap),
            }
        )
    )


def run(sampler: MCMC, starts: jax.Array, seed: int) -> tuple[float, np.ndarray]:
    """Seconds of warm-up and draws, and the draws (chains, draws, coordinates)."""
    start = time.perf_counter()
    sampler.run(jax.random.PRNGKey(seed), init_params=starts)
    found = np.asarray(sampler.get_samples(group_by_chain=True))
    return time.perf_counter() - start, found


def potential_of(held):  # type: ignore[no-untyped-def]
    """Minus the log-density of a point."""
    links, basis, n = held["links"], held["basis"], held["size"]
    p, slopes, lkj = held["low"].size, float(held["slopes"]), held["lkj"]
    features = p - 1 if slopes > 0 else p
    i, j = held["first"], held["second"]

    def potential(theta):  # type: ignore[no-untyped-def]
        at = links.shape[1]
        shares = jax.nn.softmax(links @ theta[:at]) if at else jnp.ones(links.shape[0])
        width = basis.shape[1]
        etas = theta[at : at + p * width].reshape(p, width)
        means = jnp.tanh(etas @ basis.T)
        room = jnp.sum(shares / jnp.cosh(etas @ basis.T) ** 2, axis=1)
        at += p * width
        rows, bent = [], 0.0
        for k in range(features):
            own = jnp.sqrt(room[k] * held["hidden"][k] * jax.nn.softplus(theta[at + k]))
            bent += log_bend(theta[at + k])
            rows.append(jnp.concatenate([own * theta[at : at + k], own[None], jnp.zeros(p - k - 1)]))
            at += k + 1
        value = 0.0
        if slopes > 0:
            b = theta[at : at + features]
            residual = jnp.sqrt(room[-1] * held["hidden"][-1] * jax.nn.softplus(theta[at + features]))
            bent += log_bend(theta[at + features])
            line = slopes * jnp.sinh(b) @ jnp.stack(rows) if features else jnp.zeros(p)
            rows.append(line.at[p - 1].set(residual))
            value += -jnp.sum(log_cosh(b))
            low, high, whole = held["low"][-1], held["high"][-1], jnp.sum(rows[-1] ** 2)
            value += 2 * low * jnp.log(residual) + (high - 1) * jnp.log(room[-1] - whole)
            value += -(low + high - 1) * jnp.log(room[-1])
        factor = jnp.stack(rows)
        within = factor @ factor.T
        one = jnp.where((i >= 0)[:, None], means[i], 1.0) * jnp.where((j >= 0)[:, None], means[j], 1.0)
        total = jnp.sum(held["members"] * shares * one, axis=1) + jnp.where(j >= 0, within[i, j], 0.0)
        gap = (held["value"] - n * total) / held["scale"]
        value += -jnp.sum(jnp.where(held["laplace"], jnp.abs(gap), 0.5 * gap**2))
        for k in range(features):
            low, high, own = held["low"][k], held["high"][k], within[k, k]
            value += (features + 1.0 + 2.0 * (lkj - 1.0)) * jnp.log(factor[k, k])
            value += (low - 1.0 - 0.5 * (features - 1.0) - (lkj - 1.0)) * jnp.log(own)
            value += (high - 1.0) * jnp.log(room[k] - own) - (low + high - 1.0) * jnp.log(room[k])
        value += bent - 2.0 * held["means"] * jnp.sum(log_cosh(etas))
        if links.shape[1]:
            value += jnp.sum(held["concentration"] * jnp.log(shares))
        return jnp.where(jnp.isnan(value), jnp.inf, -value)

    return potential


def log_bend(s):  # type: ignore[no-untyped-def]
    """Log-derivative of log L_ii in its coordinate, up to a constant."""
    return jax.nn.log_sigmoid(s) - jnp.log(jax.nn.softplus(s))


def log_cosh(x):  # type: ignore[no-untyped-def]
    return jnp.logaddexp(x, -x) - jnp.log(2.0)


if __name__ == "__main__":
    main()
