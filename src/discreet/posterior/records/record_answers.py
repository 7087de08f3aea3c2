"""New records of a model: drawn given a posterior, predicted for rows that are given, put together to whole tables."""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.checks import is_integer
from discreet.errors import QueryError
from discreet.posterior.record_laws import RecordLaw
from discreet.posterior.records.declared_records import DeclaredRecords

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RecordAnswers"]

RECORDS_AT_ONCE = 2**16
MOST = 10**9  # records or tables


@dataclass(frozen=True, eq=False)
class RecordAnswers(ABC):
    """What every posterior answers about records, from its draws and the law of a record given them.

    `declared` says what the records of the model are called; a posterior that was made by hand may be without.
    """

    declared: DeclaredRecords | None = field(default=None, kw_only=True, repr=False, compare=False)

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator | None = None) -> Any:
        """Independent draws."""

    @abstractmethod
    def _title(self) -> str:
        """What the posterior is of, in words."""

    @abstractmethod
    def _warn(self) -> None:
        """Say it where chains have not converged: whoever asked reads numbers off them."""

    def simulate(self, n: int, rng: np.random.Generator | None = None) -> Any:
        """N new records, each an independent draw from the posterior predictive law.

        Levels are texts, numbers are within their bounds and on their grid: an array for a model of one column, arrays
        by column otherwise. Where no columns are declared, codes of levels and numbers as they are drawn.
        """
        self._warn()
        return self._simulated(n, np.random.default_rng(rng))

    def predict(self, records: Any, rng: np.random.Generator | None = None, **options: Any) -> Any:
        """The target of given new rows, where the model has one; of a whole number, the same as `simulate`."""
        if isinstance(records, int | np.integer):
            return self.simulate(int(records), rng, **options)
        coded = self._read(records)
        self._warn()
        return self._predicted(coded, **options)

    def predicted_columns(self, records: Any, *, target: str | None = None, level: float = 0.9) -> dict[str, Any]:
        """Predictions for given rows as the columns of a table; `target` is of models where any column may be one."""
        if target is not None:
            raise QueryError(f"{type(self).__name__}.predicted_columns target must be of a network, got {target!r}")
        coded = self._read(records)
        self._warn()
        return self._in_columns(coded, level)

    def table(self, n: int, rng: np.random.Generator | None = None) -> "pa.Table":
        """A synthetic table of n records in the declared columns, all given one draw of the parameters.

        Where the model reads a number by its ranges (`cut=`), the table has numbers again, evenly within their range.
        """
        self._warn()
        return self._tables(1, n, rng)[0]

    def tables(self, m: int, n: int, rng: np.random.Generator | None = None) -> "list[pa.Table]":
        """Synthetic tables of n records each, every one given its own draw of the parameters.

        What is estimated from each of them is put together by `dc.combine_tables`.
        """
        self._warn()
        return self._tables(m, n, rng)

    def coded_tables(
        self, m: int, n: int, rng: np.random.Generator | None = None
    ) -> list[dict[str, NDArray[np.int64]]]:
        """The same tables as a query sees them: codes of levels and whole grid steps, by column."""
        if self.declared is None:
            raise QueryError(f"{type(self).__name__}.declared must be columns, got a posterior made without a schema")
        rng = np.random.default_rng(rng)
        return [self.declared.coded(self._given(given, n, rng)) for given in self._one_by_one(m, rng)]

    def of_columns(self, declared: DeclaredRecords | None) -> Self:
        """The same posterior, which knows what the columns of its records are called."""
        made = copy(self)  # no new check and no new rounding of what is known
        object.__setattr__(made, "declared", declared)
        return made

    def _law(self) -> RecordLaw:
        """How a record follows from the parameters."""
        raise QueryError(f"{type(self).__name__}.simulate must have a law of records, got {self._title()}")

    def _read(self, records: Any) -> NDArray[Any]:
        """New rows, of which a target is predicted, as numbers: one entry for each along the first axis."""
        raise QueryError(
            f"{type(self).__name__}.predict must be of a model with a target, or of a number of new records, got "
            f"{self._title()} and rows that are given: a regression, a class or a network has a target"
        )

    def _predicted(self, coded: NDArray[Any], **options: Any) -> Any:
        """What `predict` answers for rows that are read, where there is a target: an array, or several by name."""
        raise NotImplementedError

    def _in_columns(self, coded: NDArray[Any], level: float) -> dict[str, Any]:
        """The same as the columns of a table."""
        return {"prediction": self._predicted(coded)}

    def _simulated(self, n: int, rng: np.random.Generator) -> Any:
        """What `simulate` answers; a part of a whole that has warned is asked for this."""
        return self._as_declared(self._new_records(n, rng))

    def _tables(self, m: int, n: int, rng: np.random.Generator | None) -> "list[pa.Table]":
        """What `tables` answers."""
        _check_size(type(self).__name__, "tables", m)
        _check_size(type(self).__name__, "records", n)
        rng = np.random.default_rng(rng)
        return [self._table(given, n, rng) for given in self._one_by_one(m, rng)]

    def _new_records(self, n: int, rng: np.random.Generator) -> Any:
        """What the law draws, each record given its own draw of the parameters."""
        law = self._law()
        return law.draw(self.sample(n, rng), rng)

    def _one_by_one(self, m: int, rng: np.random.Generator) -> list[Any]:
        """Different draws of the parameters, in whatever form `_given` reads."""
        self._law()
        drawn = self.sample(m, rng)
        if isinstance(drawn, dict):
            return [{name: array[i] for name, array in drawn.items()} for i in range(m)]
        return list(drawn)

    def _given(self, parameters: Any, n: int, rng: np.random.Generator) -> Any:
        """What the law draws, n records given one draw of the parameters."""
        if isinstance(parameters, dict):
            repeated: Any = {name: _repeated(array, n) for name, array in parameters.items()}
        else:
            repeated = _repeated(parameters, n)
        return self._law().draw(repeated, rng)

    def _table(self, parameters: Any, n: int, rng: np.random.Generator) -> "pa.Table":
        import pyarrow as pa

        if self.declared is None:
            raise QueryError(f"{type(self).__name__}.declared must be columns, got a posterior made without a schema")
        parts = [min(RECORDS_AT_ONCE, n - start) for start in range(0, n, RECORDS_AT_ONCE)]
        made = [self.declared.table(self._given(parameters, size, rng), rng) for size in parts]
        return pa.concat_tables(made).combine_chunks()

    def _as_declared(self, drawn: Any) -> Any:
        return drawn if self.declared is None else self.declared.cells(drawn)

    def _records_given(self, drawn: Any, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """One new record for each draw of the parameters, by column; nothing where there is no law of records."""
        if self.declared is None:
            return {}
        try:
            law = self._law()
        except QueryError:  # which the kind of the posterior decides, and no number in it
            return {}
        return self.declared.by_name(law.draw(drawn, rng))


def _repeated(array: Any, n: int) -> NDArray[Any]:
    """One draw of a parameter for n records, without a copy."""
    return np.broadcast_to(array, (n, *np.shape(array)))


def _check_size(kind: str, what: str, size: Any) -> None:
    if not (is_integer(size) and 1 <= size <= MOST):
        raise QueryError(f"{kind}.tables must be asked for a whole number of {what} from 1 to {MOST}, got {size!r}")
