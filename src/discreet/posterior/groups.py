"""Posteriors of the groups of a release with `by`: one for every declared level, each from its own statistics."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.inference.convergence import Mixing
from discreet.posterior.base import Posterior
from discreet.posterior.export import DEFAULT_DRAWS, to_datatree
from discreet.posterior.new_rows import held_columns, new_codes
from discreet.posterior.records.declared_records import LevelCells, stacked
from discreet.posterior.summary import Summary

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["GroupedPosterior", "group_dimension"]


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

    def to_datatree(
        self,
        draws: int = DEFAULT_DRAWS,
        rng: np.random.Generator | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Any:
        """Draws as an xarray DataTree for ArviZ, the groups on the first dimension after the draws.

        A parameter whose shape differs between groups has one variable for each of them, named "parameter[level]".
        `attributes` must be public.
        """
        rng = np.random.default_rng(rng)
        trees = self._each(lambda part: part._tree(draws, rng, None))
        datasets = {level: tree["posterior"].to_dataset() for level, tree in trees.items()}
        names = list(dict.fromkeys(name for dataset in datasets.values() for name in dataset.data_vars))
        arrays: dict[str, NDArray[Any]] = {}
        axes: dict[str, dict[str, tuple[str, ...]]] = {}
        dimension = group_dimension(self.by, {*names, *(d for dataset in datasets.values() for d in dataset.dims)})
        for name in names:
            found = {level: dataset[name] for level, dataset in datasets.items() if name in dataset}
            layouts = [_levels(variable) for variable in found.values()]
            alike = len(found) == len(datasets) and all(layout == layouts[0] for layout in layouts)
            if alike and len({variable.shape for variable in found.values()}) == 1:
                arrays[name] = np.stack([variable.values[0] for variable in found.values()], axis=1)
                axes[name] = {dimension: tuple(found), **layouts[0]}
                continue
            for (level, variable), layout in zip(found.items(), layouts, strict=True):
                arrays[f"{name}[{level}]"] = variable.values[0]
                axes[f"{name}[{level}]"] = {f"{axis}[{level}]": texts for axis, texts in layout.items()}
        return to_datatree(arrays, axes, attributes)

    def _title(self) -> str:
        each = next(iter(self.parts.values()))._title()
        return f"posteriors of {len(self)} groups by {self.by}, in each: {each}"

    def _each(self, ask: Callable[[Posterior], Any]) -> dict[str, Any]:
        return {level: ask(part) for level, part in self.parts.items()}


def group_dimension(by: str, taken: set[str]) -> str:
    """The dimension of the groups is named after their column, unless a parameter or another dimension is."""
    return f"{by}_group" if by in taken | {"chain", "draw"} else by


def _levels(variable: Any) -> dict[str, tuple[str, ...]]:
    """The dimensions of a variable after chain and draw, with their levels."""
    return {axis: tuple(str(text) for text in variable.coords[axis].values) for axis in variable.dims[2:]}
