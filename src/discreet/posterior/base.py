"""What every posterior answers: it writes what only it knows, and inherits the rest.

A posterior of one parameter answers with numbers or vectors, any other by the names of its parameters. Whatever its
form, it has names and dimensions (`_axes`), means, deviations, quantiles and draws; intervals, the summary, the export
and the text follow from these.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.checks import is_integer
from discreet.errors import ConvergenceWarning, QueryError, warn_caller
from discreet.inference.convergence import Mixing
from discreet.posterior.export import DEFAULT_DRAWS, Axes, to_datatree
from discreet.posterior.record_laws import RecordLaw
from discreet.posterior.records.declared_records import DeclaredRecords
from discreet.posterior.summary import SUMMARY_LEVEL, Summary, as_text, check_order, describe, labels, tails

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Posterior"]

RECORDS_AT_ONCE = 2**16
MOST = 10**9  # records or tables


@dataclass(frozen=True, eq=False)
class Posterior(ABC):
    """Free post-processing of a release: nothing here costs privacy, and nothing here sees a row.

    `declared` says what the records of the model are called; a posterior that was made by hand may be without.
    """

    declared: DeclaredRecords | None = field(default=None, kw_only=True, repr=False, compare=False)

    _no_density = _no_evidence = "must not be asked"  # the words of a refusal, after the name of the method

    @abstractmethod
    def mean(self) -> Any:
        """Posterior mean."""

    @abstractmethod
    def sd(self) -> Any:
        """Posterior standard deviation."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator | None = None) -> Any:
        """Independent draws."""

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

    def of_columns(self, declared: DeclaredRecords | None) -> Self:
        """The same posterior, which knows what the columns of its records are called."""
        made = copy(self)  # no new check and no new rounding of what is known
        object.__setattr__(made, "declared", declared)
        return made

    def quantile(self, q: float) -> Any:
        """The q-quantile."""
        check_order(q)
        return self._quantiles(np.array([q], dtype=float))[0]

    def interval(self, level: float = 0.9) -> Any:
        """Lower and upper ends of equal-tailed intervals, one for every parameter on its own, given the release."""
        self._warn()
        return self._interval(level)

    @property
    def mixing(self) -> Mixing | None:
        """How the chains behind the answers mixed; None where there are none."""
        return None

    def _warn(self) -> None:
        """Say it where chains have not converged: whoever asked reads numbers off them."""
        if self.mixing is not None and not self.mixing.converged:
            warn_caller(ConvergenceWarning(self.mixing.words))

    def _interval(self, level: float) -> Any:
        lower, upper = self._quantiles(tails(level))
        return {name: (lower[name], upper[name]) for name in lower} if isinstance(lower, dict) else (lower, upper)

    def log_density(self, x: Any) -> Any:
        """Log posterior density at x; refused where a posterior has none of its own."""
        raise QueryError(f"{type(self).__name__}.log_density {self._no_density}")

    def log_evidence(self) -> float:
        """Log-probability of the release under the model; refused where it is not known."""
        raise QueryError(f"{type(self).__name__}.log_evidence {self._no_evidence}")

    def summary(self) -> Summary:
        """Mean, deviation and 90% interval of every parameter, and how chains mixed; of released draws their mean."""
        self._warn()
        return self._summary()

    def _summary(self) -> Summary:
        columns = {column: self._by_name(answer).values() for column, answer in self._columns().items()}
        names = [label for name, axes in self._axes().items() for label in labels(name, axes)]
        return describe(
            names, {column: np.concatenate([np.ravel(a) for a in found]) for column, found in columns.items()}
        )

    def to_datatree(
        self,
        draws: int = DEFAULT_DRAWS,
        rng: np.random.Generator | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Any:
        """Draws as an xarray DataTree with the ArviZ groups; `attributes` must be public."""
        return self._tree(draws, rng, attributes)

    def __str__(self) -> str:
        text = as_text(self._title(), self._summary())
        return text if self.mixing is None or self.mixing.converged else f"{text}\n{self.mixing.words}"

    def _law(self) -> RecordLaw:
        """How a record follows from the parameters."""
        raise QueryError(f"{type(self).__name__}.simulate must have a law of records, got {self._title()}")

    def _read(self, records: Any) -> NDArray[Any]:
        """New rows, of which a target is predicted, as numbers: one entry for each along the first axis."""
        raise QueryError(
            f"{type(self).__name__}.predict must be of a model with a target, or of a number of new records, got "
            f"{self._title()} and rows that are given"
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

    @abstractmethod
    def _title(self) -> str:
        """What the posterior is of, in words."""

    def _axes(self) -> Axes:
        """Every parameter in order, with its dimensions and their levels."""
        return {}

    def _quantiles(self, orders: NDArray[np.float64]) -> Sequence[Any]:
        """What `quantile` answers for each order; a posterior writes one of the two."""
        return [self.quantile(float(q)) for q in orders]

    def _columns(self) -> dict[str, Any]:
        """The columns of the summary, each in the form of the mean."""
        lower, upper = self._quantiles(tails(SUMMARY_LEVEL))
        return {"mean": self.mean(), "sd": self.sd(), "lower": lower, "upper": upper}

    def _tree(self, draws: int, rng: np.random.Generator | None, attributes: Mapping[str, Any] | None) -> Any:
        return to_datatree(self._by_name(self.sample(draws, rng)), self._axes(), attributes)

    def _by_name(self, answer: Any) -> Mapping[str, Any]:
        """An answer by parameter, also where there is one parameter only."""
        return answer if isinstance(answer, dict) else {next(iter(self._axes())): answer}


def _repeated(array: Any, n: int) -> NDArray[Any]:
    """One draw of a parameter for n records, without a copy."""
    return np.broadcast_to(array, (n, *np.shape(array)))


def _check_size(kind: str, what: str, size: Any) -> None:
    if not (is_integer(size) and 1 <= size <= MOST):
        raise QueryError(f"{kind}.tables must be asked for a whole number of {what} from 1 to {MOST}, got {size!r}")
