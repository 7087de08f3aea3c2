"""Equations (12) and (13): private logistic regression, whose intercept the printed Lipschitz constant forgets."""

import math

import numpy as np

from discreet.accounting.gibbs import LOGISTIC_OF_ONE_FEATURE, Bound, largest_beta
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["LOGISTIC_REGRESSION"]

N, PRECISION, EPSILON, DELTA = 1000, 0.01, 1.0, 1e-5
REFERENCES = (0.322574932649, 0.228094922317, 0.299690266473)


def study(_: Setting) -> Finding:
    """Largest beta as printed, with the intercept, and exact; and the gradient by a search over records."""
    printed = _beta(2.0, "minami-printed")
    counted = _beta(2 * math.sqrt(2), "minami-printed")
    exact = _beta(2 * math.sqrt(2), "gdp")
    searched = _largest_gradient()
    one = largest_beta(EPSILON, DELTA, LOGISTIC_OF_ONE_FEATURE, prior_convexity=N * PRECISION).value
    labels = largest_beta(EPSILON, DELTA, math.sqrt(2), prior_convexity=N * PRECISION).value
    radii = np.geomspace(0.1, 10, 50)
    curves = {
        "printed, L = r": [_beta(2 * r, "minami-printed") for r in radii.tolist()],
        "corrected, L = √(r²+1)": [_beta(2 * math.sqrt(r * r + 1), "minami-printed") for r in radii.tolist()],
        "exact": [_beta(2 * math.sqrt(r * r + 1), "gdp") for r in radii.tolist()],
        "exact, features public": [_beta(math.sqrt(r * r + 1), "gdp") for r in radii.tolist()],
    }
    table = [
        {"case": "printed", "beta": printed},
        {"case": "with the intercept", "beta": counted},
        {"case": "with the intercept, exact profile", "beta": exact},
        {"case": "one feature, no intercept, exact profile", "beta": one},
        {"case": "features public, with the intercept, exact profile", "beta": labels},
    ]
    claims = (
        close("printed beta, n = 1000, lambda = .01, epsilon = 1, delta = 1e-5", printed, REFERENCES[0], 1e-11),
        close("with the intercept", counted, REFERENCES[1], 1e-11),
        close("with the intercept, exact", exact, REFERENCES[2], 1e-11),
        holds(
            "the gradient with an intercept is longer than r: found by search",
            1.4 < searched <= math.sqrt(2) + 1e-12,
            f"{searched:.4f} of sqrt 2 for r = 1",
        ),
        holds(
            "the printed beta with an intercept is too large for its own theorem",
            printed > counted * 1.41,
            f"{printed / counted:.4f} times",
        ),
        holds(
            "public features or one feature alone allow more", min(one, labels) > exact, f"{one:.3f} and {labels:.3f}"
        ),
    )
    return Finding(
        reported="beta = epsilon/(2r) sqrt(n lambda/(1 + 2 log(1/delta))) for logistic regression with an intercept.",
        found=f"The gradient is y sigma(-y(...)) (z, 1), so L = sqrt(r² + 1): {counted:.4f} at r = 1 where "
        f"{printed:.4f} is printed, and {exact:.4f} by the exact profile. A draw at the printed beta is "
        f"{printed / counted:.2f} times further from private than it says.",
        differs="The intercept was left out of the gradient. It must be under the same prior, or there is no guarantee "
        "at all; n enters the prior and must be public; features are clipped to a radius chosen without the data.",
        tables={"beta": table},
        claims=claims,
        panels=(
            Curves(
                "Largest β, n = 1000, λ = .01, ε = 1, δ = 1e-5",
                "radius r of the features",
                "β",
                [Line(name, radii, values) for name, values in curves.items()],
                log_x=True,
                log_y=True,
            ),
        ),
    )


def _beta(gradient: float, bound: Bound) -> float:
    return largest_beta(EPSILON, DELTA, gradient, prior_convexity=N * PRECISION, bound=bound).value


def _largest_gradient() -> float:
    """Length of sigma(-s)(z, 1) over margins s and ||z|| ≤ 1: the supremum is not attained."""
    margins, lengths = np.linspace(-12, 12, 200), np.linspace(0, 1, 50)
    return float(np.max(1 / (1 + np.exp(margins))[:, None] * np.sqrt(lengths**2 + 1)))


LOGISTIC_REGRESSION = Reproduction(
    "minami-logistic",
    "Minami et al. 2016, equations (12) and (13)",
    "Logistic regression: the intercept counts",
    study,
)
