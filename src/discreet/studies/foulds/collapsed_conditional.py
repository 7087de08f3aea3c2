"""Equation (48) of the supplement: the law of one hidden state given all others, transitions summed out.

    P(z_t = k | rest) ∝ (n_{before,k} + α) / (n_{before} + K α)
                        · (n_{k,after} + 1[before = k = after] + α) / (n_k + 1[before = k] + K α) · likelihood

n counts the transitions of all chains without the two that touch z_t, the second factor is absent at the last step.
The printed form misses the indicator above, and the one below together with K.
"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["EQUATION_48"]

STATES, ALPHA, LENGTH = 3, 0.7, 4
Chains = NDArray[np.int64]


def study(setting: Setting) -> Finding:
    """Random states of two chains against brute force: every state of the cell, the joint law of all chains."""
    rng = np.random.default_rng(48)
    correct, above, below = [], [], []
    for _ in range(setting.runs):
        z = rng.integers(1, STATES + 1, (2, LENGTH))
        chain, t = int(rng.integers(2)), int(rng.integers(LENGTH))
        likelihood = rng.dirichlet(np.ones(STATES))
        law = _brute_force(z, chain, t, likelihood, STATES, ALPHA)
        correct.append(_gap(law, conditional(z, chain, t, likelihood, STATES, ALPHA)))
        above.append(_gap(law, conditional(z, chain, t, likelihood, STATES, ALPHA, numerator=False)))
        below.append(_gap(law, conditional(z, chain, t, likelihood, STATES, ALPHA, numerator=False, denominator=False)))
    flat = np.ones(2)
    one = conditional(np.array([[1, 1, 1, 1, 2]]), 0, 2, flat, 2, 1.0)
    last = conditional(np.array([[1, 2, 2, 1, 1]]), 0, 4, flat, 2, 1.0)
    claims = (
        holds("the corrected form is the law", max(correct) < 1e-12, f"largest difference {max(correct):.1e}"),
        close("states (1, 1, ?, 1, 2), K = 2, flat likelihood: P(1)", float(one[0]), 0.5454545455, 5e-11),
        close("states (1, 2, 2, 1, ?): P(1)", float(last[0]), 0.3333333333, 5e-11),
        holds(
            "without the indicators it is wrong by more than a tenth somewhere",
            max(above) > 0.05 and max(below) > 0.1,
            f"largest differences {max(above):.3f} and {max(below):.3f}",
        ),
    )
    shares = np.linspace(0, 1, setting.runs)
    lines = [
        Line("numerator's indicator missing", shares, np.sort(above)),
        Line("both indicators and K missing", shares, np.sort(below)),
    ]
    return Finding(
        reported="Equation (48): the collapsed conditional of a hidden state.",
        found=f"With both indicators and K it agrees with brute force over {setting.runs} random states to "
        f"{max(correct):.0e}. Without the indicator in the numerator it is off by up to {max(above):.2f}, without both "
        f"and K by up to {max(below):.2f} in probability.",
        differs="As printed, the index order of the counts is exchanged too, which makes it worse (up to .27 in our "
        "notes). What is left out matters where neighbours in time share a state, which is most of the time.",
        tables={
            "differences": [
                {"share of states": s, "numerator's indicator missing": a, "both and K missing": b}
                for s, a, b in zip(shares.tolist(), np.sort(above).tolist(), np.sort(below).tolist(), strict=True)
            ]
        },
        claims=claims,
        panels=(
            Curves(
                "Error of the conditional, two chains, K = 3",
                "share of random states",
                "largest difference in probability",
                lines,
            ),
        ),
    )


def conditional(
    z: Chains,
    chain: int,
    t: int,
    likelihood: Array,
    states: int,
    alpha: float,
    *,
    numerator: bool = True,
    denominator: bool = True,
) -> Array:
    """The formula above; the two switches leave out what the printed one does."""
    before = int(z[chain, t - 1]) if t else 0
    after = int(z[chain, t + 1]) if t + 1 < z.shape[1] else None
    n = _transitions(z, states)
    n[before, z[chain, t]] -= 1
    if after is not None:
        n[z[chain, t], after] -= 1
    k = np.arange(1, states + 1)
    law = likelihood * (n[before, 1:] + alpha)
    if after is not None:
        same = (k == before) & (k == after) if numerator else np.zeros(states)
        left = (k == before).astype(float) if denominator else np.zeros(states)
        total = states * alpha if denominator else alpha
        law = law * (n[1:, after] + same + alpha) / (n[1:].sum(axis=1) + left + total)
    return np.asarray(law / law.sum())


def _transitions(z: Chains, states: int) -> Array:
    """Moves a to b over all chains, each of which starts in the dummy state 0."""
    n = np.zeros((states + 1, states + 1))
    np.add.at(n, (np.concatenate([np.zeros((len(z), 1), dtype=int), z[:, :-1]], axis=1).ravel(), z.ravel()), 1.0)
    return n


def _brute_force(z: Chains, chain: int, t: int, likelihood: Array, states: int, alpha: float) -> Array:
    """The joint law of all chains with transitions integrated out, for every value of one state."""
    logs = np.empty(states)
    for k in range(1, states + 1):
        trial = z.copy()
        trial[chain, t] = k
        n = _transitions(trial, states)[:, 1:]
        logs[k - 1] = math.log(likelihood[k - 1])
        for row in n:
            logs[k - 1] += sum(math.lgamma(c + alpha) for c in row) - math.lgamma(row.sum() + states * alpha)
    law = np.exp(logs - logs.max())
    return np.asarray(law / law.sum())


def _gap(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max())


EQUATION_48 = Reproduction(
    "foulds-equation-48",
    "Foulds et al. 2016, supplement, equation (48)",
    "The collapsed conditional of a hidden state",
    study,
    runs=300,
    steps=20,
)
