"""NUTS on the unseen moments of a release, in an environment of its own: numpyro_fit.py target.npz WARM-UP DRAWS.

The target is that of `inference/gaussian`, written once more in JAX for weak priors and a public number of rows; the
covariance is sampled by its Cholesky factor with the logarithms of the diagonal, as is usual. Prints as JSON the least
effective sample size of points, covariances and slopes, the seconds of warm-up and draws after compiling, and those of
compiling; `gap` is how far differences of the two log-densities between the starting points are apart.
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


def main() -> None:
    held = dict(np.load(sys.argv[1]))
    points, covariances = jnp.asarray(held.pop("points")), jnp.asarray(held.pop("covariances"))
    densities = held.pop("log_densities")
    density = density_of({name: jnp.asarray(array) for name, array in held.items()})
    ours = jax.vmap(density)(points, covariances)
    gap = np.max(np.abs(np.diff(np.asarray(ours) - densities)))
    p = covariances.shape[-1]
    potential = potential_of(density, p)
    starts = jax.vmap(lambda x, within: jnp.concatenate([x, of_covariance(within)]))(points, covariances)
    numpyro.set_host_device_count(1)
    sampler = MCMC(
        NUTS(potential_fn=potential, dense_mass=True),
        num_warmup=int(sys.argv[2]),
        num_samples=int(sys.argv[3]),
        num_chains=len(starts),
        chain_method="vectorized",
        progress_bar=False,
    )
    first, found = run(sampler, starts, 0)
    again, found = run(sampler, starts, 0)  # the same draws once more: what it took longer before is compiling
    factors = jax.vmap(jax.vmap(lambda theta: factor_of(theta[points.shape[1] :], p)))(found)
    moments = np.asarray(factors @ jnp.swapaxes(factors, -1, -2))[..., *np.tril_indices(p)]
    drawn = np.concatenate([found[..., : points.shape[1]], moments], axis=-1)
    print(
        json.dumps(
            {
                "ess": float(np.min(effective_sample_size(drawn))),
                "rhat": float(np.max(split_gelman_rubin(drawn))),
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


def of_covariance(within):  # type: ignore[no-untyped-def]
    """Coordinates of a covariance: its Cholesky factor, the diagonal in logarithms."""
    factor = jnp.linalg.cholesky(within)
    factor = factor + jnp.diag(jnp.log(jnp.diag(factor)) - jnp.diag(factor))
    return factor[jnp.tril_indices(len(within))]


def factor_of(coordinates, p):  # type: ignore[no-untyped-def]
    """The Cholesky factor."""
    factor = jnp.zeros((p, p)).at[jnp.tril_indices(p)].set(coordinates)
    return factor + jnp.diag(jnp.exp(jnp.diag(factor)) - jnp.diag(factor))


def potential_of(density, p):  # type: ignore[no-untyped-def]
    """Minus the log-density of the coordinates: d W = Π L_ii^(p - i) d L, i from 0, and L_ii d log L_ii."""
    width = p * (p + 1) // 2

    def potential(theta):  # type: ignore[no-untyped-def]
        factor = factor_of(theta[-width:], p)
        volume = jnp.sum((p - jnp.arange(p) + 1.0) * jnp.log(jnp.diag(factor)))
        value = density(theta[:-width], factor @ factor.T) + volume
        return jnp.where(jnp.isnan(value), jnp.inf, -value)

    return potential


def density_of(held):  # type: ignore[no-untyped-def]
    """The log-density of a point and a covariance."""
    links, basis, n = held["links"], held["basis"], held["size"]
    p, slopes, whole = held["low"].size, float(held["slopes"]), held["whole"]
    features = p - 1 if slopes > 0 else p
    i, j = held["first"], held["second"]

    def density(x, within):  # type: ignore[no-untyped-def]
        at, width = links.shape[1], basis.shape[1]
        shares = jax.nn.softmax(links @ x[:at]) if at else jnp.ones(links.shape[0])
        etas = x[at : at + p * width].reshape(p, width)
        means = jnp.tanh(etas @ basis.T)
        room = jnp.sum(shares / jnp.cosh(etas @ basis.T) ** 2, axis=1)
        one = jnp.where((i >= 0)[:, None], means[i], 1.0) * jnp.where((j >= 0)[:, None], means[j], 1.0)
        total = jnp.sum(held["members"] * shares * one, axis=1) + jnp.where(j >= 0, within[i, j], 0.0)
        gap = (held["value"] - n * total) / held["scale"]
        value = -jnp.sum(jnp.where(held["laplace"], jnp.abs(gap), 0.5 * gap**2))
        value += jnp.sum((held["high"] - 1.0) * jnp.log(room - jnp.diag(within)))
        value -= jnp.sum((held["low"] + held["high"] - 1.0) * jnp.log(room))
        own, inner = jnp.diag(within)[:features], within[:features, :features]
        log_inner = jnp.linalg.slogdet(inner)[1] if features else 0.0
        value += jnp.sum((held["low"][:features] - 0.5 * (features + 1.0) - whole) * jnp.log(own))
        value += whole * log_inner
        if slopes > 0:
            beta = jnp.linalg.solve(inner, within[:features, -1])
            residual = within[-1, -1] - beta @ within[:features, -1]
            value += (held["low"][-1] - 1.0) * jnp.log(residual) - log_inner - jnp.sum(jnp.log1p((beta / slopes) ** 2))
        value -= 2.0 * held["means"] * jnp.sum(jnp.logaddexp(etas, -etas))
        if links.shape[1]:
            value += jnp.sum(held["concentration"] * jnp.log(shares))
        return value

    return density


if __name__ == "__main__":
    main()
