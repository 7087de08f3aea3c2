"""What the posterior of a network says of a new record of which only some columns are known.

    P(target | known, release) ∝ E[ Σ_hidden Π_j θ_j[parents, level] ],

an average over the posterior of the probability of target and known cells together. Columns that are neither asked for
nor known are summed out exactly (`hidden_columns`); those without known descendants sum to one and are left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.numerics.arrays import Array
from discreet.posterior.chains import ChainsPosterior
from discreet.posterior.new_rows import held_columns, new_codes
from discreet.posterior.records.hidden_columns import SharedTable, elimination, summed_out
from discreet.schema import Seen

__all__ = ["NetworkPosterior"]

PREDICTION_DRAWS = 1000
MOST_CELLS = 2**24  # draws × records × levels of a table while hidden columns are summed out
MOST_RECORDS = 256


@dataclass(frozen=True, eq=False)
class NetworkPosterior(ChainsPosterior):
    """Chains of the conditional probabilities of every node, (chains, draws, parents' levels …, levels).

    `parents` is the graph, every parent before its children; `columns` say what the cells of new records mean.
    """

    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict, kw_only=True)
    columns: Mapping[str, Seen] = field(default_factory=dict, kw_only=True, repr=False)

    @classmethod
    def of(cls, chains: ChainsPosterior, parents: Mapping[str, tuple[str, ...]], columns: Mapping[str, Seen]) -> Self:
        """The same chains, which know their graph and what cells mean."""
        held = {part.name: getattr(chains, part.name) for part in fields(ChainsPosterior)}
        return cls(**held, parents=parents, columns=columns)

    def predict_proba(self, records: Any, target: str) -> Array:
        """The probability of every level of one column for new records, (records, levels).

        `records` holds any of the other columns, as a frame, a mapping or the path of a file; what it does not hold is
        summed out. Cells are read as those of the private table, as in `predict` of other models.
        """
        if target not in self.parents:
            raise QueryError(
                f"NetworkPosterior.predict_proba target must be one of {list(self.parents)}, got {target!r}"
            )
        held, names = held_columns(records)
        known = {name: column for name, column in self.columns.items() if name in names and name != target}
        if not known:
            others = [name for name in self.parents if name != target]
            raise QueryError(f"new rows must have some of the columns {others}, got none of them")
        self._warn()
        codes = np.array(list(new_codes(known, held).values()))
        different, which = np.unique(codes, axis=1, return_inverse=True)
        joint = self._joint(target, dict(zip(known, different, strict=True)))
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))[np.ravel(which)]

    def _read(self, records: Any) -> NoReturn:
        """A network has no target, so rows ask `predict_proba`."""
        raise QueryError(
            "NetworkPosterior.predict must be of a model with a target, got a network: "
            "ask predict_proba(rows, target) of the column that is wanted"
        )

    def predicted_columns(self, records: Any, *, target: str | None = None, level: float = 0.9) -> dict[str, Any]:
        """The probability of every level of the target, in a column of its own."""
        if target is None:
            return super().predicted_columns(records)  # refuses
        found = self.predict_proba(records, target)
        column = self.columns[target]
        return dict(zip(column.levels, found.T, strict=True))

    def _joint(self, target: str, known: Mapping[str, NDArray[np.int64]]) -> Array:
        """E[P(target, known)], (records, levels of the target)."""
        needed = _with_ancestors(self.parents, (target, *known))
        given = {name: self._thinned(name) for name in needed}
        levels = {name: given[name].shape[-1] for name in needed}
        hidden = frozenset(needed) - {target, *known}
        scopes = [frozenset({*self.parents[name], name}) - known.keys() for name in needed]
        order, largest = elimination(scopes, hidden, levels)
        at_once = min(MOST_CELLS // (largest * len(given[target])), MOST_RECORDS)
        if at_once < 1:
            raise QueryError(
                f"NetworkPosterior.predict_proba must have new rows with more of the columns {sorted(hidden)}: "
                f"to sum them out takes a table of {largest} levels"
            )
        count = len(next(iter(known.values())))
        parts = [np.empty((0, levels[target]))]
        for start in range(0, count, at_once):
            batch = {name: codes[start : start + at_once] for name, codes in known.items()}
            tables = [_table(given[name], (*self.parents[name], name), batch) for name in needed]
            joint = summed_out(tables, order).values.mean(axis=0)
            parts.append(np.broadcast_to(joint, (len(next(iter(batch.values()))), levels[target])))
        return np.concatenate(parts)

    def _thinned(self, name: str) -> Array:
        values = self.chains[name]
        flat = values.reshape(-1, *values.shape[2:])
        return np.asarray(flat[:: -(-len(flat) // PREDICTION_DRAWS)])


def _table(given: Array, place: tuple[str, ...], known: Mapping[str, NDArray[np.int64]]) -> SharedTable:
    """The conditional probabilities of one node at the known cells of every record."""
    fixed = [axis for axis, name in enumerate(place) if name in known]
    scope = tuple(name for name in place if name not in known)
    if not fixed:
        return SharedTable(scope, given[:, np.newaxis])
    first = np.moveaxis(given, [1 + axis for axis in fixed], range(1, 1 + len(fixed)))
    index: tuple[Any, ...] = (slice(None), *(known[place[axis]] for axis in fixed))
    return SharedTable(scope, first[index])


def _with_ancestors(parents: Mapping[str, tuple[str, ...]], names: Iterable[str]) -> tuple[str, ...]:
    """The names and all that is above them, in the order of the graph."""
    needed = set(names)
    for name in reversed(list(parents)):  # children before their parents
        needed |= set(parents[name]) if name in needed else set()
    return tuple(name for name in parents if name in needed)
