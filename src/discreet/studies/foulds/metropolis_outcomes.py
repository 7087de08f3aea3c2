"""Theorem C.1 of the supplement: a private Metropolis update, and Barker's acceptance, which needs no delta.

Metropolis   accepts with min(1, e^d),   d = (u(θ') - u(θ))/T: rejecting is impossible for d ≥ 0
Barker       accepts with σ(d): log σ has slope at most 1, so both outcomes move by at most |d - d'|
"""

import math

import numpy as np

from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["METROPOLIS"]

EPSILON = 0.5


def study(_: Setting) -> Finding:
    """Two neighbouring tables whose log-ratios differ by epsilon: what the accept bit alone gives away."""
    grid = np.linspace(-3, 3, 121)
    rows = [
        {"log-ratio of the first table": d, "delta, Metropolis": _two_way(_metropolis(d), _metropolis(d - EPSILON)),
         "delta, Barker": _two_way(_barker(d), _barker(d - EPSILON)),
         "epsilon, Barker": _largest_log_ratio(_barker(d), _barker(d - EPSILON))}
        for d in grid.tolist()
    ]  # fmt: skip
    worst = max(row["delta, Metropolis"] for row in rows)
    barker = max(row["epsilon, Barker"] for row in rows)
    at_zero = _largest_log_ratio(_barker(0.0), _barker(-EPSILON))
    claims = (
        close("reject probability at the log-ratio -1/2", 1 - _metropolis(-EPSILON), 0.3934693403, 5e-11),
        close(
            "exact delta(.5) of Metropolis on the two points 0 and -1/2",
            _two_way(_metropolis(0.0), _metropolis(-EPSILON)),
            0.393469340287,
            1e-11,
        ),
        holds(
            "Metropolis has no useful delta in general",
            worst > 0.39,
            f"the largest delta(.5) on the grid is {worst:.3f}",
        ),
        close("Barker's largest log-ratio on the same two points", at_zero, 0.28092980362, 1e-10),
        holds("Barker is epsilon-DP for every pair", barker <= EPSILON + 1e-12, f"largest {barker:.4f} of {EPSILON}"),
    )
    return Finding(
        reported="A Metropolis update at temperature 2Δ/epsilon is (epsilon, delta)-DP if the chance to reject is at "
        "most delta.",
        found=f"True only if that chance is below delta for every table that might have been; on two tables with "
        f"log-ratios 0 and -1/2 the exact delta is {worst:.3f}. Barker's acceptance at "
        f"the same temperature is epsilon-DP per update (here {at_zero:.3f} of {EPSILON}).",
        differs="Looking at the reject rate of the table at hand is itself a look at the rows. PrivateMetropolis "
        "accepts by Barker's rule: it rejects up to twice as often, and needs no delta.",
        tables={"outcomes": rows},
        claims=claims,
        panels=(
            Curves(
                "What the accept bit gives away, log-ratios ε = .5 apart",
                "log-ratio at the first table",
                "δ at ε = .5",
                [
                    Line("Metropolis", grid, [row["delta, Metropolis"] for row in rows]),
                    Line("Barker", grid, [row["delta, Barker"] for row in rows]),
                ],
            ),
            Curves(
                "The pure level of one Barker update",
                "log-ratio at the first table",
                "largest |log-ratio| of the outcomes",
                [Line("Barker", grid, [row["epsilon, Barker"] for row in rows])],
                levels={"ε": EPSILON},
            ),
        ),
    )


def _metropolis(log_ratio: float) -> float:
    return min(1.0, math.exp(log_ratio))


def _barker(log_ratio: float) -> float:
    return 1 / (1 + math.exp(-log_ratio))


def _two_way(one: float, other: float) -> float:
    """delta(epsilon) between two laws of one bit, the larger of both orders."""
    factor = math.exp(EPSILON)
    pairs = ((one, other), (other, one))
    return max(max(a - factor * b, 0.0) + max(1 - a - factor * (1 - b), 0.0) for a, b in pairs)


def _largest_log_ratio(one: float, other: float) -> float:
    return max(abs(math.log(one / other)), abs(math.log((1 - one) / (1 - other))))


METROPOLIS = Reproduction(
    "foulds-theorem-c1",
    "Foulds et al. 2016, supplement, Theorem C.1",
    "A private Metropolis update, and Barker's in its place",
    study,
)
