"""Chains for a hidden Markov model of event logs from counts that are taken as they are [F-HMM].

    start, rows of A ~ Dirichlet(transition);  z[r, 0] ~ start,  z[r, t] ~ A[z[r, t-1]]
    profiles θ[k, d] ~ Dirichlet(emission);    each event of cell (r, t) has levels from θ[z[r, t], d], d = 1, 2, …

Counts are exponents, Π θ^count, so noisy ones may be negative or broken; a profile's law given the states is
Dirichlet(emission + max(0, sum of the counts)). That ignores the noise: `hidden_noise` does not. Each chain begins with
a small power of the likelihood, which rises to 1 in the first half of the warm-up, so that a state is shaped by all
regions before single cells are sure of theirs; of several such starts the one with most evidence goes on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.inference.convergence import until_mixed
from discreet.inference.hidden_markov.label_alignment import under_one_name
from discreet.inference.parallel_chains import REPORTED, Progress, run_chains, side_by_side
from discreet.numerics.arrays import Array, Integers
from discreet.queries.families import HiddenMarkov

if TYPE_CHECKING:
    from discreet.inference.hidden_markov.kernels.hidden_states import Hidden, Prior

__all__ = [
    "Chain",
    "HiddenDraws",
    "cell_log_likelihoods",
    "copy_hidden",
    "flat_counts",
    "hidden_chains",
    "log_evidence",
    "mixed_draws",
    "plug_in_start",
    "prior_of",
    "stack_draws",
]

Sampler = Literal["blocked", "collapsed"]
Chain = Callable[[int], tuple[list["Hidden"], Integers | None]]  # goes on by so many states; events of cells, if any

STARTS = 3  # of each chain; the one with most evidence goes on
NEVER = -1e300  # the log of an impossible event: 0 times it is 0, and it can be subtracted from itself
FEW_EVENTS = 2.0  # the likelihood begins with the power at which a cell is worth this many levels


@dataclass(frozen=True)
class HiddenDraws:
    """Kept states of all chains; `totals`, the events of every cell, where the true counts were unknown too."""

    states: Integers  # (chains, draws, regions, times)
    start: Array  # (chains, draws, states)
    transitions: Array  # (chains, draws, states, states), a row for every earlier state
    profiles: Mapping[str, Array]  # by field: (chains, draws, states, levels)
    totals: Integers | None = None  # (chains, draws, regions, times)


def hidden_chains(
    family: HiddenMarkov,
    counts: Mapping[str, ArrayLike],
    rng: np.random.Generator,
    *,
    draws: int = 200,
    most: int | None = None,
    warm_up: int = 100,
    chains: int = 4,
    sampler: Sampler = "blocked",
    observed: NDArray[np.bool_] | None = None,
    progress: Progress | None = None,
) -> HiddenDraws:
    """Draws of states, transitions and profiles as if the counts were exact.

    Parameters
    ----------
    counts
        Counts (regions, times, levels) of each field; real numbers.
    draws, most
        How many states of each chain are kept: so many, or up to `most` until what is reported of them mixed.
    sampler
        Draw a region's states at once given the transitions, or one after the other with transitions integrated out.
    observed
        False (regions, times) where the counts of a cell are to be ignored.
    progress
        Told, now and then, how many states of all chains were made since the last time.
    """
    flat = flat_counts(family, counts, observed)

    def start(own: np.random.Generator) -> Chain:
        return _started(family, flat, own, warm_up, sampler, progress)

    return mixed_draws(family, run_chains(start, chains, rng), draws, most)


def mixed_draws(family: HiddenMarkov, chains: Sequence[Chain], draws: int, most: int | None = None) -> HiddenDraws:
    """So many states of every chain, or up to `most` until start, transitions and profiles mixed, under one name each.

    The names of states are the same in all draws only after `label_alignment`: what it makes of them is looked at.
    """

    def more(count: int) -> dict[str, NDArray[Any]]:
        found = side_by_side(chains, count)
        drawn = stack_draws(family, [kept for kept, _ in found])
        totals = {"totals": np.array([own for _, own in found])} if found[0][1] is not None else {}
        profiles = {f"profile {name}": values for name, values in drawn.profiles.items()}
        return {"states": drawn.states, "start": drawn.start, "moves": drawn.transitions, **profiles, **totals}

    def by_field(drawn: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return {name: drawn[f"profile {name}"] for name, _ in family.fields}

    def reported(drawn: Mapping[str, NDArray[Any]]) -> dict[str, Array]:
        return under_one_name(drawn["states"], drawn["start"], drawn["moves"], by_field(drawn))[1]

    drawn = more(draws) if most is None else until_mixed(more, draws, most, reported)
    return HiddenDraws(drawn["states"], drawn["start"], drawn["moves"], by_field(drawn), drawn.get("totals"))


def cell_log_likelihoods(counts: ArrayLike, log_profiles: ArrayLike) -> Array:
    """Σ_l counts[…, l] log θ[k, l] for cells (…, levels) and profiles (states, levels), fields end to end: (…, states).

    The number of ways to order a cell's events is left out: it is the same in every state.
    """
    from discreet.inference.hidden_markov.kernels.hidden_states import log_likelihoods

    cells = np.asarray(counts, dtype=float)
    logs = np.maximum(np.ascontiguousarray(log_profiles, dtype=float), NEVER)
    flat = log_likelihoods(np.ascontiguousarray(cells.reshape(-1, cells.shape[-1])), logs, 1.0)
    return np.asarray(flat.reshape(*cells.shape[:-1], logs.shape[0]))


def flat_counts(
    family: HiddenMarkov, counts: Mapping[str, ArrayLike], observed: NDArray[np.bool_] | None = None
) -> Array:
    """Counts (cells, levels) with all fields end to end; zeros, which say nothing, where they are to be ignored."""
    cells = (family.regions, family.times)
    parts = []
    for name, levels in family.fields:
        values = np.asarray(counts.get(name, ()), dtype=float)
        if values.shape != (*cells, levels) or not np.all(np.isfinite(values)):
            raise QueryError(f"hidden_chains.counts[{name!r}] must be finite and of shape {(*cells, levels)}")
        parts.append(values)
    flat = np.concatenate(parts, axis=-1)
    if observed is not None:
        if np.shape(observed) != cells:
            raise QueryError(f"hidden_chains.observed must be of shape {cells}, got {np.shape(observed)}")
        flat = np.where(np.asarray(observed, dtype=bool)[..., np.newaxis], flat, 0.0)
    return np.ascontiguousarray(flat.reshape(-1, flat.shape[-1]))


def prior_of(family: HiddenMarkov) -> "Prior":
    """Concentrations and the first level of every field, as compiled sweeps read them."""
    from discreet.inference.hidden_markov.kernels.hidden_states import Prior

    ends = np.cumsum([0, *(levels for _, levels in family.fields)], dtype=np.int64)
    return Prior(float(family.transition), float(family.emission), ends)


def plug_in_start(
    family: HiddenMarkov,
    flat: Array,
    rng: np.random.Generator,
    warm_up: int,
    sampler: Sampler = "blocked",
    starts: int = STARTS,
) -> "Hidden":
    """A chain after its warm-up: the best of a few that saw the likelihood rise, and then as it is."""
    from discreet.inference.hidden_markov.kernels.hidden_states import Hidden, draw_parameters

    sweep, prior, size = _sweep(sampler), prior_of(family), family.states
    lowest = min(FEW_EVENTS / max(float(flat.sum(axis=1).mean()), FEW_EVENTS), 1.0)
    found = []
    for slope in np.linspace(1.0, 0.5, starts if size > 1 else 1):  # some rise from less far below
        powers = np.geomspace(lowest**slope, 1.0, warm_up // 2)
        states = _spread_states(family, flat, rng)
        hidden = Hidden(states, np.empty(size), np.empty((size, size)), np.empty((size, flat.shape[1])))
        draw_parameters(hidden, flat, prior, float(powers[0]) if powers.size else 1.0, rng)
        for power in powers:
            sweep(hidden, flat, prior, float(power), rng)
        found.append(hidden)
    best = max(found, key=lambda hidden: log_evidence(family, flat, hidden.states))
    for _ in range(warm_up - warm_up // 2):
        sweep(best, flat, prior, 1.0, rng)
    return best


def log_evidence(family: HiddenMarkov, flat: Array, states: Integers) -> float:
    """The log of p(states, counts) with start, transitions and profiles integrated out, up to a constant."""
    from discreet.numerics.kernels.hidden_pass import count_moves

    sums = np.zeros((family.states, flat.shape[1]))
    np.add.at(sums, states.ravel(), flat)
    fields = np.split(np.maximum(sums, 0.0), prior_of(family).first_level[1:-1], axis=-1)
    rows = [(count_moves(states, family.states), family.transition), *((field, family.emission) for field in fields)]
    return float(sum(_log_dirichlet_multinomial(table, alpha) for table, alpha in rows))


def copy_hidden(hidden: "Hidden") -> "Hidden":
    """The same numbers in arrays of their own."""
    from discreet.inference.hidden_markov.kernels.hidden_states import Hidden

    states, log_start, log_transitions, log_profiles = hidden
    return Hidden(states.copy(), log_start.copy(), log_transitions.copy(), log_profiles.copy())


def stack_draws(family: HiddenMarkov, chains: "list[list[Hidden]]") -> HiddenDraws:
    """Kept states of several chains as arrays (chains, draws, …)."""
    states, log_start, log_transitions, log_profiles = (
        np.array([[draw[part] for draw in chain] for chain in chains]) for part in range(4)
    )
    ends = np.cumsum([levels for _, levels in family.fields])[:-1]
    by_field = np.split(np.exp(log_profiles), ends, axis=-1)
    profiles = {name: part for (name, _), part in zip(family.fields, by_field, strict=True)}
    return HiddenDraws(states, np.exp(log_start), np.exp(log_transitions), profiles)


def _started(
    family: HiddenMarkov,
    flat: Array,
    rng: np.random.Generator,
    warm_up: int,
    sampler: Sampler,
    progress: Progress | None,
) -> Chain:
    """One chain after its warm-up."""
    sweep, prior = _sweep(sampler), prior_of(family)
    hidden = plug_in_start(family, flat, rng, warm_up, sampler)
    if progress is not None:
        progress(warm_up)

    def more(draws: int) -> tuple[list["Hidden"], None]:
        kept = []
        for state in range(draws):
            sweep(hidden, flat, prior, 1.0, rng)
            kept.append(copy_hidden(hidden))
            if progress is not None and (state + 1) % REPORTED == 0:
                progress(REPORTED)
        return kept, None

    return more


def _sweep(sampler: Sampler) -> Callable[..., None]:
    from discreet.inference.hidden_markov.kernels.hidden_states import blocked_sweep, collapsed_sweep

    sweep: Callable[..., None] = blocked_sweep if sampler == "blocked" else collapsed_sweep
    return sweep


def _spread_states(family: HiddenMarkov, flat: Array, rng: np.random.Generator) -> Integers:
    """Every cell in the state of the nearest of K centres: cells, each drawn by how badly the earlier ones fit it."""
    counts = np.maximum(flat, 0.0)
    own = np.sum(counts * _log_shares(family, counts), axis=1)
    misfit = np.where(counts.any(axis=1), 1.0, 0.0)
    nearest, states = np.full(len(counts), np.inf), np.zeros(len(counts), dtype=np.int64)
    for state in range(family.states):
        chosen = rng.choice(len(counts), p=misfit / misfit.sum()) if misfit.any() else rng.integers(len(counts))
        distance = np.maximum(
            own - cell_log_likelihoods(counts, _log_shares(family, counts[chosen][np.newaxis]))[:, 0], 0.0
        )
        states[distance < nearest] = state
        nearest = np.minimum(nearest, distance)
        misfit = nearest
    return states.reshape(family.regions, family.times)


def _log_shares(family: HiddenMarkov, counts: Array) -> Array:
    """Logs of the levels' shares in each field, for counts (…, levels) with all fields end to end."""
    fields = np.split(counts + family.emission, prior_of(family).first_level[1:-1], axis=-1)
    return np.asarray(np.log(np.concatenate([field / field.sum(axis=-1, keepdims=True) for field in fields], axis=-1)))


def _log_dirichlet_multinomial(table: NDArray[Any], alpha: float) -> float:
    """Σ over the table's rows of log Π Γ(alpha + count) / Γ(all of them), relative to no counts."""
    from scipy.special import gammaln

    within = np.sum(gammaln(table + alpha) - gammaln(alpha), axis=-1)
    whole = table.shape[-1] * alpha
    return float(np.sum(within + gammaln(whole) - gammaln(table.sum(axis=-1) + whole)))
