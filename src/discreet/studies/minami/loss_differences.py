"""Figure 1: two records' logistic losses differ without bound, their gradients never by more than a constant."""

import numpy as np

from discreet.accounting.gibbs import LOGISTIC_OF_ONE_FEATURE
from discreet.numerics.arrays import Array
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["LOSS_DIFFERENCES"]


def figure(_: Setting) -> Finding:
    """Both differences of a label flip on a grid of margins; the largest gradient difference by a grid of pairs."""
    t = np.linspace(-8, 8, 321)
    loss = np.abs(np.logaddexp(0, -t) - np.logaddexp(0, t))
    gradient = np.abs(-_sigma(-t) - _sigma(t))
    largest = _largest_difference()
    claims = (
        close("a label flip moves the loss by |theta.z|", float(np.abs(loss - np.abs(t)).max()), 0.0, 1e-12),
        close("a label flip moves the gradient by exactly ||z||", float(np.abs(gradient - 1).max()), 0.0, 1e-12),
        close("any two records of one feature move it by at most 1.0516 r", largest, 1.05163399155, 1e-6),
        holds("the constant in use is not below it", largest <= LOGISTIC_OF_ONE_FEATURE, f"{LOGISTIC_OF_ONE_FEATURE}"),
    )
    lines = [Line("loss", t, loss), Line("gradient, label flip", t, gradient)]
    rows = [{"margin": a, "loss": b, "gradient": c} for a, b, c in zip(t, loss, gradient, strict=True)]
    return Finding(
        reported="The difference of two logistic losses grows with the parameter; the difference of their gradients "
        "does not exceed twice the length of the features.",
        found="For a label flip the loss differs by |theta.z| and the gradient by exactly ||z||, half of what the "
        "caption allows. Over all pairs of records with one feature in [-r, r] the largest difference is "
        f"{largest:.5f} r; with two features or more it comes as near to 2r as one likes.",
        differs="The caption bounds; the exact constants give larger temperatures for the same privacy.",
        tables={"differences": rows},
        claims=claims,
        panels=(
            Curves(
                "A record and the same with the other label, ||z|| = 1",
                "margin θ·z",
                "difference",
                lines,
                levels={"twice ||z||, the caption": 2.0},
            ),
        ),
    )


def _sigma(t: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * t))


def _largest_difference() -> float:
    """Gradients are z sigma(-theta z), |z| ≤ 1, up to their sign: one record at the end, the other anywhere."""
    theta = np.linspace(0, 6, 2401)[:, None]
    z = np.linspace(-1, 1, 2001)
    one, other = -_sigma(theta), z * _sigma(-theta * z)
    return float((other - one).max())


LOSS_DIFFERENCES = Reproduction(
    "minami-figure-1", "Minami et al. 2016, Figure 1", "Losses differ without bound, gradients do not", figure, steps=20
)
