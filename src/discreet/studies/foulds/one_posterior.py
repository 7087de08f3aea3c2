"""Figure 1: the posterior of one probability, the law its private draw comes from, and what noisy counts make of it."""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["FIGURE_1"]

N, ONES, TRUNCATION, EPSILON = 20, 6, 0.2, 1.0
RANGE = math.log((1 - TRUNCATION) / TRUNCATION)  # C
TEMPERATURE = 2 * RANGE / EPSILON
MOMENTS = {"p-space": (0.3867632434, 0.01548101188), "logit": (0.3797000144, 0.01593153861)}
NOT_PRIVATE = (0.3181818182, 0.009432267337)
EXACT_LEVEL = 0.828490097086


def figure(setting: Setting) -> Finding:
    """Densities on a grid; the noise of the counts is drawn `runs` times with a fixed seed."""
    from scipy.stats import beta

    rng = np.random.default_rng(1)
    p = np.linspace(0.002, 0.998, 499)
    x, y = (np.maximum(0.0, k + rng.laplace(0, 2 / EPSILON, setting.runs)) for k in (ONES, N - ONES))
    noisy = beta(x[:, None] + 1, y[:, None] + 1).pdf(p)
    exact = beta(ONES + 1, N - ONES + 1)
    ends = np.quantile(noisy, [0.1, 0.9], axis=0)
    laws = {"p-space": _p_space(ONES), "logit": _logit(ONES)}
    moments = {name: _cut_moments(*law) for name, law in laws.items()}
    level = max(_log_ratio(k, k + 1) for k in range(N))
    lines = [
        Line("posterior, not private", p, exact.pdf(p)),
        Line("OPS, density in p tempered", p, _cut_density(p, *laws["p-space"])),
        Line("OPS, density in logit p tempered", p, _cut_density(p, *laws["logit"])),
        Line("noisy counts: mean density, 80% band", p, noisy.mean(axis=0), ends[0], ends[1]),
    ]
    claims = [
        close("mean without privacy", float(exact.mean()), NOT_PRIVATE[0], 5e-11),
        close("variance without privacy", float(exact.var()), NOT_PRIVATE[1], 5e-12),
    ]
    for name, (mean, variance) in MOMENTS.items():
        claims.append(close(f"mean of the law of the draw, {name}", moments[name][0], mean, 5e-10))
        claims.append(close(f"variance of the law of the draw, {name}", moments[name][1], variance, 5e-11))
    claims.append(close("its exact pure level at N = 20, where epsilon = 1 was paid", level, EXACT_LEVEL, 1e-9))
    spread = np.std((x + 1) / (x + y + 2))
    claims.append(
        holds(
            "noisy counts scatter around the posterior, one private law is wider than it",
            moments["p-space"][1] > exact.var() and spread > 0,
            f"deviation of the noisy posteriors' means {spread:.3f}, of the tempered law "
            f"{moments['p-space'][1] ** 0.5:.3f}",
        )
    )
    table = [{"p": v, **{line.name: float(np.asarray(line.y)[i]) for line in lines}} for i, v in enumerate(p.tolist())]
    return Finding(
        reported="At N = 20 with 30% ones and epsilon = 1, posteriors from Laplace-noised counts scatter widely "
        "from one draw of the noise to the next, while one posterior sample comes from a law that is flat and cut, "
        "at T about 2.7.",
        found=f"T = {TEMPERATURE:.4f}. The law of the draw has mean {moments['p-space'][0]:.4f} if the density in p is "
        f"tempered and {moments['logit'][0]:.4f} if that in logit p is; the posterior has {exact.mean():.4f}. "
        f"At N = 20 the draw is {level:.3f}-DP, less than the 1 it is charged.",
        differs="Raising a density to a power depends on the coordinate; the paper uses both forms without saying "
        "so, and the library names the one it uses. The worst case is approached as N grows only. 30 draws of the "
        "noise are ours.",
        tables={"densities": table},
        claims=tuple(claims),
        panels=(Curves("One probability, 6 ones of 20, ε = 1, p from .2 to .8", "p", "density", lines),),
    )


def _p_space(ones: int) -> tuple[float, float]:
    return ones / TEMPERATURE + 1, (N - ones) / TEMPERATURE + 1


def _logit(ones: int) -> tuple[float, float]:
    return (ones + 1) / TEMPERATURE, (N - ones + 1) / TEMPERATURE


def _mass(a: float, b: float) -> float:
    from scipy.special import betainc

    return float(betainc(a, b, 1 - TRUNCATION) - betainc(a, b, TRUNCATION))


def _cut_moments(a: float, b: float) -> tuple[float, float]:
    """Mean and variance of Beta(a, b) on the declared interval, by ratios of incomplete betas."""
    first = a / (a + b) * _mass(a + 1, b) / _mass(a, b)
    second = a * (a + 1) / ((a + b) * (a + b + 1)) * _mass(a + 2, b) / _mass(a, b)
    return first, second - first**2


def _cut_density(p: Array, a: float, b: float) -> NDArray[np.float64]:
    from scipy.stats import beta

    inside = (p >= TRUNCATION) & (p <= 1 - TRUNCATION)
    return np.asarray(np.where(inside, beta(a, b).pdf(p) / _mass(a, b), 0.0))


def _log_ratio(ones: int, other: int) -> float:
    """The largest absolute log-ratio of two neighbours' laws: at one of the ends, where log odds are extreme."""
    from scipy.special import betaln

    normalisers = [float(betaln(*_p_space(k))) + math.log(_mass(*_p_space(k))) for k in (ones, other)]
    return abs(normalisers[1] - normalisers[0]) + RANGE / TEMPERATURE * abs(other - ones)


FIGURE_1 = Reproduction(
    "foulds-figure-1",
    "Foulds et al. 2016, Figure 1",
    "One posterior, its private draw, and noisy counts",
    figure,
    runs=30,
)
