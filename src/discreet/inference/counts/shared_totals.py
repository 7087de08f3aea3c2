"""Several noisy tables of the same rows: cell counts of D tables that share their row totals N_1 … N_C.

Table d splits the N_c rows of class c over its own levels. Given N_c the splits are independent, so with L_cd(N) the
weight of all splits of N (a convolution over the levels of d) the class totals are themselves cells of an outer
convolution, with weights

    log W_c(N) = log prior_c(N) + Σ_d [ log N! Γ(B_d) / Γ(N + B_d) + L_cd(N) ]

(without the Γ where the level probabilities are given). Each L_cd must be accurate where the tables *together* put
N_c, which may be far from where table d alone would: all tables of a class are tilted to the totals they
now share, the shared totals are computed again, and so on until they stay; where they are wider than one tilt can
serve, there are several tilts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.inference.counts.compositions import OMITTED, Compositions, Total
from discreet.inference.counts.convolution import Law
from discreet.inference.counts.noisy_counts import CountPrior, CountWindow, KnownCells, NoisyCells
from discreet.inference.counts.tilted_ranges import TiltedRanges
from discreet.numerics.arrays import Array, Integers
from discreet.numerics.gamma_functions import log_arrangements

__all__ = ["SharedTotals"]


GRID = 17  # totals at which the laws of the class totals are compared with what the tables know


@dataclass(frozen=True)
class SharedTotals:
    """The compositions of class totals, and for each table the tilted ranges of every class."""

    classes: Compositions
    tables: tuple[tuple[TiltedRanges, ...], ...]

    @classmethod
    def build(cls, tables: Sequence[Sequence[NoisyCells]], prior: CountPrior, total: Total) -> "SharedTotals":
        """tables[d][c] are the noisy cells of class c in table d; `prior` weighs the class totals."""
        targets = _first_guess(tables, total)
        for _ in range(40):
            ranges = [
                [TiltedRanges.around(cells, targets[c], total.highest) for c, cells in enumerate(table)]
                for table in tables
            ]
            outer = _class_cells(tables, ranges, prior, total)
            classes = Compositions.build(KnownCells(outer), total)
            means, deviations = _moments(classes)
            if np.all(np.abs(means - targets) <= 0.5 * deviations + 0.5):
                break
            targets = np.clip(means, 0.0, total.highest)
        for _ in range(20):
            wider = {}
            for c, law in enumerate(_class_laws(classes)):
                totals, log_share = _probable(law)
                reliable = all(row[c].is_reliable(totals, log_share) for row in ranges)
                span = _widened(totals, outer, c, total)
                if not reliable or span[0] < totals[0] or span[1] > totals[-1]:
                    wider[c] = span
            if not wider:
                break
            for row, table in zip(ranges, tables, strict=True):
                for c, span in wider.items():
                    row[c] = TiltedRanges.over(table[c], *span, total.highest)
            outer = _class_cells(tables, ranges, prior, total)
            classes = Compositions.build(KnownCells(outer), total)
        return cls(classes, tuple(tuple(row) for row in ranges))

    @property
    def log_evidence(self) -> float:
        """Log-probability (density) of all released cells."""
        return self.classes.log_evidence

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Integers, tuple[Integers, ...]]:
        """Independent draws: class totals (size, C), and for each table the counts (size, C, levels)."""
        totals = self.classes.sample(size, rng)
        counts = tuple(
            np.stack([served_by.sample(totals[:, c], rng) for c, served_by in enumerate(row)], axis=1)
            for row in self.tables
        )
        return totals, counts


def _first_guess(tables: Sequence[Sequence[NoisyCells]], total: Total) -> Array:
    """Row sums averaged with weights 1 / variance, shifted and cut at 0 so that they add up to a possible total."""
    sums = np.array([[cells.released.sum() for cells in table] for table in tables])
    weights = np.array([[1.0 / (cells.law.variance * cells.released.size) for cells in table] for table in tables])
    guess = np.sum(weights / weights.max() * sums, axis=0) / np.sum(weights / weights.max(), axis=0)
    wanted = float(np.clip(np.maximum(guess, 0.0).sum(), total.lowest, total.highest))
    low, high = guess.min() - wanted - 1.0, guess.max() + 1.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.maximum(guess - middle, 0.0).sum() > wanted else (low, middle)
    return np.asarray(np.clip(guess - high, 0.0, total.highest))


def _class_cells(
    tables: Sequence[Sequence[NoisyCells]], ranges: Sequence[Sequence[TiltedRanges]], prior: CountPrior, total: Total
) -> CountWindow:
    """Log of W_c on the totals that every table can serve, one row per class."""
    rows = [_class_weights([t[c] for t in tables], [p[c] for p in ranges]) for c in range(len(ranges[0]))]
    width = max(weights.size for _, weights in rows)
    low = np.array([first for first, _ in rows], dtype=np.int64)
    log_weights = np.full((len(rows), width), -np.inf)
    for row, (_, weights) in zip(log_weights, rows, strict=True):
        row[: weights.size] = weights
    log_weights += prior.log_weight((low[:, None] + np.arange(width)).astype(float))
    return CountWindow(low, log_weights, total.highest, complete=True)


def _class_weights(cells: Sequence[NoisyCells], ranges: Sequence[TiltedRanges]) -> tuple[int, Array]:
    """One class's Σ_d [ log N! Γ(B_d) / Γ(N + B_d) + L_cd(N) ], from the first total that every table can serve."""
    parts = [served_by.log_totals() for served_by in ranges]
    first, last = max(int(totals[0]) for totals, _ in parts), min(int(totals[-1]) for totals, _ in parts)
    sums = np.arange(first, last + 1)
    log_weights = np.zeros(sums.size)
    for cell, (totals, weights) in zip(cells, parts, strict=True):
        served = np.full(sums.size, -np.inf)
        inside = (totals >= first) & (totals <= last)
        served[totals[inside] - first] = weights[inside]
        log_weights += served + log_arrangements(sums, cell.prior.concentration)
    return first, log_weights


def _moments(classes: Compositions) -> tuple[Array, Array]:
    """Mean and deviation of every class total under the tilt of the outer convolution."""
    moments = np.array([law.moments() for law in classes.ranges.parts[len(classes.ranges.parts) // 2].cells])
    return moments[:, 0], np.sqrt(moments[:, 1])


def _class_laws(classes: Compositions) -> list[Law]:
    """Posterior law of every class total, averaged over a grid of the totals that are possible."""
    grid = np.unique(np.linspace(0, classes.totals.size - 1, GRID).astype(int))
    given = [classes.ranges.marginals(int(classes.totals[i])) for i in grid]
    laws = []
    for c in range(len(given[0])):
        low = min(laws_i[c].offset for laws_i in given)
        weights = np.zeros(max(laws_i[c].offset + laws_i[c].weights.size for laws_i in given) - low)
        for i, laws_i in zip(grid, given, strict=True):
            start = laws_i[c].offset - low
            weights[start : start + laws_i[c].weights.size] += classes.probabilities[i] * laws_i[c].weights
        laws.append(Law(low, weights))
    return laws


def _probable(law: Law) -> tuple[Integers, Array]:
    """The totals that matter and their log-weights relative to the largest."""
    kept = np.flatnonzero(law.weights > np.exp(-OMITTED) * law.weights.max())
    return law.offset + kept, np.log(law.weights[kept] / law.weights.max())


def _widened(totals: Integers, outer: CountWindow, c: int, total: Total) -> tuple[int, int]:
    """The range of the totals that matter, wider on a side where it ends only because the tables serve no more."""
    served = np.flatnonzero(np.isfinite(outer.log_weights[c])) + outer.low[c]
    low, high = int(totals[0]), int(totals[-1])
    room = (high - low) // 2 + 5
    return (
        max(0, low - room) if low <= served[0] else low,
        min(total.highest, high + room) if high >= served[-1] else high,
    )
