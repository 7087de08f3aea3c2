"""Which doubles a sampler can reach, as maps from its latent numbers, and whether a released number is one of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.mechanisms.draws.public_grid import cell_ends
from discreet.mechanisms.draws.real_laws import SMALL_SHAPE

Array = np.ndarray[Any, Any]
Rounding = Callable[[Array], Array]

STEPS = np.arange(-4, 5)


@dataclass(frozen=True)
class Lattice:
    """`forward` computes a draw from a latent double exactly as the sampler does; `back` finds the latent roughly."""

    forward: Callable[[Array], Array]
    back: Callable[[Array], Array]


def additive(centre: Array | float, scale: float) -> Lattice:
    return Lattice(lambda z: centre + scale * z, lambda x: (x - centre) / scale)


def divided_gamma(shape: float, rate: float) -> Lattice:
    """Marsaglia and Tsang's b V³ over a rate; of small shapes the factor in front may be any double."""
    if shape < SMALL_SHAPE:
        return Lattice(lambda g: g / rate, lambda x: x * rate)
    b = shape - 1.0 / 3.0
    return Lattice(lambda v: b * (v * v * v) / rate, lambda x: np.cbrt(x * rate / b))


def exponential_step(start: float) -> Lattice:
    return Lattice(lambda t: start + start * np.expm1(t), lambda x: np.log1p((x - start) / start))


def share_of(other: Array | float) -> Lattice:
    """Ga / (Ga + Gb) for a given Gb."""
    return Lattice(lambda g: g / (g + other), lambda x: other * x / (1.0 - x))


def impossible(released: Array, grid: float, rounding: Rounding, *lattices: Lattice) -> float:
    """The share of released numbers that no latent double of any of the lattices leads to."""
    v = released[:, None]
    low, high = cell_ends(v, grid)
    near = v + STEPS * np.spacing(v)
    across = low + (high - low) * np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    tried = np.concatenate([near, across], axis=1)[:, :, None]
    found = np.zeros(released.size, dtype=bool)
    for lattice in lattices:
        latent = lattice.back(tried)
        latent = latent + STEPS * np.spacing(latent)
        found |= (rounding(lattice.forward(latent)) == v[:, :, None]).any(axis=(1, 2))
    return float(1.0 - found.mean())
