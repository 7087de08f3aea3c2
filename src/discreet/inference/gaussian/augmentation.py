"""Noise-aware posteriors of Gaussian systems, exactly, by imagining the records: data augmentation with interweaving.

Given noisy sums y of clamped records, a chain holds unseen unclamped records and the parameters. Its sweeps

    1. propose a new value of every record and accept by the noise density f(y - s)        [Ju, Awan, Gong, Rao 2022]
    2. add and remove records where their number is private
    3. redraw the parameters given the records                                             (centred, conjugate)
    4. move the parameters given the standardised residuals of the records                 (non-centred, slice)

leave p(records, parameters | y) invariant. Steps 3 and 4 together mix well whether the noise is small or large: the
first moves freely when records are nearly known, the second when they are nearly unknown [Yu, Meng 2011].
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.inference.gaussian.gaussian_system import GaussianSystem, Parameters
from discreet.inference.gaussian.released_sums import Term, counting_terms, flat, pack, term_values
from discreet.numerics.arrays import Array, Integers
from discreet.queries.counts_and_sums import Axis
from discreet.schema.row_counts import Sizes

if TYPE_CHECKING:
    from discreet.inference.gaussian.kernels.layout import Graph, Noisy, Prior, Reference, State

__all__ = ["Augmentation", "augment", "default_sweeps"]


CANDIDATES = 50  # prior draws among which a chain chooses its start
HOTTEST = 1e6
BLOCK = 100  # sweeps between two reports of progress
POINTS_PER_DIMENSION = 10  # correlated draws that are worth one
WIDER = 1.2  # a reference should have heavier tails than what it is fitted to


def default_sweeps(terms: int) -> tuple[int, int]:
    """Warm-up and kept sweeps per chain: public, from the number of released terms."""
    kept = 1000 + 75 * min(terms, 60)
    return kept // 2, kept


def augment(
    system: GaussianSystem,
    axes: Sequence[Axis],
    terms: Sequence[Term],
    sizes: Sizes,
    rng: np.random.Generator,
    *,
    sweeps: int | None = None,
    warmup: int | None = None,
    chains: int = 4,
    progress: Callable[[int], None] | None = None,
) -> Parameters:
    """Draws of all parameters given the released terms: arrays (chains, sweeps, …), and "size" (chains, sweeps).

    Parameters
    ----------
    axes
        One for each node, in their order.
    sizes
        The public number of records, or the prior of a private one.
    sweeps, warmup
        Kept and dropped sweeps of every chain; by default those of `default_sweeps`.
    progress
        Told, now and then, how many sweeps of all chains were done since the last time.
    """
    if len(axes) != len(system.nodes):
        raise QueryError(f"augment.axes must be one for each of {len(system.nodes)} nodes, got {len(axes)}")
    usual_warmup, usual_sweeps = default_sweeps(len(terms))
    kept = usual_sweeps if sweeps is None else sweeps
    dropped = usual_warmup if warmup is None else warmup
    if kept < 1 or dropped < 0 or chains < 1:
        raise QueryError(f"augment must run at least one chain and one sweep, got {chains} and {kept}")
    target = Augmentation.of(system, axes, terms, sizes)
    rngs = rng.spawn(chains)
    states, traces = [], []
    for child in rngs:
        state, heat = target.start(child)
        states.append(state)
        traces.append(Trace.empty(state, _cooling(heat, dropped, kept)))
    reference = target.prior_reference()
    with ThreadPoolExecutor(min(chains, os.cpu_count() or 1)) as pool:
        for start, stop in [*_blocks(0, dropped), *_blocks(dropped, dropped + kept)]:
            blocks = [trace.part(start, stop) for trace in traces]
            list(pool.map(target.advance, rngs, states, blocks, [reference] * chains))
            if stop <= dropped:
                reference = _fit(np.concatenate([trace.points[stop // 2 : stop] for trace in traces]))
            if progress is not None:
                progress(chains * (stop - start))
    return target.named([trace.part(dropped, dropped + kept) for trace in traces])


@dataclass(frozen=True, eq=False)
class Trace:
    """Where a chain stood after each sweep, and how much the noise density was flattened in it (1: not at all)."""

    heats: Array
    points: Array
    coefficients: Array
    variances: Array
    probabilities: Array
    totals: Integers

    @classmethod
    def empty(cls, state: "State", heats: Array) -> "Trace":
        """Room for one sweep per entry of `heats`."""
        *_, coefficients, variances, probabilities = state
        sweeps, size = heats.size, coefficients.size + variances.size + probabilities.size
        return cls(
            heats,
            np.empty((sweeps, size)),
            np.empty((sweeps, coefficients.size)),
            np.empty((sweeps, variances.size)),
            np.empty((sweeps, probabilities.size)),
            np.empty(sweeps, dtype=np.int64),
        )

    def part(self, start: int, stop: int) -> "Trace":
        """A view of some of the sweeps."""
        return Trace(*(getattr(self, each.name)[start:stop] for each in fields(self)))


@dataclass(frozen=True, eq=False)
class Augmentation:
    """A posterior given released terms, packed for the compiled sweeps."""

    system: GaussianSystem
    axes: tuple[Axis, ...]
    terms: tuple[Term, ...]
    sizes: Sizes
    packed: "tuple[Graph, Noisy, Prior]"

    @classmethod
    def of(cls, system: GaussianSystem, axes: Sequence[Axis], terms: Sequence[Term], sizes: Sizes) -> "Augmentation":
        """Pack a system and what was released of it."""
        return cls(system, tuple(axes), tuple(terms), sizes, pack(system, axes, terms, sizes))

    def state(self, parameters: Mapping[str, Array], values: Array, codes: Integers) -> "State":
        """A chain that stands at these parameters and records."""
        log_sizes, lowest = self.packed[2][2]
        n, capacity = len(values), max(lowest + log_sizes.size - 1, 1)
        marks = [np.ones((n, 1)), *(axis.values(values[:, j])[:, np.newaxis] for j, axis in enumerate(self.axes))]
        marks += [
            (codes[:, f, np.newaxis] == np.arange(factor.levels)).astype(float)
            for f, factor in enumerate(self.system.factors)
        ]
        return (
            np.array([n], dtype=np.int64),
            _with_room(values, capacity),
            _with_room(np.concatenate(marks, axis=1), capacity),
            _with_room(codes, capacity),
            term_values(self.terms, self.axes, values, codes).sum(axis=0),
            flat([parameters[f"coefficients[{j}]"] for j in range(len(self.system.nodes))]),
            flat([parameters[f"variance[{j}]"] for j in range(len(self.system.nodes))]),
            flat([parameters[f"probabilities[{f}]"] for f in range(len(self.system.factors))]),
        )

    def start(self, rng: np.random.Generator) -> "tuple[State, float]":
        """The best of a few prior draws, and the heat at which the noise density finds it likely."""
        n = self._first_size(rng)
        candidates = self.system.sample(CANDIDATES, rng)
        each = {name: np.repeat(values, n, axis=0) for name, values in candidates.items()}
        values, codes = self.system.records(each, CANDIDATES * n, rng)
        sums = term_values(self.terms, self.axes, values, codes).reshape(CANDIDATES, n, len(self.terms)).sum(axis=1)
        released, scale, gaussian = self.packed[1][2].T
        distance = np.abs(released - sums) / scale
        misfit = np.where(gaussian > 0, 0.5 * distance**2, distance).sum(axis=1)
        best = int(misfit.argmin())
        chosen = {name: values[best] for name, values in candidates.items()}
        own = slice(best * n, (best + 1) * n)
        heat = misfit[best] / max(len(self.terms), 1)
        return self.state(chosen, values[own], codes[own]), float(np.clip(heat, 1.0, HOTTEST))

    def prior_reference(self) -> "Reference":
        """The law around which slice moves turn before anything is known of the posterior."""
        (mean, *_), (shape, *_), _ = self.packed[2]
        size = mean.size + shape.size
        return np.zeros(size), np.eye(size)

    def advance(self, rng: np.random.Generator, state: "State", trace: Trace, reference: "Reference") -> None:
        """Move the state by one sweep per entry of the trace, and fill the trace."""
        from discreet.inference.gaussian.kernels.sweep import run_sweeps

        graph, noisy, prior = self.packed
        parameters = (trace.coefficients, trace.variances, trace.probabilities)
        run_sweeps(rng, graph, noisy, prior, reference, state, trace.heats, trace.points, parameters, trace.totals)

    def named(self, traces: Sequence[Trace]) -> Parameters:
        """Traces of several chains as arrays (chains, sweeps, …) by parameter name."""
        coefficients = np.stack([trace.coefficients for trace in traces])
        probabilities = np.stack([trace.probabilities for trace in traces])
        _, starts, _, level_starts = self.packed[0]
        parameters: Parameters = {}
        for j in range(len(self.system.nodes)):
            parameters[f"coefficients[{j}]"] = coefficients[..., starts[j] : starts[j + 1]]
            parameters[f"variance[{j}]"] = np.stack([trace.variances[:, j] for trace in traces])
        for f in range(len(self.system.factors)):
            levels = slice(level_starts[f], level_starts[f + 1])
            parameters[f"probabilities[{f}]"] = probabilities[..., levels]
        parameters["size"] = np.stack([trace.totals.astype(float) for trace in traces])
        return parameters

    def _first_size(self, rng: np.random.Generator) -> int:
        """A number of records to start from: near the released count where there is one."""
        counts = counting_terms(self.system, self.terms)
        if not counts:
            return self.sizes.sample(rng)
        guess = sum(term.released + np.sqrt(term.law.variance) * rng.standard_normal() for term in counts)
        log_sizes, lowest = self.packed[2][2]
        allowed = np.flatnonzero(np.isfinite(log_sizes)) + lowest
        return int(allowed[np.abs(allowed - guess).argmin()])


def _blocks(start: int, stop: int) -> list[tuple[int, int]]:
    return [(first, min(first + BLOCK, stop)) for first in range(start, stop, BLOCK)]


def _fit(points: Array) -> "Reference":
    """A normal law a little wider than the points; the fewer they are, the less its correlations are believed."""
    count, size = points.shape
    covariance = np.cov(points, rowvar=False).reshape(size, size)
    trust = count / (count + POINTS_PER_DIMENSION * size)
    variances = np.diag(np.maximum(np.diag(covariance), 1e-12))
    return points.mean(axis=0), np.linalg.cholesky(WIDER**2 * (trust * covariance + (1.0 - trust) * variances))


def _cooling(heat: float, dropped: int, kept: int) -> Array:
    """Heats of all sweeps: from `heat` down to 1 in the first half of the warm-up, 1 from then on."""
    heats = np.ones(dropped + kept)
    heats[: dropped // 2] = np.geomspace(heat, 1.0, dropped // 2)
    return heats


def _with_room(values: NDArray[Any], capacity: int) -> NDArray[Any]:
    room = np.empty((capacity, values.shape[1]), dtype=values.dtype)
    room[: len(values)] = values
    return room
