"""Chains for a hidden Markov model of event logs, given only noisy counts of its cells.

    n[c, d, :] ~ Multinomial(N[c], θ[z[c], d]);  y = n + noise;  z, θ and A as in `hidden_chains`
    given the whole number of events, all ways to split it over the cells are alike; the whole has a declared prior

True counts and totals are part of the state of a chain, so the posterior is that of the release itself: profiles are
not pulled towards the noise and states are not surer than the noise allows. The moves are in `kernels.hidden_counts`
and `kernels.hidden_couplings`; a chain begins where a plug-in one ends that trusts each field by its noise.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.inference.hidden_markov.hidden_chains import (
    Chain,
    HiddenDraws,
    copy_hidden,
    flat_counts,
    log_evidence,
    mixed_draws,
    plug_in_start,
    prior_of,
)
from discreet.inference.parallel_chains import REPORTED, Progress, run_chains
from discreet.noise import NoiseLaw
from discreet.numerics.arrays import Array, Integers
from discreet.queries.families import HiddenMarkov
from discreet.schema.row_counts import Sizes

if TYPE_CHECKING:
    from discreet.inference.hidden_markov.kernels.hidden_counts import EventCounts, EventPlan
    from discreet.inference.hidden_markov.kernels.hidden_states import Hidden
    from discreet.inference.network.kernels.network_layout import Released

__all__ = ["noise_aware_chains", "released_counts", "start_chain"]


FIRST, MOST = 500, 4000  # draws of each chain before it is asked whether they mixed, and at most
PLUG_IN = 100  # sweeps of the plug-in chain at the start
TRIALS = 4  # starts that share half of the warm-up; the most likely goes on
LARGEST_BLOCK = 1024  # events that are born or die at once
DEVIATIONS = 2.0  # with which the fields tell a cell's total: a block is at most so many of them
WIDE = 50.0  # deviations of the whole's estimate within which its prior is tabulated
FACTORIALS = 2**16


def noise_aware_chains(
    family: HiddenMarkov,
    counts: Mapping[str, ArrayLike],
    laws: Mapping[str, NoiseLaw],
    sizes: Sizes,
    rng: np.random.Generator,
    *,
    draws: int | None = None,
    warm_up: int = 200,
    chains: int = 4,
    observed: NDArray[np.bool_] | None = None,
    progress: Progress | None = None,
) -> HiddenDraws:
    """Draws of states, transitions, profiles and the events of every cell given the release.

    Parameters
    ----------
    counts
        Released counts (regions, times, levels) of each field.
    laws
        The noise that was added to the counts of each field.
    sizes
        What is known beforehand of the number of events in all cells, ignored ones too.
    draws
        How many states of each chain are kept; without it, until what is reported of them mixed, up to `MOST`.
    observed
        False (regions, times) where the counts of a cell are to be ignored.
    progress
        Told, now and then, how many states of all chains were made since the last time.
    """
    cells = family.regions * family.times
    for name, _ in family.fields:
        if name not in laws:
            raise QueryError(f"noise_aware_chains.laws must have the field {name!r}, got {list(laws)}")
    flat = flat_counts(family, counts, observed)
    kept = np.flatnonzero(np.ones(cells, dtype=bool) if observed is None else np.ravel(observed))
    if kept.size == 0:
        raise QueryError("noise_aware_chains.observed must have at least one cell")
    by_field = [laws[name] for name, _ in family.fields]

    def start(own: np.random.Generator) -> Chain:
        return _started(family, flat, kept, by_field, sizes, own, warm_up, progress)

    started = run_chains(start, chains, rng)
    return mixed_draws(family, started, FIRST, MOST) if draws is None else mixed_draws(family, started, draws)


def _started(
    family: HiddenMarkov,
    flat: Array,
    kept: Integers,
    laws: list[NoiseLaw],
    sizes: Sizes,
    rng: np.random.Generator,
    warm_up: int,
    progress: Progress | None,
) -> Chain:
    """One chain after its warm-up; it goes on with its states and the events of every cell (draws, regions, times)."""
    from discreet.inference.hidden_markov.kernels.hidden_couplings import advance

    prior, released = prior_of(family), released_counts(flat, laws)
    ignored = np.setdiff1d(np.arange(len(flat)), kept)
    hidden, state, plan = _best_start(family, flat, kept, laws, sizes, rng, warm_up // 2)
    for _ in range(warm_up - warm_up // 2):
        advance(hidden, state, prior, released, plan, rng)
    if progress is not None:
        progress(warm_up)

    def more(draws: int) -> tuple[list["Hidden"], Integers]:
        found, totals = [], np.empty((draws, len(flat)), dtype=np.int64)
        for draw in range(draws):
            advance(hidden, state, prior, released, plan, rng)
            found.append(copy_hidden(hidden))
            totals[draw] = state.totals
            totals[draw, ignored] = _split(int(state.sums[1]), ignored.size, rng)
            if progress is not None and (draw + 1) % REPORTED == 0:
                progress(REPORTED)
        return found, totals.reshape(draws, family.regions, family.times)

    return more


def _best_start(
    family: HiddenMarkov,
    flat: Array,
    kept: Integers,
    laws: list[NoiseLaw],
    sizes: Sizes,
    rng: np.random.Generator,
    sweeps: int,
) -> "tuple[Hidden, EventCounts, EventPlan]":
    """Several starts share the sweeps; the one whose later half is most likely goes on."""
    from discreet.inference.hidden_markov.kernels.hidden_couplings import advance

    prior, released = prior_of(family), released_counts(flat, laws)
    trials = TRIALS if family.states > 1 and sweeps >= TRIALS else 1
    found = []
    for _ in range(trials):
        hidden, state, plan = start_chain(family, flat, kept, laws, sizes, rng)
        score = 0.0
        for sweep in range(sweeps // trials):
            advance(hidden, state, prior, released, plan, rng)
            score += _log_joint(family, flat, kept, laws, hidden, state) if 2 * sweep >= sweeps // trials else 0.0
        found.append((score, (hidden, state, plan)))
    return max(found, key=lambda start: start[0])[1]


def start_chain(
    family: HiddenMarkov, flat: Array, kept: Integers, laws: list[NoiseLaw], sizes: Sizes, rng: np.random.Generator
) -> "tuple[Hidden, EventCounts, EventPlan]":
    """States and profiles of a plug-in chain on counts without most of their noise, and counts that fit them."""
    from discreet.inference.hidden_markov.kernels.hidden_counts import EventCounts

    levels = np.array([levels for _, levels in family.fields])
    variances = np.array([law.variance for law in laws])
    by_level = np.repeat(variances, levels)
    weights = 1.0 / (levels * variances)
    sums = np.add.reduceat(flat[kept], prior_of(family).first_level[:-1], axis=1)
    guesses = sums @ weights / weights.sum()
    spread = float(np.sqrt(kept.size / weights.sum()))
    whole, ignored = _whole(float(guesses.sum()), kept.size, len(flat), sizes)
    totals = np.zeros(len(flat), dtype=np.int64)
    totals[kept] = _nearest_counts(guesses[np.newaxis], np.array([whole - ignored]))[0]

    # a count of variance N θ + v carries the share N θ / (N θ + v) of what an exact one says; θ as if levels were alike
    mean = float(totals[kept].mean())
    trust = np.repeat(mean / (mean + levels * variances), levels)
    hidden = plug_in_start(family, flat * trust, rng, PLUG_IN)
    likely = _pulled(flat, totals[:, np.newaxis] * np.exp(hidden.log_profiles)[hidden.states.ravel()], by_level)
    fields = [_nearest_counts(part, totals) for part in np.split(likely, np.cumsum(levels)[:-1], axis=1)]
    state = EventCounts(np.concatenate(fields, axis=1).ravel(), totals, np.array([whole, ignored]))
    return hidden, state, _plan(kept, len(flat), whole, ignored, spread, variances, weights, sizes)


def _log_joint(
    family: HiddenMarkov, flat: Array, kept: Integers, laws: list[NoiseLaw], hidden: "Hidden", state: "EventCounts"
) -> float:
    """Log-density of release, counts and states; a start that merged two states is far behind others."""
    from scipy.special import gammaln

    exact = state.levels.reshape(flat.shape).astype(float)
    parts = np.split(flat[kept] - exact[kept], prior_of(family).first_level[1:-1], axis=1)
    ways = len(laws) * np.sum(gammaln(state.totals[kept] + 1.0)) - np.sum(gammaln(exact + 1.0))
    density = sum(float(np.sum(law.log_density(part))) for law, part in zip(laws, parts, strict=True))
    return float(density + ways + log_evidence(family, exact, hidden.states))


def _plan(
    kept: Integers,
    cells: int,
    whole: int,
    ignored: int,
    spread: float,
    variances: Array,
    weights: Array,
    sizes: Sizes,
) -> "EventPlan":
    """How far events move at once, and the prior of the whole where it can matter.

    About 1 / Σ 1/v events can be born before the noise densities refuse, v the variance in each field; more than two
    deviations with which the fields tell a cell's total need not. Small ones are proposed more often, so that totals
    walk slowly where blocks end at one.
    """
    from scipy.special import gammaln

    from discreet.inference.hidden_markov.kernels.hidden_counts import EventPlan

    block = int(np.clip(min(1.0 / np.sum(1.0 / variances), DEVIATIONS * weights.sum() ** -0.5), 1, LARGEST_BLOCK))
    missing = cells - kept.size
    reach = WIDE * spread + 64.0 * LARGEST_BLOCK + (WIDE * (ignored + 1.0) / np.sqrt(missing) if missing else 0.0)
    low, high = max(sizes.lowest, whole - int(reach)), min(sizes.highest, whole + int(reach))
    wholes = np.arange(low, high + 1, dtype=float)
    log_sizes = sizes.log_weight(wholes) - gammaln(wholes + cells) + gammaln(wholes + 1.0)
    ignored_block = max(int(2.0 * (ignored + 1.0) / np.sqrt(missing + 1.0)), 1)
    log_factorials = np.cumsum(np.log(np.maximum(np.arange(FACTORIALS, dtype=float), 1.0)))
    return EventPlan(kept, missing, block, ignored_block, variances, log_sizes, low, log_factorials)


def _whole(guess: float, kept: int, cells: int, sizes: Sizes) -> tuple[int, int]:
    """Events in all cells and in the ignored ones: the cells that are not ignored are taken for average ones."""
    here = int(np.clip(round(guess), 0, sizes.highest))
    if sizes.lowest == sizes.highest:
        return sizes.highest, (sizes.highest - here if kept < cells else 0)
    ignored = min(round(here * (cells - kept) / kept), sizes.highest - here)
    return here + ignored, ignored


def _pulled(flat: Array, expected: NDArray[Any], variances: Array) -> Array:
    """Noisy counts pulled towards expected ones by the part of their variance that is noise; not below 0."""
    pull = expected / (expected + variances)
    return np.asarray(np.maximum(expected + pull * (flat - expected), 0.0))


def _nearest_counts(values: Array, sums: Integers) -> Integers:
    """The nearest integers ≥ 0 with given sums along rows: a common shift, cut at 0; largest remainders rounded up."""
    width = values.shape[1]
    sorted_values = -np.sort(-values, axis=1)
    shifts = (np.cumsum(sorted_values, axis=1) - sums[:, np.newaxis]) / np.arange(1, width + 1)
    above = np.maximum(np.sum(sorted_values > shifts, axis=1), 1)
    exact = np.maximum(values - np.take_along_axis(shifts, above[:, np.newaxis] - 1, axis=1), 0.0)
    counts = np.floor(exact).astype(np.int64)
    missing = sums - counts.sum(axis=1)
    order = np.argsort(np.argsort(counts - exact, axis=1, kind="stable"), axis=1, kind="stable")
    whole, rest = np.divmod(missing, width)
    return np.asarray(counts + whole[:, np.newaxis] + (order < rest[:, np.newaxis]))


def _split(events: int, cells: int, rng: np.random.Generator) -> Integers:
    """Events over cells, all ways alike: the bars among stars and bars."""
    if cells == 0:
        return np.zeros(0, dtype=np.int64)
    bars = np.sort(rng.choice(events + cells - 1, cells - 1, replace=False))
    return np.asarray(np.diff(bars, prepend=-1, append=events + cells - 1) - 1)


def released_counts(flat: Array, laws: list[NoiseLaw]) -> "Released":
    """Released counts end to end, and the noise of each field."""
    from discreet.inference.network.kernels.network_layout import Released

    widths = np.array([law.width for law in laws])
    return Released(flat.ravel(), np.array([law.gaussian for law in laws]), widths)
