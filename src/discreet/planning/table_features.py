"""What simulated tables look like, in a few numbers each: by these, tables that were read tell of those that were not.

Of a column with few codes the shares of these in logarithms, of another its mean and its deviation; of pairs how far
they go together; the number of rows; and the noise on each released statistic, in deviations. Of numbers whose second
moments are released, these moments with their noise (`noisy_moments`). Everything is simulated, so that nothing here is
private.

How wide intervals of noisy scores are is said by parameters as well as by tables: they are features of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import cast

import numpy as np

from discreet.numerics.arrays import Array
from discreet.planning.noisy_moments import NoisyMoments
from discreet.sources import CodedRows, Dataset

__all__ = ["MOST_NOISES", "MOST_ROWS", "Sketch", "features", "parameter_features", "sketch"]

MOST_ROWS = 1000  # of a table that are looked at
MOST_LEVELS = 8  # codes of a column that are told apart
MOST_PAIRS, MOST_NOISES, MOST_PARAMETERS = 15, 15, 8
INSIDE = 0.999  # of a range, of a correlation
FEWEST = 0.01  # deviations below this part of the range are alike
NOISE_WEIGHT, FARTHEST = 0.5, 4.0  # noise matters less than what it is on; deviations beyond these are alike


@dataclass(frozen=True)
class Sketch:
    """The share of the largest number of rows, some rows by column, and the noise that was added, in deviations."""

    share: float
    columns: Mapping[str, Array]
    added: Array


def sketch(table: Dataset, largest: int, added: Array, rng: np.random.Generator) -> Sketch:
    """Some rows of a table, in no order, and what was added to its statistics."""
    columns = cast(CodedRows, table.source).columns
    size = len(next(iter(columns.values())))
    some = rng.permutation(size)[: max(1, round(MOST_ROWS * size / largest))] if largest > MOST_ROWS else slice(None)
    shown = {name: np.asarray(codes, dtype=float)[some] for name, codes in columns.items()}
    return Sketch(size / max(largest, 1), shown, added if added.size <= MOST_NOISES else np.empty(0))


def features(sketches: Sequence[Sketch], moments: NoisyMoments | None = None) -> Array:
    """(tables, features), each of mean 0 and deviation 1, noise of less; what is the same of all tables is left out."""
    tables = [each.columns for each in sketches]
    shares = np.maximum([each.share for each in sketches], 1e-6)
    found, noise = [np.log(shares)], np.array([each.added for each in sketches])
    together: Sequence[str] = ()
    if moments is not None and noise.shape[1]:
        found += moments.features(tables, noise, shares)
        together, noise = moments.columns, np.delete(noise, list(moments.places.values()), axis=1)
    scaled: dict[str, list[Array]] = {}
    for name in tables[0]:
        filled = [table[name] for table in tables if table[name].size]
        low, high = (min(map(np.min, filled)), max(map(np.max, filled))) if filled else (0.0, 0.0)
        if high - low < MOST_LEVELS:
            codes = np.arange(low, high + 1)
            shares = np.array([np.mean(table[name][:, np.newaxis] == codes, axis=0) for table in map(_filled, tables)])
            found += list(np.log(shares + 0.5 / MOST_ROWS).T)
        scaled[name] = [(2.0 * _filled(table)[name] - low - high) / max(high - low, 1.0) for table in tables]
        if high - low >= MOST_LEVELS and name not in together:
            found.append(np.arctanh(INSIDE * np.array([values.mean() for values in scaled[name]])))
            found.append(np.log(FEWEST + np.array([values.std() for values in scaled[name]])))
    apart = [pair for pair in combinations(scaled, 2) if not set(pair) <= set(together)]
    for one, other in apart[:MOST_PAIRS]:
        pairs = zip(scaled[one], scaled[other], strict=True)
        found.append(np.arctanh(INSIDE * np.array([_correlation(x, y) for x, y in pairs])))
    every = np.array(found).T
    moving = every[:, every.std(axis=0) > 1e-9]
    noise = NOISE_WEIGHT * np.clip(noise, -FARTHEST, FARTHEST)
    return np.concatenate([(moving - moving.mean(axis=0)) / moving.std(axis=0), noise], axis=1)


def parameter_features(truths: Sequence[Mapping[str, Array]]) -> Array:
    """(tables, features) of the parameters that tables were drawn from, as above; none where they are many.

    Weak priors have long tails: beyond its middle half a parameter counts by its logarithm.
    """
    every = np.array([np.concatenate([np.ravel(value) for value in truth.values()]) for truth in truths], dtype=float)
    if every.shape[1] > MOST_PARAMETERS:
        return np.empty((len(every), 0))
    moving = every[:, every.std(axis=0) > 1e-9]
    apart = moving - np.median(moving, axis=0)
    bent = np.arcsinh(apart / np.maximum(np.median(np.abs(apart), axis=0), 1e-9))
    return np.asarray((bent - bent.mean(axis=0)) / bent.std(axis=0))


def _filled(table: Mapping[str, Array]) -> Mapping[str, Array]:
    """The table, or a row of zeros where it has none."""
    return table if next(iter(table.values())).size else dict.fromkeys(table, np.zeros(1))


def _correlation(x: Array, y: Array) -> float:
    return float(np.mean((x - x.mean()) * (y - y.mean())) / max(x.std() * y.std(), FEWEST**2))
