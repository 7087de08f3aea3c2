"""Gaussian posterior of known variance: one draw is the Gaussian mechanism, and clipped records differ by 2Δ."""

import math

import numpy as np

from discreet.accounting.conversions import gaussian_epsilon
from discreet.accounting.divergences import gaussian_mean_mu, gaussian_mean_renyi
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["GAUSSIAN_DRAWS"]

N, VARIANCE, PRIOR, CLIP = 50, 2.0, 1.0, 1.5


def study(_: Setting) -> Finding:
    """The curve by the formula, by the divergence of the two normal laws themselves, and by the paper's reading."""
    given = {"variance": VARIANCE, "prior_variance": PRIOR, "clip": CLIP}
    orders = np.linspace(1.1, 40, 60)
    curve = [gaussian_mean_renyi(N, a, **given) for a in orders.tolist()]
    mu = gaussian_mean_mu(N, **given)
    posterior = 1 / (N / VARIANCE + 1 / PRIOR)
    halved = 10 * CLIP**2 * posterior / (2 * VARIANCE**2)
    quadrature = _quadrature(10.0)
    exact = gaussian_epsilon(mu, 1e-5)
    by_order = float(min(v + math.log(1e5) / (a - 1) for a, v in zip(orders.tolist(), curve, strict=True)))
    claims = (
        close("divergence at order 10", gaussian_mean_renyi(N, 10, **given), 0.432692307692, 1e-11),
        close("the same by integrating the two normal laws", quadrature, 0.432692307692, 1e-9),
        close("the paper's reading, records differ by Δ", halved, 0.108173076923, 1e-11),
        close("as Gaussian DP, mu", mu, 0.294174202707, 1e-11),
        close("the curve is order mu²/2", curve[-1], 40 * mu**2 / 2, 1e-12),
        holds("the paper's reading is four times too small", abs(quadrature / halved - 4) < 1e-8,
              f"{quadrature / halved:.6f}"),
        holds("the exact profile says less than the best order at delta = 1e-5", exact < by_order,
              f"{exact:.3f} against {by_order:.3f}"),
    )  # fmt: skip
    lines = [
        Line("records in [-Δ, Δ]: 2Δ apart", orders, curve),
        Line("as printed, Δ apart", orders, [value / 4 for value in curve]),
        Line("integrated, order 10", [10.0], [quadrature], points=True),
    ]
    return Finding(
        reported="For a Gaussian mean of known variance the divergence is lambda Δ² v/(2 sigma⁴), records clipped to "
        "[-Δ, Δ].",
        found=f"Two records clipped to [-Δ, Δ] are up to 2Δ apart: {quadrature:.4f} at order 10 where {halved:.4f} is "
        f"printed. It is the curve of Gaussian DP with mu = {mu:.4f}, which at delta = 1e-5 means epsilon = "
        f"{exact:.3f}, not {by_order:.3f}.",
        differs="The paper's Δ is the distance in one place and the bound in another.",
        tables={"curve": [{"order": a, "divergence": v} for a, v in zip(orders.tolist(), curve, strict=True)]},
        claims=claims,
        panels=(Curves("One draw of a mean, n = 50, σ² = 2, Δ = 1.5", "order λ", "Rényi divergence", lines),),
    )


def _quadrature(order: float) -> float:
    """The log of ∫ p^a q^(1-a) / (a - 1) of the posteriors of neighbours, by the trapezoid rule."""
    v = 1 / (N / VARIANCE + 1 / PRIOR)
    shift = v / VARIANCE * 2 * CLIP
    x = np.linspace(-20, 20, 400_001) * math.sqrt(v) + order * shift / 2
    log_p, log_q = (-((x - centre) ** 2) / (2 * v) for centre in (shift, 0.0))
    integrand = np.exp(order * log_p + (1 - order) * log_q) / math.sqrt(2 * math.pi * v)
    return math.log(float(np.trapezoid(integrand, x))) / (order - 1)


GAUSSIAN_DRAWS = Reproduction(
    "geumlek-gaussian",
    "Geumlek et al. 2017, appendix A.6.2",
    "Gaussian posteriors: clipped records are twice as far apart",
    study,
)
