"""Table 1: what a posterior sample and noisy statistics need to know, their efficiency, what Gibbs sampling costs.

The asymptotic relative efficiency is the variance of what is used, times N, over that of an efficient estimate: 1 is
the best there is. A draw of the posterior itself has 2, because it scatters once around an estimate that scatters too.
"""

import math
from typing import Any

import numpy as np

from discreet.guarantee import PureDP, Repeated
from discreet.numerics.arrays import Array
from discreet.studies.draws_error import relative_variance
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["TABLE_1"]

P, EPSILON, TRUNCATION = 0.3, 1.0, 0.2
SIZES = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
RANGE = math.log((1 - TRUNCATION) / TRUNCATION)
TEMPERATURE = 2 * RANGE / EPSILON
SWEEPS, BLOCKS, PER_UPDATE = 200, 2, 5.0
EXACT_DRAWS = {1.0: 1.99992762137, TEMPERATURE: 3.77227806889, 10.0: 10.9972625375}  # at N = 1e5


def table(setting: Setting) -> Finding:
    """Draws of tempered laws by exact sums; noisy counts by `runs` simulated releases at every N."""
    rng = np.random.default_rng(3)
    rows = [_row(n, setting.runs, rng) for n in SIZES]
    last = rows[-1]
    four = 4 * math.sqrt(2 / setting.runs)  # of the variance of about normal values, relative
    ours = [
        {"method": "posterior sample (OPS)", "sensitivity": RANGE, "what it is of": "log-likelihood, p in [.2, .8]",
         "efficiency": relative_variance(100_000, P, TEMPERATURE), "cost of 200 sweeps of two blocks": _chain_cost()},
        {"method": "two noisy counts", "sensitivity": 2.0, "what it is of": "counts, any p",
         "efficiency": last["draw given two noisy counts"], "cost of 200 sweeps of two blocks": EPSILON},
        {"method": "one noisy count, n public", "sensitivity": 1.0, "what it is of": "count of ones, any p",
         "efficiency": last["draw given one noisy count"], "cost of 200 sweeps of two blocks": EPSILON},
    ]  # fmt: skip
    smallest = rows[0]
    claims = [
        close(f"N Var of a draw at T = {t:.4f}, N = 1e5", relative_variance(100_000, P, t), value, 1e-9)
        for t, value in EXACT_DRAWS.items()
    ]
    claims += [
        close("a draw given two noisy counts tends to 2", last["draw given two noisy counts"], 2.0, 2 * four),
        close("the mean of the same posterior tends to 1", last["mean given two noisy counts"], 1.0, four),
        close("OPS tends to 1 + T, not to 2", last["OPS draw"], 1 + TEMPERATURE, 3e-3),
        holds(
            "at N = 100 the noise still counts, and one count with public n has less of it than two",
            1.02 < smallest["mean given one noisy count"] < smallest["mean given two noisy counts"],
            f"{smallest['mean given one noisy count']:.3f} against {smallest['mean given two noisy counts']:.3f}",
        ),
        close("200 sweeps of two blocks at 5 each cost", _paid(PER_UPDATE), 2000.0, 0.0),
    ]
    return Finding(
        reported="Sensitivity: OPS the range of the log-likelihood, Laplace that of the statistics. Efficiency: OPS "
        "1 + T, Laplace 2 for a draw and 1 for the mean, as without privacy. Gibbs sampling: OPS pays for every "
        "update, Laplace once.",
        found=f"At N = 1e5 and epsilon = 1: OPS {last['OPS draw']:.3f}, a draw given noisy counts "
        f"{last['draw given two noisy counts']:.3f}, its posterior's mean {last['mean given two noisy counts']:.3f}. "
        f"At N = 100 the mean has {smallest['mean given two noisy counts']:.2f} with two noisy counts and "
        f"{smallest['mean given one noisy count']:.2f} with one. 200 sweeps of two blocks, each update at epsilon = 5, "
        "cost 2000.",
        differs="The table is asymptotic; the noise is gone only where N is large against 8/(epsilon² p(1 - p)). "
        '"Posterior N(theta0, 2/(N I))" is the law of a draw, not a posterior. With n public one of the two counts '
        "is redundant, which the paper does not use.",
        tables={"efficiency": rows, "methods": ours},
        claims=tuple(claims),
        panels=(
            _panel("One draw", rows, ("posterior draw, not private", "OPS draw", "draw given two noisy counts",
                   "draw given one noisy count"), {"1 + T": 1 + TEMPERATURE}),
            _panel("Mean of the posterior", rows, ("mean given two noisy counts", "mean given one noisy count"),
                   {"efficient": 1.0}),
        ),
    )  # fmt: skip


def _row(n: int, runs: int, rng: np.random.Generator) -> dict[str, Any]:
    """Variances times N over p (1 - p); what is simulated also has its Monte Carlo error."""
    k = rng.binomial(n, P, runs)
    row: dict[str, Any] = {
        "records": n,
        "posterior draw, not private": relative_variance(n, P),
        "OPS draw": relative_variance(n, P, TEMPERATURE),
    }
    both = [np.maximum(0.0, count + rng.laplace(0, 2 / EPSILON, runs)) for count in (k, n - k)]
    one = np.clip(k + rng.laplace(0, 1 / EPSILON, runs), 0, n)
    for name, (x, y) in {"two noisy counts": both, "one noisy count": (one, n - one)}.items():
        row[f"mean given {name}"], row[f"mean given {name} error"] = _scaled((x + 1) / (x + y + 2), n)
        row[f"draw given {name}"], row[f"draw given {name} error"] = _scaled(rng.beta(x + 1, y + 1), n)
    return row


def _scaled(values: Array, n: int) -> tuple[float, float]:
    square = (values - values.mean()) ** 2 * n / (P * (1 - P))
    return float(square.mean()), float(square.std() / math.sqrt(values.size))


def _chain_cost() -> float:
    """Every update costs twice the range without tempering: what the table calls the Gibbs cost."""
    return _paid(2 * RANGE)


def _paid(update: float) -> float:
    """Of a whole chain, as the library composes it."""
    return Repeated(PureDP(update), SWEEPS * BLOCKS).epsilon(0.0)


def _panel(title: str, points: list[dict[str, Any]], names: tuple[str, ...], levels: dict[str, float]) -> Curves:
    lines = []
    for name in names:
        y = np.array([row[name] for row in points])
        wide = 2 * np.array([row.get(f"{name} error", 0.0) for row in points])
        lines.append(Line(name, [row["records"] for row in points], y, y - wide, y + wide, points=True))
    return Curves(f"{title}, p = .3, ε = 1", "records N", "N Var / (p(1-p))", lines, log_x=True, levels=levels)


TABLE_1 = Reproduction(
    "foulds-table-1",
    "Foulds et al. 2016, Table 1, Theorems 4 and 5",
    "Sensitivity, efficiency and cost of Gibbs sampling",
    table,
    runs=60_000,
    steps=40,
)
