"""Example 17: one probability with a normal prior on its log odds."""

import math

import numpy as np

from discreet.accounting.gibbs import largest_beta
from discreet.numerics.arrays import Array
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["EXAMPLE_17", "posterior_on_grid"]

EPSILON, DELTA, N = 0.1, 1e-3, 10


def study(_: Setting) -> Finding:
    """Exact profiles by summation on a grid of log odds, over all neighbouring counts in both orders."""
    printed = largest_beta(EPSILON, DELTA, 2.0, prior_convexity=1.0, bound="minami-printed").value
    sharper = largest_beta(EPSILON, DELTA, 1.0, prior_convexity=1.0, bound="minami-printed").value
    exact = largest_beta(EPSILON, DELTA, 1.0, prior_convexity=1.0).value
    betas = {"printed β": printed, "β by G = 1": sharper, "exact β": exact}
    epsilons = np.linspace(0.0, 0.25, 26)
    rows = [{"epsilon": e, **{name: worst_delta(beta, e) for name, beta in betas.items()}} for e in epsilons.tolist()]
    at, at_printed = worst_delta(exact, EPSILON), worst_delta(printed, EPSILON)
    claims = (
        close("printed beta", printed, 0.0129900760361, 1e-12),
        close("with the gradient difference G = 1", sharper, 0.0259801520721, 1e-12),
        close("exact", exact, 0.0574567476133, 1e-12),
        close("variance factor 1/beta of the printed one, printed as 83", 1 / printed, 76.98, 0.005),
        close("true delta at the exact beta, n = 10, target 1e-3", at, 0.000756097512821, 1e-9),
        holds("true delta at the printed beta is far below the target", at_printed < 1e-10, f"{at_printed:.2g}"),
    )
    lines = [Line(name, epsilons, [row[name] if row[name] > 1e-9 else np.nan for row in rows]) for name in betas]
    return Finding(
        reported="beta = 0.012 at (0.1, 1e-3), which multiplies the variance by 83.",
        found=f"The formula gives {printed:.5f}, a factor of {1 / printed:.1f}. Two records' gradients differ by at "
        f"most 1, not 2, and the exact condition allows {exact:.5f}: {exact / printed:.1f} times more, at a true "
        f"delta of {at:.2g}.",
        differs="The printed number is cut, not rounded, and the factor is that of 0.012. The bound of the "
        "corollary is loose here by a factor of four.",
        tables={"profiles": rows},
        claims=claims,
        panels=(
            Curves(
                "True privacy of one draw, n = 10, prior N(0, 1)", "ε", "δ", lines, log_y=True, levels={"target": DELTA}
            ),
        ),
    )


def posterior_on_grid(n: int, ones: float, beta: float) -> tuple[Array, Array]:
    """Log odds and their posterior masses."""
    theta = np.linspace(-9, 9, 18_001)
    log_mass = -(theta**2) / 2 + beta * (ones * theta - n * np.logaddexp(0, theta))
    mass = np.exp(log_mass - log_mass.max())
    return theta, mass / mass.sum()


def worst_delta(beta: float, epsilon: float) -> float:
    """The largest surplus mass over all neighbouring counts, both orders."""
    laws = [posterior_on_grid(N, k, beta)[1] for k in range(N + 1)]
    factor = math.exp(epsilon)
    pairs = [(k, k + 1) for k in range(N)] + [(k + 1, k) for k in range(N)]
    return float(max(np.maximum(laws[a] - factor * laws[b], 0.0).sum() for a, b in pairs))


EXAMPLE_17 = Reproduction(
    "minami-example-17", "Minami et al. 2016, Example 17", "A probability with a logit-normal prior", study, steps=120
)
