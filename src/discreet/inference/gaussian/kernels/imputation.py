"""Unseen records given the parameters: new values for each, and more or fewer of them.

A record proposed from a law that keeps p(record | parameters) invariant is accepted with probability
min(1, f(y - s') / f(y - s)): everything but the noise density f cancels.
"""

import numpy as np

from discreet.inference.gaussian.kernels.compiled import inner
from discreet.inference.gaussian.kernels.layout import Graph, Noisy, SizePrior, State
from discreet.inference.gaussian.kernels.records import (
    build_values,
    code_at,
    log_noise,
    residuals_of,
    set_dummies,
    set_marks,
    term_of,
)
from discreet.numerics.arrays import Array

__all__ = ["refresh_records", "resize"]


LOCAL_STEPS = 6  # local proposals move a share 2^-1 … 2^-6 of the way to a fresh record


@inner
def refresh_records(rng: np.random.Generator, graph: Graph, noisy: Noisy, state: State, heat: float) -> None:
    """One proposal for every record: a fresh one, or, which small noise accepts more often, one nearby."""
    regressors, starts, dummy_starts, level_starts = graph
    scales, parts, noise = noisy
    totals, values, all_marks, all_codes, sums, coefficients, variances, probabilities = state
    nodes, factors, terms = values.shape[1], all_codes.shape[1], sums.size
    deviations, residuals, design = (
        np.sqrt(variances),
        np.empty(nodes),
        np.empty(1 + nodes + level_starts[-1] - level_starts.size + 1),
    )
    codes, marks, new_sums = np.empty(factors, np.int64), np.empty((1, all_marks.shape[1])), np.empty(terms)
    for i in range(totals[0]):
        for f in range(factors):
            codes[f] = all_codes[i, f]
        if rng.random() < 0.5:
            for j in range(nodes):
                residuals[j] = rng.standard_normal()
            for f in range(factors):
                codes[f] = code_at(probabilities, level_starts[f], level_starts[f + 1], rng.random())
            set_dummies(dummy_starts, codes, nodes, design)
        else:
            set_dummies(dummy_starts, codes, nodes, design)
            for j in range(nodes):
                design[1 + j] = values[i, j]
            residuals_of(regressors, starts, coefficients, deviations, design, residuals)
            step = 0.5 ** (1 + int(LOCAL_STEPS * rng.random()))
            keep = np.sqrt(1.0 - step * step)
            for j in range(nodes):
                residuals[j] = keep * residuals[j] + step * rng.standard_normal()
        build_values(regressors, starts, coefficients, deviations, residuals, design)
        set_marks(scales, level_starts, design, codes, marks, 0)
        change = 0.0
        for t in range(terms):
            new_sums[t] = sums[t] + (term_of(parts, t, marks, 0) - term_of(parts, t, all_marks, i))
            if new_sums[t] != sums[t]:
                change += log_noise(noise, t, new_sums[t], heat) - log_noise(noise, t, sums[t], heat)
        if change >= 0.0 or rng.random() < np.exp(change):
            for t in range(terms):
                sums[t] = new_sums[t]
            for j in range(nodes):
                values[i, j] = design[1 + j]
            for place in range(1, all_marks.shape[1]):
                all_marks[i, place] = marks[0, place]
            for f in range(factors):
                all_codes[i, f] = codes[f]


@inner
def resize(
    rng: np.random.Generator, graph: Graph, noisy: Noisy, sizes: SizePrior, state: State, most: int, heat: float
) -> None:
    """Propose to add some fresh records or to remove as many random ones; the number is log-uniform up to `most`.

    Appending records from the model and dropping the last ones are each other's reverse, so the ratio is that of the
    size prior times that of the noise density; random swaps make the last records random ones.
    """
    log_sizes, lowest = sizes
    _, _, noise = noisy
    totals, _, _, _, sums, _, _, _ = state
    total = totals[0]
    moved = int(np.exp(np.log(most + 1.0) * rng.random()))
    grow = rng.random() < 0.5
    wanted = total + moved if grow else total - moved
    if wanted < lowest or wanted >= lowest + log_sizes.size:
        return
    if grow:
        _append_records(rng, graph, noisy, state, wanted)
        new_sums = sums + _sum_terms(noisy, state, total, wanted)
    else:
        for i in range(total - 1, wanted - 1, -1):
            _swap(state, i, int(rng.random() * (i + 1)))
        new_sums = sums - _sum_terms(noisy, state, wanted, total)
    change = log_sizes[wanted - lowest] - log_sizes[total - lowest]
    for t in range(sums.size):
        change += log_noise(noise, t, new_sums[t], heat) - log_noise(noise, t, sums[t], heat)
    if change >= 0.0 or rng.random() < np.exp(change):
        totals[0] = wanted
        for t in range(sums.size):
            sums[t] = new_sums[t]


@inner
def _append_records(rng: np.random.Generator, graph: Graph, noisy: Noisy, state: State, wanted: int) -> None:
    """Fresh records beyond the current ones: no harm is done if they are refused."""
    regressors, starts, dummy_starts, level_starts = graph
    scales, _, _ = noisy
    totals, values, marks, all_codes, _, coefficients, variances, probabilities = state
    nodes = values.shape[1]
    deviations, residuals, design = (
        np.sqrt(variances),
        np.empty(nodes),
        np.empty(1 + nodes + level_starts[-1] - level_starts.size + 1),
    )
    codes = np.empty(all_codes.shape[1], np.int64)
    for i in range(totals[0], wanted):
        for f in range(codes.size):
            codes[f] = code_at(probabilities, level_starts[f], level_starts[f + 1], rng.random())
            all_codes[i, f] = codes[f]
        for j in range(nodes):
            residuals[j] = rng.standard_normal()
        set_dummies(dummy_starts, codes, nodes, design)
        build_values(regressors, starts, coefficients, deviations, residuals, design)
        for j in range(nodes):
            values[i, j] = design[1 + j]
        set_marks(scales, level_starts, design, codes, marks, i)


@inner
def _sum_terms(noisy: Noisy, state: State, start: int, stop: int) -> Array:
    """What the records start … stop - 1 add to the sums."""
    _, parts, _ = noisy
    _, _, marks, _, _, _, _, _ = state
    sums = np.zeros(parts.shape[0])
    for i in range(start, stop):
        for t in range(sums.size):
            sums[t] += term_of(parts, t, marks, i)
    return sums


@inner
def _swap(state: State, i: int, k: int) -> None:
    """Exchange two records."""
    _, values, marks, codes, _, _, _, _ = state
    for j in range(values.shape[1]):
        values[i, j], values[k, j] = values[k, j], values[i, j]
    for place in range(marks.shape[1]):
        marks[i, place], marks[k, place] = marks[k, place], marks[i, place]
    for f in range(codes.shape[1]):
        codes[i, f], codes[k, f] = codes[k, f], codes[i, f]
