"""Annealed importance sampling: what its weights cost, how far they can move, and how noise drowns them.

For released points every log-weight moves by at most c = (first - last)/2 between neighbours, so normalised weights
move by at most 2 tanh(c/2) in L1; the paper uses 2, the diameter of the simplex. Choosing one point with probability
in proportion to its weight is 2c-DP as it stands.
"""

import math

import numpy as np

from discreet.accounting.bounded_losses import weight_sensitivity
from discreet.mechanisms import PrivateAnnealing
from discreet.models import EventLogHMM
from discreet.numerics.arrays import Array
from discreet.schema import Categorical, Schema
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, close, holds

__all__ = ["ANNEALED_WEIGHTS"]

REFERENCES = {(1.0, 0.1): 0.442556935797, (2.0, 0.0): 0.92423431452}
PARTICLES, LEVELS = (2, 5, 10, 50), 20


def study(setting: Setting) -> Finding:
    """The sharp sensitivity against a random search, and the noise against the weights it is added to."""
    found = max(_random_search(0.45, setting.runs, np.random.default_rng(seed)) for seed in (1, 2))
    gaps = np.linspace(0.05, 6, 60)
    sharp = [weight_sensitivity(0.0, gap) for gap in gaps.tolist()]
    noise = [
        {"particles": s, "a weight is about": 1 / s, "noise printed, 2/epsilon": 2.0,
         "noise sharp": weight_sensitivity(0.1, 1.0), "points cost, 20 levels up to 1": _cost(s),
         "heaviest found": _heaviest_found(s, setting.runs, np.random.default_rng([3, s]))}
        for s in PARTICLES
    ]  # fmt: skip
    chosen = _choice_level(0.45)
    claims = [
        close(f"L1 sensitivity of weights, levels {first:g} to {last:g}", weight_sensitivity(last, first), value, 2e-12)
        for (first, last), value in REFERENCES.items()
    ]  # fmt: skip
    sensitivity = weight_sensitivity(0.1, 1.0)
    claims += [
        holds(
            "a random search comes near it and never beyond",
            0.98 * sensitivity < found <= sensitivity,
            f"{found:.9f} of {sensitivity:.9f}",
        ),
        holds("choosing one point by its weight is (first - last)-DP", chosen <= 0.9 + 1e-12, f"{chosen:.4f} of 0.9"),
        holds(
            "at epsilon = 1 the printed noise hides the weights: the heaviest point is found hardly more often than by "
            "chance",
            all(row["heaviest found"] < 1 / row["particles"] + 0.1 for row in noise),
            ", ".join(f"{row['heaviest found']:.3f} of {row['particles']}" for row in noise),
        ),
        holds(
            "S points cost S times what one costs",
            math.isclose(_cost(50), 50 * _cost(1), rel_tol=1e-9),
            f"{_cost(50):.0f} for 50 points, {_cost(1):.0f} for one",
        ),
    ]
    return Finding(
        reported="Weights have L1 sensitivity 2 at most and are released with Laplace noise; the cost is the sum over "
        "the annealing levels.",
        found=f"Their sensitivity is 2 tanh((first - last)/4): {sensitivity:.3f} for levels 1 to .1. Even so noise of "
        "that scale is larger than a weight of 1/S. Resampling by the exponential mechanism needs no noise. All "
        "points that enter the weights are released, so S of them cost S times the sum.",
        differs="2 is the diameter of the simplex. The cost is printed for one particle. PrivateAnnealing pays every "
        "particle and chooses by weight.",
        tables={
            "noise": noise,
            "sensitivity": [{"gap": g, "sharp": s} for g, s in zip(gaps.tolist(), sharp, strict=True)],
        },
        claims=tuple(claims),
        panels=(
            Curves(
                "How far normalised weights can move",
                "ε of the first level minus the last",
                "L1 sensitivity",
                [Line("2 tanh(gap/4)", gaps, sharp)],
                levels={"as printed": 2.0},
            ),
        ),
    )  # fmt: skip


def _weights(log_weights: Array) -> Array:
    shifted = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def _heaviest_found(points: int, runs: int, rng: np.random.Generator) -> float:
    """How often the largest of the weights is still the largest with the printed noise on each."""
    weights = _weights(rng.normal(0, 1.0, (runs, points)))
    noisy = weights + rng.laplace(0, 2.0, weights.shape)
    return float(np.mean(noisy.argmax(axis=1) == weights.argmax(axis=1)))


def _cost(particles: int) -> float:
    """What the library charges for all states of this many particles, two updates a level, without choosing one."""
    levels = tuple(np.linspace(0, 1, LEVELS)[1:].tolist())
    places = {name: Categorical(["a", "b"]) for name in ("region", "time", "type")}
    query = EventLogHMM("region", "time", ("type",), states=2).query(Schema(places, n=10))
    return float(PrivateAnnealing(levels, particles).guarantee(query).epsilon(0.0) - levels[-1])


def _random_search(most: float, runs: int, rng: np.random.Generator) -> float:
    """The largest L1 distance over random log-weights, each moved up or down by all that is allowed."""
    points = rng.integers(2, 9)
    log_weights = rng.normal(0, 1.0, (runs, points))
    moved = log_weights + most * np.where(rng.random((runs, points)) < 0.5, 1.0, -1.0)
    return float(np.abs(_weights(log_weights) - _weights(moved)).sum(axis=1).max())


def _choice_level(most: float) -> float:
    """The largest log-ratio of the chance to choose a point: one weight goes up, the others down."""
    here = _weights(np.array([0.0] + [math.log(1e6)] * 3))
    there = _weights(np.array([most] + [math.log(1e6) - most] * 3))
    return float(np.abs(np.log(here / there)).max())


ANNEALED_WEIGHTS = Reproduction(
    "foulds-annealing",
    "Foulds et al. 2016, supplement, equations (43)-(46)",
    "Annealed importance sampling: weights and their cost",
    study,
    runs=20_000,
)
