"""What a release of noisy scores is made with: sensitivities in whole numbers, shares and noise. All public, all exact.

Proof: noisy_score.md. Three stages, each a sum of one bounded vector for every record plus discrete Gaussian noise:

    totals    counts of levels, sums of the numeric features and of their squared length
    moments   sums of k k', |k| ≤ c, where stage 1 is asked for
    scores    T times the sum of psi = w (f - y) u, |psi| ≤ rho / 2
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.accounting.rounding import rational, root_up
from discreet.errors import QueryError
from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Loss
from discreet.queries.scores.score_branch import ScoreBranch
from discreet.queries.scores.score_terms import ScoreLink, ScoreTerms, Totals, moments_wanted
from discreet.queries.scores.score_units import FEATURE, MOMENT, RELEASED, WORTH
from discreet.schema import LabelOnly, Schema

__all__ = ["REACH", "ScoreFigures", "ScoreLaw", "score_law", "score_move"]

REACH = Fraction(5, 4)  # c
MOST_DIRECTIONS = (
    2**12
)  # the rule holds covariances of them, and finds their axes: more would be paid, and never answered
SAFE = 1 + Fraction(1, 2**30)  # above the rounding error of a length in doubles


@dataclass(frozen=True)
class ScoreLaw:
    """Public constants; `sigmas` are in whole steps of what is released, and statistics without one are exact.

    Parameters
    ----------
    numbers, blocks
        Numeric features and levels of every one-hot block; where rows are shrunk, all coordinates count as numbers.
    scale
        What the numbers of the model's interval are divided by: a power of two, so that they are in [-1, 1].
    interval
        On which every number then lies.
    squared_length
        Above the squared length of the numbers of every conceivable row, as they are rounded.
    levels
        Of every category, also where these are not blocks.
    size
        The public number of used rows, or None.
    headroom
        The longest direction that counts fully, in typical ones: of the map, and so of the rule alone.
    """

    link: ScoreLink
    branch: ScoreBranch
    numbers: int
    blocks: tuple[int, ...]
    scale: float
    interval: tuple[float, float]
    squared_length: Fraction
    levels: tuple[int, ...]
    size: int | None
    steps: int
    by_label: bool
    has_moments: bool
    sigmas: Mapping[str, float]
    headroom: float = 1.0

    @property
    def directions(self) -> int:
        """dz: every block loses its constant direction."""
        return self.numbers + sum(size - 1 for size in self.blocks)

    @property
    def features(self) -> int:
        """Coordinates of a record besides the constant."""
        return self.numbers + sum(self.blocks)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What leaves, by name: counts and sums, second moments, the points that were chosen, and their scores."""
        d, dz = self.numbers, self.directions
        found: dict[str, tuple[int, ...]] = {} if self.size is not None or self.blocks else {"count": ()}
        found |= {"levels": (sum(self.blocks),)} if self.blocks else {}
        found |= {"sums": (d,), "squares": ()} if d else {}
        found |= {"curvature": (dz,), "products": (dz * (dz - 1) // 2,)} if self.has_moments else {}
        return {**found, "points": (self.steps, dz + 1), "scores": (self.steps, dz + 1)}

    @cached_property
    def units(self) -> dict[str, float]:
        """What one whole step of each released statistic is worth."""
        return {name: WORTH[name] for name in self.shapes if name in WORTH}

    @cached_property
    def terms(self) -> ScoreTerms:
        """What the public rule is told, in real units."""
        deviations = {name: self.sigmas.get(name, 0.0) * unit for name, unit in self.units.items()}
        totals = next((deviations[name] for name in ("sums", "levels", "count") if name in deviations), 0.0)
        return ScoreTerms(
            link=replace(self.link, by_label=self.by_label),
            numbers=self.numbers,
            radius=math.sqrt(self.squared_length),
            blocks=self.blocks,
            steps=self.steps,
            totals_sd=totals,
            moments_sd=deviations["curvature"] if self.has_moments else None,
            scores_sd=deviations["scores"],
            reach=float(REACH),
            interval=self.interval,
            headroom=self.headroom,
        )

    def totals(self, value: Mapping[str, Any]) -> Totals:
        """Stage 0 as it was released, in real units."""
        counts = np.asarray(value["levels"], dtype=float) if self.blocks else np.zeros(0)
        levels = tuple(np.split(counts, np.cumsum(self.blocks)[:-1])) if self.blocks else ()
        size = float(self.size if self.size is not None else levels[0].sum() if levels else float(value["count"]))
        added = 0 if self.size is not None else len(levels[0]) if levels else 1
        noise = math.sqrt(added) * self.terms.totals_sd
        if not self.numbers:
            return Totals(size, levels, np.zeros(0), 0.0, noise)
        sums = np.asarray(value["sums"], dtype=float) * self.units["sums"]
        return Totals(size, levels, sums, float(value["squares"]) * self.units["squares"], noise)

    def moments(self, value: Mapping[str, Any]) -> Array | None:
        """Stage 1 as it was released: the symmetric matrix, in real units."""
        if not self.has_moments:
            return None
        found = np.diag(np.asarray(value["curvature"], dtype=float))
        found[np.triu_indices(self.directions, 1)] = np.asarray(value["products"], dtype=float)
        return np.asarray((found + np.triu(found, 1).T) * self.units["curvature"])

    def opened(self, value: Mapping[str, Any]) -> tuple[Totals, Array | None, Array, Array]:
        """Totals, moments, points and scores, in real units."""
        scores = np.asarray(value["scores"], dtype=float) * self.units["scores"]
        return self.totals(value), self.moments(value), np.asarray(value["points"], dtype=float), scores


@dataclass(frozen=True)
class ScoreFigures:
    """The public numbers of a release, in the units of a score."""

    steps: int
    directions: int
    longest: float
    deviation: float
    moments: bool
    clarity: float  # signal over noise of one direction, from as many rows as there may be
    counts_only: bool

    def __str__(self) -> str:
        asked = "after" if self.moments else "without"
        told = ", too little for so many: noisy counts of the target, and nothing of the features"
        return (
            f"{self.steps} scores of {self.directions} numbers, {asked} second moments: sums of vectors no longer than "
            f"{self.longest:.4g}, with noise of deviation {self.deviation:.4g}; the signal of a direction is "
            f"{self.clarity:.3g} times its noise{told if self.counts_only else ''}"
        )


def score_law(
    query: Loss, rho: float, steps: int, shares: tuple[float, float, float], headroom: float = 1.0
) -> ScoreLaw:
    """The law of a release of this cost: rho as the decimal that was typed, only proportions of the shares count."""
    link, branch = query.score_link, query.score_branch
    if link is None or branch is None:
        raise QueryError("NoisyScore must have a model that declares the mean of its target, got one that has none")
    features, schema = query.features, query.schema
    if not features.intercept:
        raise QueryError("NoisyScore must have a model with an intercept, got one without")
    by_label = isinstance(schema.unit, LabelOnly)
    if by_label and query.total is None:
        raise QueryError("NoisyScore must have no column that excludes rows where only labels are private, got one")
    blocks = () if features.shrinks else tuple(map(len, features.levels))
    numbers = features.size - 1 - sum(blocks)
    scale = 2.0 ** math.ceil(math.log2(max(abs(end) for end in features.interval)))
    length = _squared_length(query, scale, numbers)
    directions = numbers + sum(size - 1 for size in blocks)
    if directions > MOST_DIRECTIONS:
        raise QueryError(f"NoisyScore must have a model of at most {MOST_DIRECTIONS} directions, got {directions}")
    moved = _Moves(schema, query.total is None, length, blocks, numbers, directions)
    budgets = _budgets(rho, shares, by_label)
    found: dict[str, Fraction] = {}  # squares of sigmas, in whole steps
    if not by_label:
        base = moved.totals / (2 * budgets[0])
        if query.total is None and not blocks:
            found["count"] = base
        if blocks:
            found["levels"] = base
        if numbers:
            step = int(FEATURE) ** 2
            found |= {"sums": base * step, "squares": base * step * moved.length**2}
        second = moved.moments / (2 * budgets[1])
        deviation = root_up(second) * MOMENT**-2
    wanted = moments_wanted(numbers, blocks, max(query.largest_total, 1), 0.0 if by_label else deviation)
    if wanted and not by_label:
        found |= {"curvature": second, "products": second / 2}
    paid = budgets[2] + (0 if wanted else budgets[1])
    found["scores"] = steps * moved.score / (2 * paid)
    sigmas = {name: root_up(square) for name, square in found.items()}
    levels = tuple(map(len, features.levels))
    low, high = features.interval
    interval = (-1.0, 1.0) if features.shrinks else (low / scale, high / scale)
    return ScoreLaw(
        link,
        branch,
        numbers,
        blocks,
        scale,
        interval,
        length,
        levels,
        query.total,
        steps,
        by_label,
        wanted,
        sigmas,
        headroom,
    )


def score_move(numbers: int, whole: Fraction | int) -> Fraction:
    """How far a score of so many numbers moves, squared: `whole` steps for each of their roots, and one rounding."""
    return Fraction(numbers * (whole + 1) ** 2)


@dataclass(frozen=True)
class _Moves:
    """How far one unit moves each stage, squared: totals in real units, the others in whole steps (Lemmas 1 to 3)."""

    schema: Schema
    is_counted: bool  # the number of used rows is private: rows may appear and disappear
    squared_length: Fraction
    blocks: tuple[int, ...]
    numbers: int
    directions: int

    @property
    def length(self) -> Fraction:
        """A bound r on the length of the numbers, at least 1: squared lengths are released in units of it."""
        return Fraction(root_up(max(self.squared_length, Fraction(1))))

    @property
    def totals(self) -> Fraction:
        """A replaced row: (2 r + h/r)² + 2F; one that comes or goes: (sqrt2 r + h/r)² + F, or + 1 for the count."""
        r = self.length if self.numbers else Fraction(0)
        rounded = 1 / (r * int(FEATURE)) if self.numbers else Fraction(0)
        there = (Fraction(root_up(2 * r**2)) + rounded) ** 2 + max(len(self.blocks), int(self.is_counted))
        return self._larger((2 * r + rounded) ** 2 + 2 * len(self.blocks), there)

    @property
    def moments(self) -> Fraction:
        """Of all entries of k k', where |k| in whole steps is at most C: sqrt2 C² or C²."""
        reach = (REACH * int(MOMENT)) * SAFE + Fraction(root_up(Fraction(self.directions, 4)))
        return self._larger(2 * reach**4, reach**4)

    @property
    def score(self) -> Fraction:
        """Of one score: K rho for rows replaced, K rho/2 for rows that come or go, and one rounding of the sum."""
        records = self.schema.unit.max_records
        whole = records * RELEASED if self.schema.relation == "replace-one" else Fraction(records * RELEASED, 2)
        return score_move(self.directions + 1, whole)

    def _larger(self, replaced: Fraction, toggled: Fraction) -> Fraction:
        """The square for a unit of K records."""
        moved = Fraction(toggled)
        if self.schema.relation == "replace-one":
            moved = max(replaced, toggled) if self.is_counted else replaced
        return Fraction(self.schema.unit.max_records) ** 2 * moved


def _budgets(rho: float, shares: tuple[float, float, float], by_label: bool) -> tuple[Fraction, Fraction, Fraction]:
    """Rho of each stage; where features are public, all of it goes to the scores."""
    first, second, third = map(rational, shares)
    whole = first + second + third
    if by_label:
        first = second = Fraction(0)
        third = whole
    return first * rational(rho) / whole, second * rational(rho) / whole, third * rational(rho) / whole


def _squared_length(query: Loss, scale: float, numbers: int) -> Fraction:
    """Above |x|² of the numbers of every conceivable row, in steps of 2^-14: declared, plus what rounding adds."""
    features, step = query.features, int(FEATURE)
    largest = max(abs(end) for end in features.interval) / scale
    if features.shrinks:  # to the declared length, before the numbers are divided; or no row is that long
        declared = Fraction(features.radius) * SAFE * max(Fraction(1), 1 / Fraction(scale))
        widest = len(features.numbers) * (Fraction(largest) * SAFE) ** 2 + len(features.categories)
        length = min(declared, Fraction(root_up(widest)))
        return (length + Fraction(root_up(Fraction(numbers, 4))) / step) ** 2
    return numbers * Fraction(min(math.floor(largest * step * (1 + 2.0**-30) + 0.5), step), step) ** 2
