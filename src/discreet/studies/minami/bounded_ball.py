"""Theorem 10 and Corollary 11 with their constant: a strongly convex loss on a closed convex set of any size.

The unspecified C (1 + log(a²/(a²-1))) may be 1: a potential that is m-strongly convex on a convex set satisfies the
log-Sobolev inequality with 1/m on it, because cutting to a convex set does not hurt. With m = n β m_l + m_π,

    KL ≤ a = 2 L² β²/m,   P(log-ratio ≥ ε) ≤ exp(-(ε-a)²/4a),   and a draw is 2 L β/√m-Gaussian DP.
"""

import math

import numpy as np

from discreet.accounting.curves import gaussian_delta
from discreet.accounting.gibbs import gibbs_mu, largest_beta, minami_eta
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["THEOREM_10"]

HALF_WIDTHS = (0.5, 1.0, 2.0, 4.0)
N, BETA = 5, 0.8


def study(_: Setting) -> Finding:
    """Quadratic losses cut to intervals of several widths: exact divergences on a grid against the three bounds."""
    rows = [_on(width) for width in HALF_WIDTHS]
    sizes = np.geomspace(10, 1e5, 40)
    curves = {
        "explicit Corollary 11": [_beta(float(n), "minami") for n in sizes],
        "exact, Gaussian DP": [_beta(float(n), "gdp") for n in sizes],
        "prior alone, m = 1": [largest_beta(1.0, 1e-5, 2.0, prior_convexity=1.0).value for _ in sizes],
    }
    root = _corollary_11(0.1, 1e-3, 2.0, 500, 1.0, 0.0)
    claims = (
        close("β at (1, 1e-5), L = 1, n = 1000, m_l = 1/4, m_π = 1", _corollary_11(1, 1e-5, 1.0, 1000, 0.25, 1.0),
              2.60648616332, 1e-10),
        close("β at (.1, 1e-3), L = 2, n = 500, m_l = 1, m_π = 0", root, 0.0224572453394, 1e-12),
        close("the library's calibration is the same root", _beta(1000.0, "minami"), 2.60648616332, 1e-9),
        holds("KL stays below a on every interval", all(row["KL"] <= row["a"] for row in rows), _told(rows, "KL", "a")),
        holds("the tail stays below its bound", all(row["tail"] <= row["tail bound"] for row in rows),
              _told(rows, "tail", "tail bound")),
        holds("delta stays below the Gaussian one", all(row["delta"] <= row["Gaussian delta"] for row in rows),
              _told(rows, "delta", "Gaussian delta")),
        holds("strong convexity of the loss pays: β grows with n",
              bool(curves["exact, Gaussian DP"][-1] > 100 * curves["prior alone, m = 1"][-1]),
              f"{curves['exact, Gaussian DP'][-1]:.3g} at n = 1e5 against {curves['prior alone, m = 1'][-1]:.3g}"),
    )  # fmt: skip
    return Finding(
        reported="For a strongly convex loss on a ball beta may grow with n, up to a universal constant C and "
        "conditions on the radius.",
        found=f"C (1 + log …) = 1 does, on any closed convex set: beta = {_beta(1000.0, 'minami'):.3f} at (1, 1e-5), "
        f"n = 1000, and {_beta(1000.0, 'gdp'):.3f} by the exact profile. Exact divergences of cut Gaussians stay below "
        "all three bounds on every interval.",
        differs="The paper's C is never given, its condition on the radius has the inequality reversed, and the "
        "variance it bounds is that of theta, not of its length. None of the three is needed.",
        tables={"cut_gaussians": rows, "largest_beta": [
            {"records": n, **{name: values[i] for name, values in curves.items()}} for i, n in enumerate(sizes.tolist())
        ]},
        claims=claims,
        panels=(
            Curves("Largest β at (1, 1e-5), L = 1, m_l = ¼", "records n", "β",
                   [Line(name, sizes, values) for name, values in curves.items()], log_x=True, log_y=True),
            Curves("Cut Gaussians: exact over bound, ε = 1", "half-width of the interval", "ratio",
                   [Line(f"{name}", list(HALF_WIDTHS), [row[name] / row[of] for row in rows], points=True)
                    for name, of in (("KL", "a"), ("tail", "tail bound"), ("delta", "Gaussian delta"))],
                   levels={"bound": 1.0}),
        ),
    )  # fmt: skip


def _corollary_11(epsilon: float, delta: float, lipschitz: float, n: int, loss: float, prior: float) -> float:
    """The root of 2 L² β² = η (n β m_l + m_π)."""
    eta = minami_eta(epsilon, delta)
    linear = eta * n * loss
    return (linear + math.sqrt(linear**2 + 8 * lipschitz**2 * eta * prior)) / (4 * lipschitz**2)


def _beta(n: float, bound: str) -> float:
    found = largest_beta(1.0, 1e-5, 2.0, prior_convexity=1.0, n=round(n), loss_convexity=0.25, bound=bound)  # type: ignore[arg-type]
    return found.value


def _on(width: float) -> dict[str, float]:
    """Records with losses (θ - x)²/2 on [-width, width], |x| ≤ 1: one record from 1 to -1, the others spread."""
    theta = np.linspace(-width, width, 40_001)
    others = np.linspace(-1, 1, N - 1)
    laws = []
    for x in (1.0, -1.0):
        log_mass = -(theta**2) / 2 - BETA * ((theta[:, None] - np.append(others, x)) ** 2).sum(axis=1) / 2
        mass = np.exp(log_mass - log_mass.max())
        laws.append(mass / mass.sum())
    ratio = np.log(laws[0] / laws[1])
    convexity, gradient, epsilon = N * BETA * 1.0 + 1.0, 1.0, 1.0
    a = 2 * (gradient * BETA) ** 2 / convexity
    mu = gibbs_mu(BETA, 2 * gradient, prior_convexity=1.0, n=N, loss_convexity=1.0)
    return {
        "half-width": width,
        "KL": float(laws[0] @ ratio),
        "a": a,
        "tail": float(laws[0][ratio >= epsilon].sum()),
        "tail bound": math.exp(-((epsilon - a) ** 2) / (4 * a)),
        "delta": float(np.maximum(laws[0] - math.exp(epsilon) * laws[1], 0.0).sum()),
        "Gaussian delta": gaussian_delta(mu, epsilon),
    }


def _told(lines: list[dict[str, float]], value: str, bound: str) -> str:
    return "; ".join(f"±{row['half-width']:g}: {row[value]:.3g} of {row[bound]:.3g}" for row in lines)


THEOREM_10 = Reproduction(
    "minami-theorem-10",
    "Minami et al. 2016, Theorem 10 and Corollary 11",
    "Strongly convex losses on a convex set, with the constant",
    study,
    steps=20,
)
