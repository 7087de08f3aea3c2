"""Many groups and the population they come from, by quadrature: no chain, no tuning, the same answer every time.

    eta_g ~ N(m, tau²) independently,   m ~ N(mean, sd²),   tau ~ half-normal(spread),   release_g ~ L_g(eta_g)

    p(m, tau | all releases) ∝ p(m) p(tau) Π_g F_g(m, tau),        F_g = ∫ L_g(eta) N(eta; m, tau²) d eta
    p(eta_g | all releases)  ∝ L_g(eta_g) ∫ N(eta_g; m, tau²) p(m) p(tau) Π_{k≠g} F_k(m, tau) dm dtau

Everything is even in tau, so in u with tau = unit · sinh(u) the trapezoid rule from u = 0 loses nothing at the
boundary. Every tau has its own grid over m, because m is as sharp as the groups' agreement under that tau.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ConvergenceWarning
from discreet.inference.groups.sinh_quadrature import DEPTH, WIDE, SinhCurve, trace, uniform_weights
from discreet.numerics.arrays import Array

__all__ = ["Hyperprior", "Population", "fit_population"]


SCAN = 17  # nodes of one look in either direction while the mass is searched
FINAL = 33
MOST = 513
LARGEST_SPREAD = 6.0  # half-normal scales: beyond lies 2e-9 of the prior
NEGLIGIBLE = 1e-14
CONSISTENT = 0.01  # of a probability: corners of the noise and flat tails are summed less well than smooth peaks


@dataclass(frozen=True)
class Hyperprior:
    """What is believed beforehand of the centre (normal) and of the spread of the groups (half-normal)."""

    mean: float
    sd: float
    spread: float

    def log_density(self, m: Array, tau: Array) -> Array:
        """Joint log-density."""
        log_normal = -0.5 * ((m - self.mean) / self.sd) ** 2 - np.log(self.sd * np.sqrt(2.0 * np.pi))
        return np.asarray(log_normal - 0.5 * (tau / self.spread) ** 2 + 0.5 * np.log(2.0 / np.pi) - np.log(self.spread))


@dataclass(frozen=True)
class Population:
    """The posterior of (m, tau) on a grid, and what it takes to come back to the groups.

    `u` (T,) are the nodes of the spread, tau = unit · sinh(u); row i of `m` (T, M) are the nodes of the centre under
    it; `log_groups` (G, T, M) is log F_g; `log_masses` (T, M) are the log-probabilities of the nodes.
    """

    groups: tuple[SinhCurve, ...]
    unit: float
    u: Array
    m: Array
    log_groups: Array
    log_masses: Array
    log_evidence: float

    @cached_property
    def tau(self) -> Array:
        """Standard deviation of the groups at every node of the spread."""
        return self.tau_at(self.u)

    def tau_at(self, u: Array) -> Array:
        """Standard deviation of the groups at any u."""
        return np.asarray(self.unit * np.sinh(u))

    def group(self, g: int) -> SinhCurve:
        """Posterior density of eta_g: its own likelihood times what everything else says about it."""
        own, others, used = self.groups[g], self._others(g), self._used
        low, high = self.m[used, 0] - 8.0 * self.tau[used], self.m[used, -1] + 8.0 * self.tau[used]
        near = own.nodes[own.log_values > own.log_values.max() - DEPTH]  # a release may lie far from all others
        low, high = np.minimum(low, near[0]), np.maximum(high, near[-1])
        low, high = np.maximum(low, own.nodes[0]), np.minimum(high, own.nodes[-1])
        curve = trace(lambda x: own.at(x) + others(x), low.min(), high.max(), float((high - low).max()) / 16.0, 1e-7)
        # both orders of integration give the evidence: where they differ, some part of the sums was not resolved
        if not abs(curve.log_mass) < CONSISTENT:
            warnings.warn(
                "the sums over the population are not resolved, as releases lie very far from the prior or each other; "
                "intervals may be wrong",
                ConvergenceWarning,
                stacklevel=3,
            )
        return curve

    @cached_property
    def centre(self) -> SinhCurve:
        """Posterior density of m."""
        slices = [self._slice(i, self.log_masses) for i in self._used]
        low, high = self.m[self._used, 0], self.m[self._used, -1]
        return trace(
            lambda x: np.logaddexp.reduce([piece.at(x) for piece in slices]),
            low.min(),
            high.max(),
            float((high - low).max()) / 16,
        )

    @cached_property
    def spread(self) -> SinhCurve:
        """Posterior density of u, with tau = unit · sinh(u)."""
        weights = uniform_weights(self.u)
        return SinhCurve(self.u, weights, np.logaddexp.reduce(self.log_masses, axis=1) - np.log(weights))

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Independent draws of (m, tau); between two nodes of the spread, m comes from either in proportion."""
        u = self.spread.draw(n, rng)
        place = np.interp(u, self.u, np.arange(self.u.size))
        row = np.minimum(np.floor(place + rng.random(n)).astype(np.int64), self.u.size - 1)
        share = np.empty(n)
        for i in np.unique(row):
            drawn = self._slice(i, self.log_masses).draw(int((row == i).sum()), rng)
            share[row == i] = (drawn - self.m[i, 0]) / (self.m[i, -1] - self.m[i, 0])
        low, high = np.interp(u, self.u, self.m[:, 0]), np.interp(u, self.u, self.m[:, -1])
        return low + share * (high - low), self.tau_at(u)

    def _others(self, g: int) -> Callable[[Array], Array]:
        """Log-density of eta_g without its own release, up to a constant."""
        log_rest = self.log_masses - self.log_groups[g]
        spacing = self.m[:, 1] - self.m[:, 0]
        wide = [i for i in self._used if self.tau[i] >= WIDE * spacing[i]]
        narrow = [(self._slice(i, log_rest), self.tau[i]) for i in self._used if self.tau[i] < WIDE * spacing[i]]
        centres, sd = self.m[wide].ravel(), np.repeat(self.tau[wide], self.m.shape[1])
        log_terms = log_rest[wide].ravel() - np.log(sd * np.sqrt(2.0 * np.pi))
        masses = self.log_masses[wide].ravel()  # with the group's own release: without it, other nodes would matter
        kept = masses > masses.max(initial=-np.inf) - 80.0

        def log_density(x: Array) -> Array:
            parts = [piece.blurred(x, tau) for piece, tau in narrow]
            if wide:
                exponents = log_terms[kept] - 0.5 * ((x[:, np.newaxis] - centres[kept]) / sd[kept]) ** 2
                top = exponents.max(axis=1)
                parts.append(top + np.log(np.exp(exponents - top[:, np.newaxis]).sum(axis=1)))
            return np.asarray(np.logaddexp.reduce(parts))

        return log_density

    def _slice(self, i: int, log_masses: Array) -> SinhCurve:
        """One row of the grid as a curve in m."""
        weights = uniform_weights(self.m[i])
        return SinhCurve(self.m[i], weights, log_masses[i] - np.log(weights))

    @cached_property
    def _used(self) -> NDArray[np.int64]:
        return np.flatnonzero(np.exp(self.log_masses).sum(axis=1) > NEGLIGIBLE)


def fit_population(groups: tuple[SinhCurve, ...], prior: Hyperprior) -> Population:
    """Find where the mass of (m, tau) lies, then sum it on a grid that resolves it."""
    unit = min(prior.spread, *(2.0 * float(curve.weights.min()) for curve in groups)) / np.sqrt(len(groups))
    farthest = max(abs(float(curve.nodes[curve.log_values.argmax()]) - prior.mean) for curve in groups)
    widest = max(LARGEST_SPREAD * prior.spread, min(farthest, 100.0 * prior.spread))
    low, high = 0.0, float(np.arcsinh(widest / unit))
    u = np.linspace(low, high, SCAN)
    window = (
        np.full(SCAN, max(curve.nodes[0] for curve in groups)),
        np.full(SCAN, min(curve.nodes[-1] for curve in groups)),
    )
    settled = False
    while not settled:
        m, _, _, log_density = _over_centre(groups, prior, unit, u, window, SCAN)
        kept = np.flatnonzero(log_density > log_density.max() - DEPTH)
        left, right = float(u[max(kept[0] - 1, 0)]), float(u[min(kept[-1] + 1, SCAN - 1)])
        settled = right - left > 0.5 * (high - low)
        low, high = left, right
        finer = np.linspace(low, high, FINAL if settled else SCAN)
        u, window = finer, _windows_at(finer, u, m)
    while True:
        m, log_groups, log_joint, log_density = _over_centre(groups, prior, unit, u, window, FINAL)
        values = np.exp(log_density - log_density.max())
        mass, half = np.sum(values * uniform_weights(u)), np.sum(values[::2] * uniform_weights(u[::2]))
        if abs(mass - half) < 1e-4 * mass or u.size >= MOST:
            break
        finer = np.linspace(low, high, 2 * u.size - 1)
        u, window = finer, _windows_at(finer, u, m)
    log_evidence = float(np.log(mass) + log_density.max())
    log_weights = np.log(uniform_weights(m)) + np.log(unit * np.cosh(u) * uniform_weights(u))[:, np.newaxis]
    return Population(groups, unit, u, m, log_groups, log_joint + log_weights - log_evidence, log_evidence)


def _windows_at(finer: Array, u: Array, m: Array) -> tuple[Array, Array]:
    """Where to look for m under new spreads: wherever it was under the two neighbours among the old ones."""
    above = np.clip(np.searchsorted(u, finer), 1, u.size - 1)
    low, high = m[:, 0], m[:, -1]
    return np.minimum(low[above - 1], low[above]), np.maximum(high[above - 1], high[above])


def _over_centre(
    groups: tuple[SinhCurve, ...],
    prior: Hyperprior,
    unit: float,
    u: Array,
    window: tuple[Array, Array],
    size: int,
) -> tuple[Array, Array, Array, Array]:
    """For every u: nodes of m where the mass lies, log F_g and the log joint density there, and its integral over m."""
    tau = unit * np.sinh(u)[:, np.newaxis]
    low, high = (end[:, np.newaxis] for end in window)
    settled = False
    while not settled:
        m = low + (high - low) * np.linspace(0.0, 1.0, SCAN)
        _, log_joint = _joint(groups, prior, m, tau)
        kept = log_joint > log_joint.max(axis=1, keepdims=True) - DEPTH
        first = np.maximum(kept.argmax(axis=1) - 1, 0)[:, np.newaxis]
        last = np.minimum(SCAN - kept[:, ::-1].argmax(axis=1), SCAN - 1)[:, np.newaxis]
        left, right = np.take_along_axis(m, first, 1), np.take_along_axis(m, last, 1)
        settled = bool(np.all(right - left > 0.5 * (high - low)))
        low, high = left, right
    while True:
        m = low + (high - low) * np.linspace(0.0, 1.0, size)
        log_groups, log_joint = _joint(groups, prior, m, tau)
        top = log_joint.max(axis=1, keepdims=True)
        values = np.exp(log_joint - top)
        mass = (values * uniform_weights(m)).sum(axis=1)
        half = (values[:, ::2] * uniform_weights(m[:, ::2])).sum(axis=1)
        log_density = np.log(mass * unit * np.cosh(u)) + top[:, 0]
        shares = np.exp(log_density - log_density.max())
        if np.all(shares * np.abs(mass - half) < 1e-5 * mass) or size < FINAL or size >= MOST:
            return m, log_groups, log_joint, log_density
        size = 2 * size - 1


def _joint(groups: tuple[SinhCurve, ...], prior: Hyperprior, m: Array, tau: Array) -> tuple[Array, Array]:
    """Log F_g (G, T, M) and the log joint density (T, M)."""
    log_groups = np.stack([curve.blurred(m, np.broadcast_to(tau, m.shape)) for curve in groups])
    return log_groups, np.asarray(log_groups.sum(axis=0) + prior.log_density(m, tau))
