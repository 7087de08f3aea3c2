"""Posteriors of the groups of a release with `by`: one for every declared level, each from its own statistics."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.inference.convergence import Mixing
from discreet.posterior.base import Posterior
from discreet.posterior.exports.datatree import Axes, Exported
from discreet.posterior.exports.pictured import grouped
from discreet.posterior.exports.provenance import Provenance
from discreet.posterior.new_rows import held_columns, new_codes
from discreet.posterior.records.declared_records import LevelCells, stacked
from discreet.posterior.summary import SUMMARY_LEVEL, Summary
from discreet.report.quantities import Quantity

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["GroupedPosterior", "group_dimension"]

FEWEST_FROM_PRIOR = 100  # draws, each of all groups


@dataclass(frozen=True)
class GroupedPosterior(Posterior):
    """The posterior of every level of the column `by`; the groups are independent and every answer is by level.

    `cells` are those of that column; a posterior that was made by hand may be without.
    """

    by: str
    parts: Mapping[str, Posterior]
    cells: LevelCells | None = field(default=None, kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.parts:
            raise QueryError("GroupedPosterior.parts must have at least one group, got none")
        object.__setattr__(self, "parts", dict(self.parts))

    def __getitem__(self, level: str) -> Posterior:
        if level not in self.parts:
            raise QueryError(f"GroupedPosterior[{self.by}] must be one of {list(self.parts)}, got {level!r}")
        return self.parts[level]

    def __iter__(self) -> Iterator[str]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def mean(self) -> dict[str, Any]:
        """Posterior mean of every group."""
        return self._each(lambda part: part.mean())

    def sd(self) -> dict[str, Any]:
        """Posterior standard deviation of every group."""
        return self._each(lambda part: part.sd())

    @property
    def mixing(self) -> Mixing | None:
        """The worst of the groups that are known through chains; None where none is."""
        found = [part.mixing for part in self.parts.values() if part.mixing is not None]
        return Mixing(max(m.rhat for m in found), min(m.ess for m in found)) if found else None

    def _interval(self, level: float) -> dict[str, Any]:
        return self._each(lambda part: part._interval(level))

    def _hdi(self, level: float) -> dict[str, Any]:
        return self._each(lambda part: part._hdi(level))

    def quantities(self, level: float = SUMMARY_LEVEL) -> tuple[Quantity, ...]:
        """The same number of all groups side by side."""
        return grouped(self._each(lambda part: part.quantities(level)))

    def quantile(self, q: float) -> dict[str, Any]:
        """The q-quantile of every group."""
        return self._each(lambda part: part.quantile(q))

    def sample(self, n: int, rng: np.random.Generator | None = None) -> dict[str, Any]:
        """Draws of every group, independent between groups."""
        rng = np.random.default_rng(rng)
        return self._each(lambda part: part.sample(n, rng))

    def predict(self, records: Any, rng: np.random.Generator | None = None, **options: Any) -> Any:
        """The target of given new rows, each by the posterior of its own group; of a whole number, as `simulate`.

        The rows have the column of the groups beside the features; rows of one group without it are asked of that
        group, `posterior["A"].predict(rows)`.
        """
        if isinstance(records, int | np.integer):
            return self.simulate(int(records), rng)
        return self._by_group(records, lambda part, coded: part._predicted(coded, **options))[1]

    def predicted_columns(self, records: Any, *, target: str | None = None, level: float = 0.9) -> dict[str, Any]:
        """Predictions for given rows as the columns of a table, each by its own group, whose level is one of them."""
        if target is not None:
            raise QueryError(
                f"GroupedPosterior.predicted_columns target must be asked of one group, "
                f'posterior["{next(iter(self))}"].predict_proba(rows, {target!r})'
            )
        codes, found = self._by_group(records, lambda part, coded: part._in_columns(coded, level))
        texts = np.array(self.cells.levels if self.cells else tuple(self))
        return {group_dimension(self.by, set(found)): texts[codes], **found}

    def _by_group(self, records: Any, ask: Callable[[Posterior, NDArray[Any]], Any]) -> tuple[NDArray[Any], Any]:
        """The group of each row, and what it answers for it, in the order of the rows: an array, or several by name."""
        held, names = held_columns(records)
        coded = next(iter(self.parts.values()))._read(held)  # as every group reads them; refused without a target
        if self.cells is None or self.by not in names:
            raise QueryError(
                f"new rows must have the column {self.by!r} of their groups, or be asked of one group, "
                f'posterior["{next(iter(self))}"].predict(rows)'
            )
        codes = new_codes({self.by: self.cells.seen}, held)[self.by]
        self._warn()
        places = [np.flatnonzero(codes == code) for code in range(len(self.parts))]
        answers = [ask(part, coded[place]) for part, place in zip(self.parts.values(), places, strict=True)]
        order = np.argsort(np.concatenate(places))
        if isinstance(answers[0], dict):
            return codes, {name: np.concatenate([answer[name] for answer in answers])[order] for name in answers[0]}
        return codes, np.concatenate(answers)[order]

    def log_density(self, x: object) -> NoReturn:
        """Refused: a density belongs to one group."""
        raise QueryError(
            f'GroupedPosterior.log_density must be asked of one group, posterior["{next(iter(self))}"].log_density(x)'
        )

    def _simulated(self, n: int, rng: np.random.Generator) -> dict[str, Any]:
        """New records of every group, n of each."""
        return self._each(lambda part: part._simulated(n, rng))

    def _tables(self, m: int, n: int, rng: np.random.Generator | None) -> "list[pa.Table]":
        """Synthetic tables with n records of every group, the group in a column of its own."""
        rng = np.random.default_rng(rng)
        made = self._each(lambda part: part._tables(m, n, rng))
        return [
            stacked(self.by, {level: tables[i] for level, tables in made.items()}, self.cells, rng) for i in range(m)
        ]

    def _summary(self) -> Summary:
        """The summary of every group, with parameters named "level: parameter"."""
        return {
            f"{level}: {parameter}": line
            for level, part in self.parts.items()
            for parameter, line in part._summary().items()
        }

    def log_evidence(self) -> float:
        """Log-probability of the release: the groups are independent, so theirs add up."""
        return float(sum(part.log_evidence() for part in self.parts.values()))

    def of_release(self, provenance: Provenance) -> Self:
        """Every group knows of the release too; what the prior draws is for all groups together."""
        made = super().of_release(provenance)
        alone = replace(provenance, prior=None)
        object.__setattr__(made, "parts", self._each(lambda part: part.of_release(alone)))
        return made

    def _exported(self, draws: int | None, rng: np.random.Generator) -> Exported:
        """The groups on the first dimension after the draws.

        A parameter whose shape differs between groups has one variable for each of them, named "parameter[level]".
        """
        found: dict[str, Exported] = self._each(lambda part: part._exported(draws, rng).as_one_chain())
        every = [{*part.draws, *part.records, *_dimensions(part.axes)} for part in found.values()]
        dimension = group_dimension(self.by, set().union(*every))
        arrays, axes = _by_level(dimension, {level: (part.draws, part.axes) for level, part in found.items()})
        records, record_axes = _by_level(
            dimension, {level: (part.records, part.record_axes) for level, part in found.items()}
        )
        return Exported(arrays, axes, records, record_axes)

    def _from_prior(self, draws: int, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        return super()._from_prior(max(FEWEST_FROM_PRIOR, draws // len(self)), rng)

    def _title(self) -> str:
        each = next(iter(self.parts.values()))._title()
        return f"posteriors of {len(self)} groups by {self.by}, in each: {each}"

    def _each(self, ask: Callable[[Posterior], Any]) -> dict[str, Any]:
        return {level: ask(part) for level, part in self.parts.items()}


def group_dimension(by: str, taken: set[str]) -> str:
    """The dimension of the groups is named after their column, unless a parameter or another dimension is."""
    return f"{by}_group" if by in taken | {"chain", "draw"} else by


def _dimensions(axes: Axes) -> set[str]:
    return {dimension for levels in axes.values() for dimension in levels}


def _by_level(
    dimension: str, parts: Mapping[str, tuple[Mapping[str, NDArray[Any]], Axes]]
) -> tuple[dict[str, NDArray[Any]], dict[str, dict[str, tuple[str, ...]]]]:
    """Arrays (chain, draw, …) of all levels with their axes: on one more axis where they are alike, else by name."""
    arrays: dict[str, NDArray[Any]] = {}
    axes: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in dict.fromkeys(name for own, _ in parts.values() for name in own):
        found = {level: own[name] for level, (own, _) in parts.items() if name in own}
        layouts = {level: dict(parts[level][1].get(name, {})) for level in found}
        first = layouts[next(iter(found))]
        alike = len(found) == len(parts) and all(layout == first for layout in layouts.values())
        if alike and len({values.shape for values in found.values()}) == 1:
            arrays[name] = np.stack(list(found.values()), axis=2)
            axes[name] = {dimension: tuple(found), **first}
            continue
        for level, values in found.items():
            arrays[f"{name}[{level}]"] = values
            axes[f"{name}[{level}]"] = {f"{axis}[{level}]": texts for axis, texts in layouts[level].items()}
    return arrays, axes
