"""The two unseen moments of one number, on a grid: exact draws, no chain, and nothing to compile.

With u on [-1, 1], n public and the weak prior, mean m and variance W of the rows have the density

    noise(Σu - n m) noise(Σu² - n (m² + W)) prior,        m = sin a,   W = (1 - m²) r²

in which the Beta priors have no poles: (cos a)^(2 means - 1) and r^(2 low - 1) (1 - r²)^(high - 1). Nodes of r lie ever
closer around the released sum, from which Laplace noise falls to both sides; those of a so, too, and once more where a
first look found the mass. A draw is a node, and a place between it and its neighbours.
"""

from dataclasses import dataclass

import numpy as np

from discreet.inference.gaussian.unseen_moments import MomentTarget
from discreet.numerics.arrays import Array

__all__ = ["draw_one_number", "is_one_number"]

FIRST, SIDE = 160, 64  # nodes to either side of the released sum: of a first look at a, and of r
NODES = 1024  # of a, by equal probabilities
SMALLEST = 1e-300


def is_one_number(target: MomentTarget) -> bool:
    """Whether there is one number without levels, its prior weak and n public."""
    unseen = target.unseen
    return target.numbers == 1 and len(unseen.links) == 1 and not unseen.size_grid.size and target.conjugates is None


def draw_one_number(target: MomentTarget, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """So many independent draws of mean and variance of the rows, in half-ranges."""
    released, t = target.released, int(target.released.pairs[0, 0])
    (own,) = np.flatnonzero((released.first == 0) & (released.second < 0))
    value, scale, laplace = released.value, released.scale, released.laplace
    plane = _Plane(
        target.unseen.size,
        _NoisySum(float(value[own]), float(scale[own]), bool(laplace[own])),
        _NoisySum(float(value[t]), float(scale[t]), bool(laplace[t])),
        target.nodes.means,
        float(target.nodes.low[0]),
        float(target.nodes.high[0]),
    )
    first = plane.first_look()
    _, log_mass, _ = plane.along(first)
    rough = _pieces(first, np.exp(log_mass - log_mass.max()))
    evenly = np.interp((np.arange(NODES) + 0.5) / NODES, rough / rough[-1], first)
    a = np.unique(np.concatenate([first, evenly]))
    r, log_mass, density = plane.along(a)
    edges = np.concatenate([a[:1], 0.5 * (a[1:] + a[:-1]), a[-1:]])
    chances = np.exp(log_mass - log_mass.max()) * np.diff(edges)
    chosen = rng.choice(a.size, size=count, p=chances / chances.sum())
    mean = np.sin(edges[chosen] + np.diff(edges)[chosen] * rng.random(count))
    ratio = _inverted(r[chosen], density[chosen], rng.random((count, 1)), rng.random(count))
    return mean, (1.0 - mean**2) * ratio**2


@dataclass(frozen=True)
class _NoisySum:
    value: float
    scale: float
    laplace: bool

    def log_density(self, supposed: Array) -> Array:
        """Of the noise, up to a constant, were this the sum."""
        gap = (self.value - supposed) / self.scale
        return np.asarray(-np.abs(gap) if self.laplace else -0.5 * gap**2)


@dataclass(frozen=True)
class _Plane:
    """The density of a and r, for n rows."""

    n: float
    total: _NoisySum
    squares: _NoisySum
    means: float
    low: float
    high: float

    def first_look(self) -> Array:
        """Nodes of a around the released sum, steps from a small part of its noise on."""
        rows = max(self.n, 1.0)
        likely, noise = np.arcsin(np.clip(self.total.value / rows, -1.0, 1.0)), min(self.total.scale / rows, 1.0)
        width = noise / max(np.cos(likely), np.sqrt(noise))
        return np.asarray(_around(np.array([likely]), np.array([width]), -0.5 * np.pi, 0.5 * np.pi, FIRST)[0])

    def along(self, a: Array) -> tuple[Array, Array, Array]:
        """For every a: nodes of r, the logarithm of the integral over r, and the density at the nodes, 1 at most."""
        m, room = np.sin(a), np.maximum(np.cos(a) ** 2, SMALLEST)
        most = max(self.n, 1.0) * room
        likely = np.sqrt(np.clip((self.squares.value - self.n * m**2) / most, 0.0, 1.0))
        noise = np.minimum(self.squares.scale / most, 1.0)
        r = _around(likely, noise / np.maximum(2.0 * likely, np.sqrt(noise)), 0.0, 1.0, SIDE)
        log_density = self.squares.log_density(self.n * (m[:, np.newaxis] ** 2 + room[:, np.newaxis] * r**2))
        log_density += (2.0 * self.low - 1.0) * np.log(np.maximum(r, SMALLEST))
        log_density += (self.high - 1.0) * np.log(np.maximum(1.0 - r**2, SMALLEST))
        top = log_density.max(axis=1, keepdims=True)
        density = np.exp(log_density - top)
        mass = top[:, 0] + np.log(_pieces(r, density)[:, -1])
        return r, mass + self.total.log_density(self.n * m) + (self.means - 0.5) * np.log(room), density


def _around(centres: Array, widths: Array, low: float, high: float, side: int) -> Array:
    """From `low` to `high` for each centre, (centres, 2 side + 1): steps grow with the distance from it."""
    c, w = centres[:, np.newaxis], widths[:, np.newaxis]
    steps = np.linspace(0.0, 1.0, side + 1)
    below, above = np.arcsinh((low - c) / w), np.arcsinh((high - c) / w)
    found = c + w * np.sinh(np.concatenate([below * steps[:0:-1], above * steps], axis=1))
    return np.asarray(np.clip(found, low, high))


def _pieces(x: Array, density: Array) -> Array:
    """The integral up to every node, by trapezoids."""
    parts = 0.5 * (density[..., 1:] + density[..., :-1]) * np.diff(x, axis=-1)
    return np.concatenate([np.zeros((*x.shape[:-1], 1)), np.cumsum(parts, axis=-1)], axis=-1)


def _inverted(x: Array, density: Array, chance: Array, within: Array) -> Array:
    """A draw from each row's density: a piece, and a place in it where the density is straight."""
    sums = _pieces(x, density)
    piece = np.minimum((sums[:, 1:] < chance * sums[:, -1:]).sum(axis=1), x.shape[1] - 2)
    rows = np.arange(len(x))
    low, high = density[rows, piece], density[rows, piece + 1]
    root = low + np.sqrt(low**2 + (high**2 - low**2) * within)
    part = np.divide(within * (low + high), root, out=np.zeros_like(root), where=root > 0.0)
    return np.asarray(x[rows, piece] + part * (x[rows, piece + 1] - x[rows, piece]))
