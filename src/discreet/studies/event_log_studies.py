"""Event logs: how well private posteriors find known states, and how well they predict cells they have not seen.

Held-out likelihoods are functions of private cells and no mechanism protects them: they belong here and nowhere else.
`tempered_draws` runs the sampler of the papers for many sweeps and takes its last state for an exact draw of the
tempered posterior. Its epsilon would hold for exact draws only, so it is for comparison and never released.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.inference.hidden_markov.hidden_chains import (
    HiddenDraws,
    cell_log_likelihoods,
    flat_counts,
    hidden_chains,
)
from discreet.inference.hidden_markov.hidden_noise import noise_aware_chains
from discreet.mechanisms import NoisyStatistics
from discreet.mechanisms.private_gibbs.paid_sweeps import (
    ProfileSpace,
    State,
    public_start,
    stacked_counts,
    tempered_sweeps,
)
from discreet.models import EventLogHMM
from discreet.numerics.arrays import Mask
from discreet.pipeline import simulate
from discreet.posterior import EventLogPosterior
from discreet.queries.families import HiddenMarkov
from discreet.sources import Dataset
from discreet.sources.open import open_dataset
from discreet.studies.synthetic_event_log import EventLog

__all__ = [
    "METHODS",
    "HeldOut",
    "Method",
    "Split",
    "held_out",
    "held_out_curve",
    "not_private",
    "one_tempered",
    "recovered",
    "tempered_draws",
    "tempered_states",
    "used_states",
]

Counts = Mapping[str, NDArray[Any]]

DELTA = 1e-5  # of Gaussian noise
TEMPERED_SWEEPS = 200
CHAIN: dict[str, Any] = {  # one short chain for every method: a study makes hundreds of them
    "chains": 1,
    "draws": 100,
    "warm_up": 100,
}
GRID = 2.0**-32
SHARE_HELD_OUT = 0.1


def recovered(log: EventLog, epsilon: float, kind: str, seed: int, states: int = 2) -> tuple[float, int]:
    """Adjusted Rand index of the most frequent states against the true ones, and how many states are used."""
    dataset = open_dataset(log.table, log.schema, id="synthetic")
    model = EventLogHMM("region", "month", tuple(log.profiles), states=states)
    split = Split(model, dataset, {}, np.ones(log.states.shape, dtype=bool), seed)
    draws = METHODS[f"Laplace, {kind}"](split, epsilon)
    posterior = EventLogPosterior.from_draws(draws, model.coordinates(dataset.schema))
    return log.adjusted_rand(posterior.states()), int(posterior.used_states())


def used_states(log: EventLog, states: int) -> int:
    """How many of the offered states the posterior of the exact counts uses."""
    dataset = open_dataset(log.table, log.schema, id="synthetic")
    model = EventLogHMM("region", "month", tuple(log.profiles), states=states)
    query = model.query(dataset.schema)
    posterior = model.plug_in(query, dataset.source.statistics(query))
    return int(posterior.used_states())


@dataclass(frozen=True)
class Split:
    """One table of counts, the cells that are seen, and the randomness of one repetition."""

    model: EventLogHMM
    dataset: Dataset
    counts: Counts
    observed: Mask
    seed: int

    @property
    def family(self) -> HiddenMarkov:
        """The data of the model."""
        return cast(HiddenMarkov, self.model.query(self.dataset.schema).family)

    def released(self, mechanism: NoisyStatistics) -> Counts:
        """Noisy counts of all cells; those that are held out are ignored by every method."""
        (release,) = simulate(self.model, self.dataset, mechanism, runs=1, seed=self.seed)
        return release.value


def _plug_in(split: Split, counts: Counts) -> HiddenDraws:
    return hidden_chains(split.family, counts, np.random.default_rng(split.seed), observed=split.observed, **CHAIN)


def not_private(split: Split, epsilon: float) -> HiddenDraws:  # noqa: ARG001 - the signature all methods share
    """The posterior of the exact counts that are seen."""
    return hidden_chains(
        split.family, split.counts, np.random.default_rng(split.seed), observed=split.observed, **CHAIN
    )


def _laplace(split: Split, epsilon: float) -> HiddenDraws:
    counts = split.released(NoisyStatistics(epsilon=epsilon))
    return _plug_in(split, counts)


def _gaussian(split: Split, epsilon: float) -> HiddenDraws:
    counts = split.released(NoisyStatistics(epsilon=epsilon, delta=DELTA))
    return _plug_in(split, counts)


def _noise_aware(split: Split, epsilon: float) -> HiddenDraws:
    mechanism, query = NoisyStatistics(epsilon=epsilon), split.model.query(split.dataset.schema)
    counts, rng = split.released(mechanism), np.random.default_rng(split.seed)
    return noise_aware_chains(
        split.family, counts, mechanism.laws(query), query.sizes, rng, observed=split.observed, **CHAIN
    )


def one_tempered(split: Split, epsilon: float, truncation: float = 0.1) -> HiddenDraws:
    """The last state of the papers' sampler, profiles at least `truncation` times even ones: never a release."""
    seen = {name: np.where(split.observed[..., None], table, 0) for name, table in split.counts.items()}
    return tempered_draws(split.family, seen, epsilon, truncation, np.random.default_rng(split.seed))


Method = Callable[[Split, float], HiddenDraws]

METHODS: dict[str, Method] = {
    "Laplace, plug-in": _laplace,
    "Gaussian, plug-in": _gaussian,
    "Laplace, noise-aware": _noise_aware,
    "one tempered draw (if it were exact)": one_tempered,
}


def tempered_draws(
    family: HiddenMarkov, counts: Counts, epsilon: float, truncation: float, rng: np.random.Generator
) -> HiddenDraws:
    """The last of many sweeps at the temperature 2 C / epsilon, taken for one exact draw: never a release."""
    space = ProfileSpace.truncated(family, truncation, GRID)
    swept = tempered_states(space, counts, epsilon, rng)
    last = swept.hidden[-1]
    moves = np.zeros((family.states, family.states))
    np.add.at(moves, (last[:, :-1].ravel(), last[:, 1:].ravel()), 1.0)
    transitions = np.array([rng.dirichlet(row + family.transition) for row in moves])
    start = rng.dirichlet(np.bincount(last[:, 0], minlength=family.states) + family.transition)
    profiles = {name: part[None, None] for name, part in space.by_field(swept.profiles[-1]).items()}
    return HiddenDraws(last[None, None], start[None, None], transitions[None, None], profiles)


def tempered_states(space: ProfileSpace, counts: Counts, epsilon: float, rng: np.random.Generator) -> State:
    """All sweeps of the papers' sampler at the temperature 2 C / epsilon from a start that looks at nothing."""
    temperatures = [max(1.0, space.log_range / epsilon)] * TEMPERED_SWEEPS
    return tempered_sweeps(space, stacked_counts(space.family, counts), temperatures, public_start(space, rng), rng)


def held_out(family: HiddenMarkov, counts: Counts, observed: Mask, draws: HiddenDraws) -> float:
    """Log-probability per event of the cells that were not seen, each predicted from its neighbours in time.

    A cell's probability is averaged over draws and over its state given the states before and after it.
    """
    from scipy.special import logsumexp

    states = draws.states.reshape(-1, *draws.states.shape[2:])
    transitions = draws.transitions.reshape(len(states), family.states, family.states)
    start = draws.start.reshape(len(states), family.states)
    by_field = [draws.profiles[name].reshape(len(states), family.states, -1) for name, _ in family.fields]
    log_profiles = np.log(np.maximum(np.concatenate(by_field, axis=-1), np.finfo(float).tiny))
    cells = flat_counts(family, counts)
    total = events = 0.0
    each = np.arange(len(states))
    for r, t in np.argwhere(~observed):
        weight = start if t == 0 else transitions[each, states[:, r, t - 1]]
        if t + 1 < family.times:
            weight = weight * transitions[each, :, states[:, r, t + 1]]
        weight = weight / weight.sum(axis=1, keepdims=True)
        cell = cells[r * family.times + t]
        logs = cell_log_likelihoods(cell[None], log_profiles.reshape(-1, cell.size)).reshape(len(states), -1)
        total += float(logsumexp(logs + np.log(np.maximum(weight, np.finfo(float).tiny)))) - np.log(len(states))
        events += float(cell.sum()) / len(family.fields)
    return total / max(events, 1.0)


@dataclass(frozen=True)
class HeldOut:
    """Held-out log-likelihoods per event: for every method and epsilon one for each split; and without privacy."""

    epsilons: tuple[float, ...]
    found: Mapping[str, NDArray[np.float64]]  # (epsilons, splits)
    reference: NDArray[np.float64]  # (splits,)

    def curves(self) -> dict[str, list[tuple[float, float, float, float]]]:
        """(epsilon, mean, mean ± two standard errors) for every method: what the charts draw."""
        return {name: [(e, *_band(row)) for e, row in zip(self.epsilons, rows, strict=True)]
                for name, rows in self.found.items()}  # fmt: skip


def held_out_curve(
    model: EventLogHMM,
    dataset: Dataset,
    epsilons: Sequence[float],
    splits: int,
    methods: Mapping[str, Method] = METHODS,
    progress: Callable[[int], None] | None = None,
) -> HeldOut:
    """Hold out a tenth of the cells, several times, and predict them by every method at every epsilon."""
    query = model.query(dataset.schema)
    counts = dataset.source.statistics(query)
    found = {name: np.empty((len(epsilons), splits)) for name in methods}
    reference = np.empty(splits)
    for seed in range(splits):
        rng = np.random.default_rng([seed, 1])
        first: Any = next(iter(counts.values()))
        observed = np.ones(first.shape[:2], dtype=bool).ravel()
        observed[rng.choice(observed.size, size=round(SHARE_HELD_OUT * observed.size), replace=False)] = False
        split = Split(model, dataset, counts, observed.reshape(first.shape[:2]), seed)
        score = _scored(split)
        reference[seed] = score(not_private(split, np.inf))
        for name, method in methods.items():
            for i, epsilon in enumerate(epsilons):
                found[name][i, seed] = score(method(split, epsilon))
                if progress is not None:
                    progress(1)
    return HeldOut(tuple(epsilons), found, reference)


def _scored(split: Split) -> Callable[[HiddenDraws], float]:
    return lambda draws: held_out(split.family, split.counts, split.observed, draws)


def _band(row: NDArray[np.float64]) -> tuple[float, float, float]:
    mean, error = float(row.mean()), float(row.std(ddof=1) / np.sqrt(row.size)) if row.size > 1 else 0.0
    return mean, mean - 2.0 * error, mean + 2.0 * error
