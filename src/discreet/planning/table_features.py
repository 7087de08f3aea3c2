"""What simulated tables look like, in a few numbers each: by these, tables that were read tell of those that were not.

Of a column with few codes the shares of these in logarithms, of another its mean and its deviation; of pairs how far
they go together; the number of rows; and the noise on each released statistic, in deviations. Everything is simulated,
so that nothing here is private.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import cast

import numpy as np

from discreet.numerics.arrays import Array
from discreet.sources import CodedRows, Dataset

__all__ = ["MOST_NOISES", "MOST_ROWS", "Sketch", "features", "sketch"]

MOST_ROWS = 1000  # of a table that are looked at
MOST_LEVELS = 8  # codes of a column that are told apart
MOST_PAIRS, MOST_NOISES = 15, 15
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


def features(sketches: Sequence[Sketch]) -> Array:
    """(tables, features), each of mean 0 and deviation 1, noise of less; what is the same of all tables is left out."""
    tables = [each.columns for each in sketches]
    found = [np.log(np.maximum([each.share for each in sketches], 1e-6))]
    scaled: dict[str, list[Array]] = {}
    for name in tables[0]:
        filled = [table[name] for table in tables if table[name].size]
        low, high = (min(map(np.min, filled)), max(map(np.max, filled))) if filled else (0.0, 0.0)
        if high - low < MOST_LEVELS:
            codes = np.arange(low, high + 1)
            shares = np.array([np.mean(table[name][:, np.newaxis] == codes, axis=0) for table in map(_filled, tables)])
            found += list(np.log(shares + 0.5 / MOST_ROWS).T)
        scaled[name] = [(2.0 * _filled(table)[name] - low - high) / max(high - low, 1.0) for table in tables]
        if high - low >= MOST_LEVELS:
            found.append(np.arctanh(INSIDE * np.array([values.mean() for values in scaled[name]])))
            found.append(np.log(FEWEST + np.array([values.std() for values in scaled[name]])))
    for one, other in list(combinations(scaled, 2))[:MOST_PAIRS]:
        pairs = zip(scaled[one], scaled[other], strict=True)
        found.append(np.arctanh(INSIDE * np.array([_correlation(x, y) for x, y in pairs])))
    every = np.array(found).T
    moving = every[:, every.std(axis=0) > 1e-9]
    noise = np.clip([each.added for each in sketches], -FARTHEST, FARTHEST)
    return np.concatenate([(moving - moving.mean(axis=0)) / moving.std(axis=0), NOISE_WEIGHT * noise], axis=1)


def _filled(table: Mapping[str, Array]) -> Mapping[str, Array]:
    """The table, or a row of zeros where it has none."""
    return table if next(iter(table.values())).size else dict.fromkeys(table, np.zeros(1))


def _correlation(x: Array, y: Array) -> float:
    return float(np.mean((x - x.mean()) * (y - y.mean())) / max(x.std() * y.std(), FEWEST**2))
