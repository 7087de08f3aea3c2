"""Theorem 16: at a fixed beta the Gibbs posterior becomes normal, around the estimate, with precision n beta I."""

import math
from itertools import pairwise

import numpy as np

from discreet.studies.minami.logit_normal import posterior_on_grid
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["THEOREM_16"]

BETA, LOG_ODDS = 0.1, 0.5
SIZES = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000)


def study(_: Setting) -> Finding:
    """Example 17 with the share of ones held at sigma(.5)."""
    share = 1 / (1 + math.exp(-LOG_ODDS))
    information = share * (1 - share)
    rows = []
    for n in SIZES:
        theta, mass = posterior_on_grid(n, n * share, BETA)
        mean = float(mass @ theta)
        variance = float(mass @ (theta - mean) ** 2)
        normal = np.exp(-((theta - LOG_ODDS) ** 2) * n * BETA * information / 2)
        row = {"records": n, "n beta I var": n * BETA * information * variance}
        row["centre off, in deviations"] = (mean - LOG_ODDS) / math.sqrt(variance)
        row["total variation"] = 0.5 * float(np.abs(mass - normal / normal.sum()).sum())
        rows.append(row)
    ratio = {row["records"]: row["n beta I var"] for row in rows}
    falls = all(a["total variation"] > b["total variation"] for a, b in pairwise(rows))
    claims = (
        close("n beta I Var at n = 100, where the prior is still felt", ratio[100], 0.721129605602, 1e-9),
        close("at n = 10,000", ratio[10_000], 0.996361082201, 1e-9),
        holds("the distance to the limit falls with n", falls, f"{rows[-1]['total variation']:.4f} at n = 50,000"),
    )
    x = [row["records"] for row in rows]
    spread = Line("n β I Var", x, [row["n beta I var"] for row in rows], points=True)
    distance = Line("total variation", x, [row["total variation"] for row in rows], points=True)
    return Finding(
        reported="The Gibbs posterior is asymptotically normal at the usual rate.",
        found=f"n beta I Var is {ratio[100]:.3f} at n = 100 and {ratio[10_000]:.4f} at 10,000: the variance of a "
        "draw is 1/beta times that of an efficient estimate, however large n is.",
        differs="(C.3) must be centred at the maximum likelihood estimate; the displayed expansion misses the score "
        "term.",
        tables={"limit": rows},
        claims=claims,
        panels=(
            Curves(
                "Variance against its limit, β = 0.1",
                "records",
                "n β I Var",
                [spread],
                log_x=True,
                levels={"limit": 1.0},
            ),
            Curves("Distance to the normal limit", "records", "total variation", [distance], log_x=True, log_y=True),
        ),
    )


THEOREM_16 = Reproduction(
    "minami-theorem-16",
    "Minami et al. 2016, Theorem 16",
    "The limit of a Gibbs posterior at a fixed β",
    study,
    steps=30,
)
