"""Supplement Figure 1: how private one posterior draw is for tables that an adversary makes, and for usual ones."""

import math

import numpy as np

from discreet.studies.adversary import greedy_adversary, local_epsilon
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["ADVERSARIAL_DATA"]

TRUNCATION, MOST = 0.1, 60
SIZES = (1, 2, 5, 10, 20, 30, 50, 70, 100, 200, 500, 1000)
REFERENCES = {1: 2.19722457734, 2: 2.63054663995, 5: 3.29589708158, 10: 3.70130197551, 50: 4.21212759788,
              100: 4.29913897487}  # fmt: skip
LIMIT = 4.39444915467


def figure(_: Setting) -> Finding:
    """Local epsilon of equal outcomes, which the greedy adversary is shown to choose, and of three usual tables."""
    greedy, worst = greedy_adversary(MOST, TRUNCATION)
    rows = [
        {"records": n, "adversary: all outcomes equal": local_epsilon(0, n, TRUNCATION),
         **{f"{share:.0%} ones": local_epsilon(round(share * n), n, TRUNCATION) for share in (0.1, 0.3, 0.5)}}
        for n in SIZES
    ]  # fmt: skip
    at = {row["records"]: row["adversary: all outcomes equal"] for row in rows}
    every = max(local_epsilon(k, 30, TRUNCATION) for k in range(31))
    claims = [close(f"all equal, N = {n}", at[n], value, 5e-12) for n, value in REFERENCES.items()]
    claims += [
        close("50 ones of 100", local_epsilon(50, 100, TRUNCATION), 2.21702720476, 2e-10),
        close("the limit is 2C", 2 * math.log(9), LIMIT, 5e-12),
        holds("the greedy adversary adds equal outcomes", set(greedy.tolist()) == {0}, f"{MOST} times"),
        holds("and it is the worst table of all, N = 30", every <= worst[29] * (1 + 1e-12), f"{every:.6f}"),
        holds(
            "it approaches 2C and does not reach it",
            bool(np.all(np.diff(worst) > 0)) and at[1000] < LIMIT,
            f"{at[1000]:.4f} at N = 1000",
        ),
        holds(
            "a table with as many ones as zeros needs half of it",
            rows[-1]["50% ones"] < LIMIT / 2 * 1.01,
            f"{rows[-1]['50% ones']:.4f}",
        ),
    ]
    names = list(rows[0])[1:]
    return Finding(
        reported="Data chosen by an adversary make the privacy of a posterior sample approach its worst case, while "
        "typical data stay well below.",
        found=f"All outcomes equal is what the greedy adversary chooses at every step; its level is {at[10]:.2f} at "
        f"N = 10 and {at[1000]:.3f} at 1000, of 2C = {LIMIT:.3f}. Half ones stay near C = {LIMIT / 2:.3f}.",
        differs="Nothing: same values. A local level is a fact about private rows, so it is never a guarantee and "
        "never shown for a real table.",
        tables={"local_epsilon": rows},
        claims=tuple(claims),
        panels=(
            Curves(
                "One untempered draw, p from .1 to .9",
                "records N",
                "local ε",
                [Line(name, list(SIZES), [row[name] for row in rows], points=True) for name in names],
                log_x=True,
                levels={"2C": LIMIT, "C": LIMIT / 2},
            ),
        ),
    )


ADVERSARIAL_DATA = Reproduction(
    "foulds-supplement-figure-1",
    "Foulds et al. 2016, supplement, Figure 1",
    "An adversary's table and the privacy of one draw",
    figure,
    steps=40,
)
