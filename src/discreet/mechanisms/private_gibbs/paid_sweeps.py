"""Gibbs sweeps of a hidden Markov model of events at given temperatures: every state of the chain is kept.

One sweep is two updates, each of which a private mechanism pays for (mechanisms/private_gibbs/proof.md):

    profiles    theta | z    independent Dirichlet(emission + counts of the state's cells / T), cut to theta ≥ lower
    states      z | theta    one pass over the cells; transitions integrated out, likelihood to the power 1/T

Profiles are rounded to a public grid before anything else reads them: what a later update sees is what is released.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.bounded_losses import log_ratio
from discreet.mechanisms.draws.exact_grid import grid_ends
from discreet.mechanisms.draws.truncated_probabilities import truncated_dirichlet
from discreet.numerics.arrays import Array, Integers
from discreet.queries.families import HiddenMarkov

__all__ = [
    "ProfileSpace",
    "State",
    "annealed",
    "log_likelihood",
    "log_weight",
    "public_start",
    "stacked_counts",
    "tempered_sweeps",
]


TRIES = 2000  # plain proposals, which take well below a microsecond, before the scheme that always ends is set up


class State(NamedTuple):
    """Hidden states (…, region, time), and profiles (…, state, level) with the levels of all fields side by side."""

    hidden: Integers
    profiles: Array


@dataclass(frozen=True)
class ProfileSpace:
    """Profiles of a family whose probabilities are at least `lower`, by field, on the points of a public grid."""

    family: HiddenMarkov
    lower: Mapping[str, float]
    grid: float

    @classmethod
    def truncated(cls, family: HiddenMarkov, truncation: float, grid: float) -> "ProfileSpace":
        """No probability is below `truncation` times that of an even profile."""
        return cls(family, {field: truncation / levels for field, levels in family.fields}, grid)

    @property
    def log_range(self) -> float:
        """2 C: how far log p(x | z, theta) - log p(x' | z, theta) ranges, C = sum of log((1 - (L-1) lower)/lower)."""
        return 2.0 * math.fsum(log_ratio(levels, self.lower[field]) for field, levels in self.family.fields)

    @cached_property
    def ends(self) -> Integers:
        """Where the levels of each field end."""
        return np.cumsum([levels for _, levels in self.family.fields], dtype=np.int64)

    @cached_property
    def grid_bounds(self) -> Array:
        """For each level of each field the first and last multiple of the grid from `lower` to the largest chance."""
        bounds = []
        for field, levels in self.family.fields:
            least = Fraction(self.lower[field])
            bounds += [grid_ends(least, 1 - (levels - 1) * least, self.grid)] * levels
        return np.array(bounds, dtype=float)

    @cached_property
    def public(self) -> Any:
        """The same as plain numbers for compiled loops."""
        from discreet.mechanisms.private_gibbs.kernels.sweep_steps import Chained

        lower = np.array([self.lower[field] for field, _ in self.family.fields])
        family = self.family
        return Chained(family.transition, family.emission, self.ends, lower, self.grid_bounds, self.grid)

    def holds(self, hidden: NDArray[Any], profiles: Mapping[str, NDArray[Any]]) -> bool:
        """Whether all hidden states (…, region, time) are codes, and all profiles by field lie in the space."""
        codes = np.asarray(hidden)
        known = np.all((codes == np.floor(codes)) & (codes >= 0) & (codes < self.family.states))
        side_by_side = np.concatenate([np.asarray(profiles[field]) for field, _ in self.family.fields], axis=-1)
        least, most = self.grid_bounds.T * self.grid
        return bool(known) and bool(np.all((side_by_side >= least) & (side_by_side <= most)))

    def by_field(self, profiles: Array) -> dict[str, Array]:
        """Profiles of each field apart."""
        parts = np.split(profiles, self.ends[:-1], axis=-1)
        return {field: part for (field, _), part in zip(self.family.fields, parts, strict=True)}


def stacked_counts(family: HiddenMarkov, exact: Mapping[str, NDArray[Any]]) -> Array:
    """Exact counts (region, time, level) by field as one table: cells × levels of all fields."""
    cells = family.regions * family.times
    tables = [np.asarray(exact[field], dtype=float).reshape(cells, levels) for field, levels in family.fields]
    return np.concatenate(tables, axis=1)


def public_start(space: ProfileSpace, noise: np.random.Generator) -> State:
    """Hidden states and profiles from the prior: no data."""
    from discreet.mechanisms.private_gibbs.kernels.sweep_steps import draw_profiles, prior_states, round_profiles

    family, model = space.family, space.public
    hidden = np.zeros((family.regions, family.times), dtype=np.int64)
    prior_states(model.transition, family.states, noise, hidden)
    alpha = np.full((family.states, int(space.ends[-1])), model.emission)
    profiles = np.empty_like(alpha)
    missing = draw_profiles(alpha, model.ends, model.lower, TRIES, noise, profiles)
    _fill(space, alpha, missing, noise, profiles)
    round_profiles(model, profiles)
    return State(hidden, profiles)


def tempered_sweeps(
    space: ProfileSpace,
    exact: Array,
    temperatures: Sequence[float],
    start: State,
    noise: np.random.Generator,
) -> State:
    """The state after each sweep, one for each temperature, along the first axis; `exact` counts are stacked."""
    from discreet.mechanisms.private_gibbs.kernels.sweep_steps import sweep

    heats, hidden = np.array(temperatures, dtype=float), start.hidden.copy()
    kept = State(np.empty((heats.size, *hidden.shape), dtype=np.int64), np.empty((heats.size, *start.profiles.shape)))
    at, ready = 0, False
    while at < heats.size:
        at, alpha, missing = sweep(
            exact, heats, space.public, TRIES, at, ready, noise, hidden, kept.profiles, kept.hidden
        )
        if at < heats.size:
            _fill(space, alpha, missing, noise, kept.profiles[at])
            ready = True
    return kept


def annealed(space: ProfileSpace, exact: Array, temperatures: Sequence[float], noise: np.random.Generator) -> State:
    """The path of one particle: its start from the prior, then the state after a sweep at each temperature."""
    start = public_start(space, noise)
    swept = tempered_sweeps(space, exact, temperatures, start, noise)
    return State(np.concatenate([start.hidden[None], swept.hidden]), np.concatenate([start.profiles[None], swept[1]]))


def log_weight(exact: Array, path: State, temperatures: Sequence[float]) -> float:
    """Log importance weight of a path: at each level the gain in inverse temperature times u before the sweep."""
    gains = np.diff(1.0 / np.array(temperatures), prepend=0.0)
    return float(log_likelihood(exact, State(path.hidden[:-1], path.profiles[:-1])) @ gains)


def log_likelihood(exact: Array, states: State) -> Array:
    """The log-likelihood log p(X | z, theta) of every state along the leading axes."""
    hidden = states.hidden.reshape(*states.hidden.shape[:-2], -1)
    every = exact @ np.log(np.swapaxes(states.profiles, -1, -2))  # (…, cell, state)
    return np.asarray(np.take_along_axis(every, hidden[..., None], axis=-1)[..., 0].sum(axis=-1))


def _fill(
    space: ProfileSpace, alpha: Array, missing: NDArray[np.bool_], noise: np.random.Generator, drawn: Array
) -> None:
    """Draw the profiles that plain proposals did not hit, by the scheme that always ends."""
    for k, d in np.argwhere(missing) if missing.any() else ():
        own = slice(space.ends[d - 1] if d > 0 else 0, space.ends[d])
        drawn[k, own] = truncated_dirichlet(alpha[k, own], float(space.public.lower[d]), 1, noise)[0]
