"""Proposition 13: how many Langevin steps a convergence proof asks for, and the chain that needs no convergence."""

import math
from typing import Any

import numpy as np

from discreet.accounting.curves import gaussian_delta
from discreet.accounting.gibbs import gibbs_mu, langevin_mu
from discreet.guarantee import ApproxDP, Within
from discreet.studies.panels import Curves, Line
from discreet.studies.proposition13 import distance_bound, langevin_schedule, shorter_schedule
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["PROPOSITION_13"]

A: dict[str, Any] = {"dimension": 2, "convexity": 1.0, "smoothness": 100 * 0.05 * 0.25 + 1.0}
B: dict[str, Any] = {"dimension": 10, "convexity": 10.0, "smoothness": 1000 * 0.1 * 0.5 + 10.0}


def study(_: Setting) -> Finding:
    """Schedules in the two settings of the notes, and the exact total variation on a quadratic after them."""
    first, best, second = langevin_schedule(0.01, **A), shorter_schedule(0.01, **A), langevin_schedule(1e-3, **B)
    tolerances = np.geomspace(1e-4, 0.4, 40)
    counts: dict[str, list[float]] = {
        "printed": [langevin_schedule(g, **B).steps * B["convexity"] for g in tolerances.tolist()],
        "corrected": [langevin_schedule(g, **B).steps for g in tolerances.tolist()],
        "best α": [shorter_schedule(g, **B).steps for g in tolerances.tolist()],
    }
    steps = np.unique(np.geomspace(1, 3000, 60).round())
    h = 1 / B["smoothness"]
    chain = [langevin_mu(0.1 * 2, h, float(t), convexity=B["convexity"], smoothness=B["smoothness"]) for t in steps]
    exact = gibbs_mu(0.1, 2.0, prior_convexity=B["convexity"])
    within = Within(ApproxDP(1.0, 1e-6), 1e-7).delta(1.0), Within(ApproxDP(0.5, 1e-5), 1e-6).delta(0.5)
    weak: dict[str, Any] = {"dimension": 2, "convexity": 0.01, "smoothness": 1.0}
    short = langevin_schedule(0.1, **weak)
    far = _distance(short.step, math.ceil(short.steps * 0.01)), _distance(short.step, short.steps)
    claims = (
        close("step, setting A", first.step, 9.85557981192e-07, 1e-17),
        close("steps, setting A", first.steps, 10168119, 0.5),
        close("steps with the best alpha", best.steps, 5084071, 0.5),
        close("steps, setting B", second.steps, 186720876184, 0.5),
        close("printed steps in B are m = 10 times as many", second.steps * 10, 1.867e12, 1e9),
        close("Proposition 12, (1, 1e-6) within 1e-7", within[0], 1.37182818285e-06, 1e-16),
        close("Proposition 12, (.5, 1e-5) within 1e-6", within[1], 1.26487212707e-05, 1e-15),
        holds(
            "for m = .01 the printed number is too small: total variation on a quadratic",
            far[0] > 0.3 and far[1] <= 0.1,
            f"{far[0]:.3f} after the printed, {far[1]:.4f} after the corrected number, tolerance .1",
        ),
        holds(
            "the schedules meet the theorem's bound",
            max(distance_bound(s, **A) for s in (first, best)) <= 0.01 * (1 + 1e-9),
            "both terms together",
        ),
        holds(
            "from a public start the chain is private after every number of steps, never more than an exact draw",
            max(chain) <= exact * (1 + 1e-9),
            f"mu {chain[-1]:.4f} after {steps[-1]:.0f} steps, exact draw {exact:.4f}",
        ),
    )
    return Finding(
        reported="Langevin Monte Carlo is within gamma of the posterior after T steps, so that it is (epsilon, "
        "delta + (1 + e^epsilon) gamma)-DP.",
        found=f"In a small problem (d = 2, n = 100) it takes {first.steps:,} steps, {best.steps:,} with the best "
        f"alpha; with d = 10, n = 1000 {second.steps:.3g}. The library starts from a public point and pays for what "
        f"the steps show: {chain[-1] / exact:.4f} of an exact draw's mu after {steps[-1]:.0f} steps, and no proof of "
        "convergence.",
        differs="The printed T has m where m² belongs: too few steps for m < 1. The start from N(theta*, I/M) is left "
        "out. The statement holds at step T, not from T on, because the discretisation error grows.",
        tables={
            "steps": [
                {"tolerance": g, **{name: float(values[i]) for name, values in counts.items()}}
                for i, g in enumerate(tolerances.tolist())
            ],
            "privacy": [
                {"steps": t, "mu": mu, "delta(1)": gaussian_delta(mu, 1.0)}
                for t, mu in zip(steps.tolist(), chain, strict=True)
            ],
        },
        claims=claims,
        panels=(
            Curves(
                "Steps that a convergence proof asks for, d = 10, n = 1000",
                "tolerance γ",
                "steps T",
                [Line(name, tolerances, values) for name, values in counts.items()],
                log_x=True,
                log_y=True,
            ),
            Curves(
                "Privacy without convergence, h = 1/M",
                "steps",
                "μ of the last iterate",
                [Line("Langevin from a public start", steps, chain)],
                log_x=True,
                levels={"one exact draw": exact},
            ),
        ),
    )


def _distance(step: float, steps: int) -> float:
    """Exact total variation on the quadratic with precisions .01 and 1, from N(0, I)."""
    deviations = []
    for precision in (0.01, 1.0):
        kept = (1 - step * precision) ** 2
        limit = 2 * step / (1 - kept)
        deviations.append(math.sqrt(limit + kept**steps * (1.0 - limit)))
    laws = []
    for by in (deviations, [10.0, 1.0]):
        axes = [np.linspace(-60, 60, 1201), np.linspace(-8, 8, 401)]
        one, other = (np.exp(-((x / s) ** 2) / 2) for x, s in zip(axes, by, strict=True))
        laws.append(np.outer(one / one.sum(), other / other.sum()))
    return float(np.abs(laws[0] - laws[1]).sum() / 2)


PROPOSITION_13 = Reproduction(
    "minami-proposition-13",
    "Minami et al. 2016, Propositions 12 and 13",
    "Steps until convergence, and a chain that needs none",
    study,
    steps=20,
)
