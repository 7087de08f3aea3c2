"""Lemma 1 and its corollary: the posterior given noisy counts tends to the one without noise.

For Beta posteriors with Laplace noise of scale b on both counts, by Taylor's formula,

    KL = γ' ∇²B γ / 2 + …,    N E KL → b² ( (1-p)/p + p/(1-p) )
"""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from discreet.numerics.arrays import Array
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["LEMMA_1"]

P = 0.3
SIZES = (10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000)
EPSILONS = (1.0, 0.3)
NODES = 20  # of each half of the noise
MOST_COUNTS = 24
SHARPEST = 1e-12


def study(setting: Setting) -> Finding:
    """Exact sums over the count and Gauss rules over both noises; counts below zero become zero."""
    rows = [
        {"records": n, **{f"N E KL, epsilon {e:g}": n * expected_divergence(n, 2 / e) for e in EPSILONS},
         "no posterior without projection, epsilon 1": _improper(n, 2.0)}
        for n in SIZES
    ]  # fmt: skip
    limits = {e: (2 / e) ** 2 * ((1 - P) / P + P / (1 - P)) for e in EPSILONS}
    at = {row["records"]: row for row in rows}
    first = at[1000]["N E KL, epsilon 1"]
    simulated, error = _simulated(1000, 2.0, setting.runs)
    gap = abs(at[100_000]["N E KL, epsilon 1"] - limits[1.0])
    mean = [row["N E KL, epsilon 1"] / row["records"] for row in rows]
    claims = (
        close("the limit of N E KL at epsilon = 1", limits[1.0], 11.0476190476, 1e-9),
        close("N E KL at N = 1000, against a grid of quantiles, to about 1%", first, 11.0019, 0.11),
        close("N E KL at N = 1000, against simulated noise", first, simulated, 4 * error),
        close("N E KL at N = 100,000", at[100_000]["N E KL, epsilon 1"], limits[1.0], 0.02),
        holds("E KL falls to zero from N = 10 on", all(b < a for a, b in pairwise(mean)), f"{mean[-1]:.2g} at the end"),
        holds(
            "without projecting counts there is no posterior at all with a probability that falls with N, not to zero",
            all(row["no posterior without projection, epsilon 1"] > 1e-9 for row in rows if row["records"] <= 100),
            f"{at[10]['no posterior without projection, epsilon 1']:.3f} at N = 10, "
            f"{at[100]['no posterior without projection, epsilon 1']:.1g} at 100",
        ),
        holds(
            "the printed bound D ||γ||, without the square, is not a bound: it fails for large noise",
            _exceeds_printed_bound(),
            "noise (30, 0) on Beta(31, 71): KL exceeds D ||γ|| / 2 for the Hessian's largest value D on the way",
        ),
    )
    names = [f"N E KL, epsilon {e:g}" for e in EPSILONS]
    lines = [Line(f"ε = {e:g}", list(SIZES), [row[name] for row in rows], points=True)
             for e, name in zip(EPSILONS, names, strict=True)]  # fmt: skip
    return Finding(
        reported="The Kullback-Leibler divergence between the noisy and the noiseless posterior tends to zero as N "
        "grows.",
        found=f"It does, and the rate can be said: N times its mean tends to {limits[1.0]:.2f} at p = .3 and epsilon "
        f"= 1 ({first:.2f} at N = 1000, remaining gap {gap:.3f} at 100,000). At N = 10 the noise leaves no proper "
        f"posterior with probability {at[10]['no posterior without projection, epsilon 1']:.2f} unless counts are "
        "projected.",
        differs="Taylor's formula gives ||γ||²/2 where Lemma 5 prints ||γ||, and Lemma 8 needs the projection that "
        "its text leaves out. A small divergence in the mean does not make intervals honest at small N: the "
        "library's posterior is the one given the noise.",
        tables={"divergence": rows},
        claims=claims,
        panels=(
            Curves(
                "Noise in the posterior, p = .3",
                "records N",
                "N · E KL",
                lines,
                log_x=True,
                log_y=True,
                levels={f"limit, ε = {e:g}": limit for e, limit in limits.items()},
            ),
        ),
    )


def expected_divergence(n: int, scale: float) -> float:
    """E KL(Beta(x + 1, y + 1) || Beta(k + 1, n - k + 1)), x and y the projected noisy counts."""
    from scipy.stats import binom

    k = np.arange(n + 1)
    chance = binom.pmf(k, n, P)
    k, chance = k[chance > SHARPEST], chance[chance > SHARPEST]
    if k.size > MOST_COUNTS:  # a smooth function of k, summed over equal steps
        k = np.unique(np.rint(np.linspace(k[0], k[-1], MOST_COUNTS)).astype(int))
        chance = binom.pmf(k, n, P)
    total = 0.0
    for ones, weight in zip(k, chance / chance.sum(), strict=True):
        (x, at_x), (y, at_y) = (_projected(float(count), scale) for count in (ones, n - ones))
        kl = _divergence(x[:, None] + 1, y[None, :] + 1, ones + 1.0, n - ones + 1.0)
        total += weight * float(at_x @ kl @ at_y)
    return total


def _simulated(n: int, scale: float, runs: int) -> tuple[float, float]:
    """N times the mean divergence over simulated counts and noises, and its Monte Carlo error."""
    rng = np.random.default_rng(1)
    k = rng.binomial(n, P, runs)
    x, y = (np.maximum(0.0, count + rng.laplace(0, scale, runs)) for count in (k, n - k))
    found = n * _divergence(x + 1, y + 1, k + 1.0, n - k + 1.0)
    return float(found.mean()), float(found.std() / math.sqrt(runs))


def _projected(count: float, scale: float) -> tuple[Array, Array]:
    """Nodes and weights of max(0, count + Laplace(scale))."""
    tail, weights = np.polynomial.laguerre.laggauss(NODES)
    flat, flat_weights = np.polynomial.legendre.leggauss(NODES)
    length = min(count / scale, 40.0)
    t = 0.5 * length * (flat + 1.0)
    values = np.concatenate([[0.0], count - scale * t, count + scale * tail])
    mass = np.concatenate([[0.5 * math.exp(-count / scale)], 0.25 * length * flat_weights * np.exp(-t), 0.5 * weights])
    return values, mass / mass.sum()


def _divergence(a: ArrayLike, b: ArrayLike, a0: ArrayLike, b0: ArrayLike) -> Array:
    """KL of Beta(a, b) from Beta(a0, b0)."""
    from scipy.special import betaln, digamma

    a, b, a0, b0 = (np.asarray(value, dtype=float) for value in (a, b, a0, b0))
    both = digamma(a + b)
    return np.asarray(betaln(a0, b0) - betaln(a, b) + (a - a0) * (digamma(a) - both) + (b - b0) * (digamma(b) - both))


def _improper(n: int, scale: float) -> float:
    """The chance that a count plus its prior 1 plus noise is not above zero, in either of the two."""
    from scipy.stats import binom

    k = np.arange(n + 1)
    one, other = (1 - 0.5 * np.exp(-(count + 1) / scale) for count in (k, n - k))
    return float(binom.pmf(k, n, P) @ (1 - one * other))


def _exceeds_printed_bound() -> bool:
    """Noise on one count: KL against half the largest curvature on the way, times the noise without its square."""
    from scipy.special import polygamma

    a0, b0, move = 31.0, 71.0, 30.0
    kl = float(_divergence(np.array(a0 + move), np.array(b0), a0, b0))
    curvature = float(polygamma(1, a0) - polygamma(1, a0 + b0))  # it falls with a: the largest is at the start
    return move * curvature / 2 < kl <= move**2 * curvature / 2


LEMMA_1 = Reproduction(
    "foulds-lemma-1",
    "Foulds et al. 2016, Lemma 1 and Corollary 2",
    "The noisy posterior tends to the noiseless one, and how fast",
    study,
    runs=100_000,
    steps=60,
)
