"""Several noisy tables of the same rows: cell counts of D tables that share their row totals N_1 … N_C.

Table d splits the N_c rows of class c over its own levels. Given N_c the splits are independent, so with L_cd(N) the weight of all
splits of N (a chain over the levels of d) the class totals are themselves cells of an outer chain, with weights

    log W_c(N) = log prior_c(N) + Σ_d [ log N! Γ(B_d) / Γ(N + B_d) + L_cd(N) ]

(without the Γ where the level probabilities are given). Each L_cd must be accurate where the tables *together* put N_c, which may be far
from where table d alone would: all chains of a class are tilted to the current consensus, the consensus is computed again, and
so on until it stays; where it is wider than one tilt can serve, the chains are patched.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.samplers.cells import CountPrior, NoisyCells, Polya, Table, Window
from discreet.samplers.lattice import OMITTED, Lattice, Total, log_arrangements
from discreet.samplers.patchwork import Patchwork

__all__ = ["Consensus"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Consensus:
    """The outer lattice over class totals, and for each table one patchwork per class."""

    classes: Lattice
    tables: tuple[tuple[Patchwork, ...], ...]

    @classmethod
    def build(cls, tables: Sequence[Sequence[NoisyCells]], prior: CountPrior, total: Total) -> "Consensus":
        """tables[d][c] are the noisy cells of class c in table d; `prior` weighs the class totals."""
        targets = _first_guess(tables, total)
        for _ in range(40):
            patches = [
                [Patchwork.around(cells, targets[c], total.highest) for c, cells in enumerate(table)]
                for table in tables
            ]
            outer = _class_cells(tables, patches, prior, total)
            classes = Lattice.build(Table(outer), total)
            means, deviations = _moments(classes)
            if np.all(np.abs(means - targets) <= 0.5 * deviations + 0.5):
                break
            targets = np.clip(means, 0.0, total.highest)
        for _ in range(20):
            ranges = [_range(outer, classes, c, total) for c in range(len(targets))]
            if not any(ranges):
                break
            for c, wider in enumerate(ranges):
                if wider is not None:
                    for d, table in enumerate(tables):
                        patches[d][c] = Patchwork.over(table[c], *wider, total.highest)
            outer = _class_cells(tables, patches, prior, total)
            classes = Lattice.build(Table(outer), total)
        return cls(classes, tuple(tuple(row) for row in patches))

    @property
    def log_evidence(self) -> float:
        """Log-probability (density) of all released cells."""
        return self.classes.log_evidence

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Integers, tuple[Integers, ...]]:
        """Independent draws: class totals (size, C), and for each table the counts (size, C, levels)."""
        totals = self.classes.sample(size, rng)
        counts = tuple(
            np.stack([patch.sample(totals[:, c], rng) for c, patch in enumerate(row)], axis=1) for row in self.tables
        )
        return totals, counts


def _first_guess(tables: Sequence[Sequence[NoisyCells]], total: Total) -> Array:
    """Row sums averaged with weights 1 / variance, moved to add up to a public total."""
    sums = np.array([[cells.released.sum() for cells in table] for table in tables])
    weights = np.array(
        [[1.0 / (cells.law.variance * cells.released.size + 1e-300) for cells in table] for table in tables]
    )
    guess = np.sum(weights * sums, axis=0) / np.sum(weights, axis=0)
    if total.lowest == total.highest:
        guess = guess + (total.highest - guess.sum()) / guess.size
    return np.asarray(np.clip(guess, 0.0, total.highest))


def _class_cells(
    tables: Sequence[Sequence[NoisyCells]], patches: Sequence[Sequence[Patchwork]], prior: CountPrior, total: Total
) -> Window:
    """log W_c on the totals that every table can serve, one row per class."""
    rows = [_class_weights([t[c] for t in tables], [p[c] for p in patches]) for c in range(len(patches[0]))]
    width = max(weights.size for _, weights in rows)
    low = np.array([first for first, _ in rows], dtype=np.int64)
    log_weights = np.full((len(rows), width), -np.inf)
    for row, (_, weights) in zip(log_weights, rows, strict=True):
        row[: weights.size] = weights
    log_weights += prior.log_weight((low[:, None] + np.arange(width)).astype(float))
    return Window(low, log_weights, total.highest, complete=True)


def _class_weights(cells: Sequence[NoisyCells], patches: Sequence[Patchwork]) -> tuple[int, Array]:
    """Σ_d [ log N! Γ(B_d) / Γ(N + B_d) + L_cd(N) ] of one class, from the first total that every table can serve."""
    parts = [patch.log_totals() for patch in patches]
    first, last = max(int(totals[0]) for totals, _ in parts), min(int(totals[-1]) for totals, _ in parts)
    sums = np.arange(first, last + 1)
    log_weights = np.zeros(sums.size)
    for cell, (totals, weights) in zip(cells, parts, strict=True):
        concentration = float(cell.prior.alpha.sum()) if isinstance(cell.prior, Polya) else None
        served = np.full(sums.size, -np.inf)
        inside = (totals >= first) & (totals <= last)
        served[totals[inside] - first] = weights[inside]
        log_weights += served + log_arrangements(sums, concentration)
    return first, log_weights


def _moments(classes: Lattice) -> tuple[Array, Array]:
    """Mean and deviation of every class total under the tilt of the outer chain."""
    moments = np.array([law.moments() for law in classes.patchwork.chains[len(classes.patchwork.chains) // 2].cells])
    return moments[:, 0], np.sqrt(moments[:, 1])


def _range(outer: Window, classes: Lattice, c: int, total: Total) -> tuple[int, int] | None:
    """A wider range for the totals of class c where an end of the served one is still probable, else None."""
    served = np.flatnonzero(np.isfinite(outer.log_weights[c])) + outer.low[c]
    low, high = int(served[0]), int(served[-1])
    wider_low, wider_high = low, high
    for chain in classes.patchwork.chains:
        law = chain.cells[c]
        probable = law.support[law.weights > np.exp(-OMITTED) * law.weights.max()]
        if probable[0] <= low:
            wider_low = max(0, low - (high - low) // 2 - 1)
        if probable[-1] >= high:
            wider_high = min(total.highest, high + (high - low) // 2 + 1)
    return None if (wider_low, wider_high) == (low, high) else (wider_low, wider_high)
