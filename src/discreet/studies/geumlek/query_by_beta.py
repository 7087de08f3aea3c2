"""A statistical query answered by a draw of a Beta law, against integer noise on the same sum."""

import math

import numpy as np

from discreet.accounting.divergences import concentrated_shrink, diffused_scale, dirichlet_divergence, dirichlet_renyi
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["STATISTICAL_QUERY"]

PRIOR, N, ORDER = (6.0, 12.0), 100, 15.0
TRUTH = 0.4
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def study(setting: Setting) -> Finding:
    """Root mean squared error of the answer by both fractions, exactly, and of a noisy sum of the same order."""
    rows = [_row(e) for e in EPSILONS]
    small = _law((0.2, 0.9, 0.5, 0.4), 1.0, 1.0)
    r = diffused_scale(PRIOR, N, ORDER, 1.0)
    mean = (PRIOR[0] + r * 40) / (sum(PRIOR) + r * N)
    worst = _search(setting.runs)
    bound = dirichlet_renyi(PRIOR, N, 3.0)
    noise = [row["noisy sum"] for row in rows]
    floor = rows[-1]["diffused draw"] / rows[-2]["diffused draw"]
    claims = (
        close("Beta of phi = (.2, .9, .5, .4), r = 1: first parameter", small[0], 8.0, 1e-12),
        close("second parameter", small[1], 14.0, 1e-12),
        close("its mean", small[0] / sum(small), 0.363636363636, 1e-12),
        close("mean for a sum of 40 of 100, diffused at order 15, epsilon 1", mean, 0.380280898829, 1e-9),
        holds("values inside [0, 1] are no worse than its ends, by random search", worst <= bound,
              f"{worst:.4f} of {bound:.4f}"),
        holds("a noisy sum shrunk to the same prior errs less than both draws from epsilon = .3 on", all(
              row["noisy sum, shrunk"] < min(row["diffused draw"], row["concentrated draw"]) for row in rows[3:]),
              ", ".join(f"{row['epsilon']:g}: {row['noisy sum, shrunk']:.4f}" for row in rows)),
        holds("more budget does not lower the draw's error", floor > 0.9 and noise[-1] < 0.6 * noise[-2],
              f"{rows[-1]['diffused draw']:.4f} at epsilon = 10, the noisy sum {noise[-1]:.4f}"),
    )  # fmt: skip
    names = ("diffused draw", "concentrated draw", "noisy sum", "noisy sum, shrunk")
    return Finding(
        reported="A statistical query is answered by one draw of a Beta law that holds its sum.",
        found=f"It is, with a pull towards the prior's 1/3: at a truth of .4 and epsilon = 1 the draw errs "
        f"{rows[4]['diffused draw']:.3f} (diffused) and {rows[4]['concentrated draw']:.3f} (concentrated), discrete "
        f"Gaussian noise on the sum at the same order {rows[4]['noisy sum']:.4f}. LOST below .3: at "
        f"epsilon = .01 the concentrated draw errs {rows[0]['concentrated draw']:.3f}, the noisy sum "
        f"{rows[0]['noisy sum']:.3f}, shrunk to the same prior {rows[0]['noisy sum, shrunk']:.4f}.",
        differs="Where almost nothing may be said the prior's mean is a good guess if the truth is near it, for a "
        "noisy sum too. The library's posterior given the noisy sum uses the prior, and says how wide it is.",
        tables={"error": rows},
        claims=claims,
        panels=(
            Curves(
                "Answer of a query whose truth is .4, n = 100, order 15, prior (6, 18)",
                "ε",
                "root mean squared error",
                [Line(name, list(EPSILONS), [row[name] for row in rows], points=True) for name in names],
                log_x=True,
                log_y=True,
            ),
        ),
    )


def _law(values: tuple[float, ...], r: float, m: float) -> tuple[float, float]:
    total = sum(values)
    return PRIOR[0] / m + r * total, PRIOR[1] / m + r * (len(values) - total)


def _row(epsilon: float) -> dict[str, float]:
    r, m = diffused_scale(PRIOR, N, ORDER, epsilon), concentrated_shrink(PRIOR, N, ORDER, epsilon)
    row = {"epsilon": epsilon}
    for name, (scale, shrink) in (("diffused draw", (r, 1.0)), ("concentrated draw", (1.0, m))):
        a, b = PRIOR[0] / shrink + scale * TRUTH * N, PRIOR[1] / shrink + scale * (1 - TRUTH) * N
        mean = a / (a + b)
        row[name] = math.sqrt(mean * (1 - mean) / (a + b + 1) + (mean - TRUTH) ** 2)
    # Gaussian noise of deviation s on a sum that moves by 1 has the divergence lambda/(2 s²)
    row["noisy sum"] = math.sqrt(ORDER / (2 * epsilon)) / N
    centre = PRIOR[0] / sum(PRIOR)
    spread = centre * (1 - centre) / (sum(PRIOR) + 1)
    weight = spread / (spread + row["noisy sum"] ** 2)
    row["noisy sum, shrunk"] = math.hypot(weight * row["noisy sum"], (1 - weight) * (centre - TRUTH))
    return row


def _search(runs: int) -> float:
    """Divergence at order 3 for random sums and random moves within [0, 1]."""
    rng = np.random.default_rng(7)
    found = 0.0
    for total, move in zip(rng.uniform(0, N - 1, runs).tolist(), rng.uniform(-1, 1, runs).tolist(), strict=True):
        here = total + max(move, 0.0)
        there = here - move
        laws = [(PRIOR[0] + s, PRIOR[1] + N - s) for s in (here, there)]
        found = max(found, dirichlet_divergence(laws[0], laws[1], 3.0))
    return found


STATISTICAL_QUERY = Reproduction(
    "geumlek-statistical-query",
    "Geumlek et al. 2017, appendix, Beta-sampled statistical queries",
    "A query answered by a Beta draw, and by a noisy sum",
    study,
    runs=2000,
    steps=30,
)
