"""What every posterior answers: it writes what only it knows, and inherits the rest.

A posterior of one parameter answers with numbers or vectors, any other by the names of its parameters. Whatever its
form, it has names and dimensions (`_axes`), means, deviations, quantiles and draws; intervals, the summary, the exports
and the text follow from these.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ConvergenceWarning, QueryError, warn_caller
from discreet.inference.convergence import Mixing
from discreet.posterior.exports.datatree import DEFAULT_DRAWS, FROM_PRIOR, Axes, Exported
from discreet.posterior.exports.draw_files import write_draws
from discreet.posterior.exports.pictured import Pictured, quantities_by_name
from discreet.posterior.exports.provenance import Provenance
from discreet.posterior.records.record_answers import RecordAnswers
from discreet.posterior.shortest import shortest
from discreet.posterior.summary import SUMMARY_LEVEL, Summary, as_frame, as_text, check_order, describe, labels, tails
from discreet.report.quantities import Quantity

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Posterior"]


@dataclass(frozen=True, eq=False)
class Posterior(Pictured, RecordAnswers):
    """Free post-processing of a release: nothing here costs privacy, and nothing here sees a row.

    `provenance` says which release is read; a posterior that was made by hand may be without.
    """

    provenance: Provenance | None = field(default=None, kw_only=True, repr=False, compare=False)

    _draws_are_released = False  # whether `_shown_draws` are what was paid for
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

    def of_release(self, provenance: Provenance) -> Self:
        """The same posterior, which knows which release it reads."""
        made = copy(self)
        object.__setattr__(made, "provenance", provenance)
        return made

    def quantile(self, q: float) -> Any:
        """The q-quantile."""
        check_order(q)
        return self._quantiles(np.array([q], dtype=float))[0]

    def interval(self, level: float = 0.9) -> Any:
        """Lower and upper ends of equal-tailed intervals, one for every parameter on its own, given the release."""
        self._warn()
        return self._interval(level)

    def hdi(self, level: float = 0.9) -> Any:
        """The shortest intervals that hold each parameter with this probability, in the form of `interval`.

        Of a density with one peak it is the interval of highest density.
        """
        self._warn()
        return self._hdi(level)

    @property
    def mixing(self) -> Mixing | None:
        """How the chains behind the answers mixed; None where there are none."""
        return None

    def _warn(self) -> None:
        """Say it where chains have not converged: whoever asked reads numbers off them."""
        if self.mixing is not None and not self.mixing.converged:
            warn_caller(ConvergenceWarning(self.mixing.words))

    def _interval(self, level: float) -> Any:
        return _pairs(*self._quantiles(tails(level)))

    def _hdi(self, level: float) -> Any:
        return _pairs(*shortest(self._quantiles, level))

    def log_density(self, x: Any) -> Any:
        """Log posterior density at x; refused where a posterior has none of its own."""
        raise QueryError(f"{type(self).__name__}.log_density {self._no_density}")

    def log_evidence(self) -> float:
        """Log-probability of the release under the model; refused where it is not known."""
        raise QueryError(f"{type(self).__name__}.log_evidence {self._no_evidence}")

    def summary(self) -> "pd.DataFrame":
        """Mean, deviation and 90% interval of every parameter, and how chains mixed; of released draws their mean.

        `.attrs` of the frame hold what the numbers are of, the guarantee, the recipe, and whether chains converged.
        """
        self._warn()
        return as_frame(self._summary(), {"interval": SUMMARY_LEVEL, **self.facts()})

    def facts(self) -> dict[str, Any]:
        """What a reader of numbers must know besides: estimand, guarantee, recipe, and whether chains converged."""
        mixed = {} if self.mixing is None else {"converged": self.mixing.converged, "convergence": self.mixing.words}
        return {"estimand": self._title(), **({} if self.provenance is None else self.provenance.facts()), **mixed}

    def _summary(self) -> Summary:
        columns = {column: self._by_name(answer).values() for column, answer in self._columns().items()}
        names = [label for name, axes in self._axes().items() for label in labels(name, axes)]
        return describe(
            names, {column: np.concatenate([np.ravel(a) for a in found]) for column, found in columns.items()}
        )

    def quantities(self, level: float = SUMMARY_LEVEL) -> tuple[Quantity, ...]:
        """Every parameter as plain numbers with names: what pictures and reports are made of."""
        return quantities_by_name(self, self._axes(), level)

    def to_datatree(
        self,
        draws: int | None = None,
        rng: np.random.Generator | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Any:
        """Draws as an xarray DataTree with the ArviZ groups, and all facts as attributes; further ones must be public.

        Without a number 4,000 independent draws, or all that there are.

        With the parameters go a new record for each of their draws and, where the release is known, draws from the
        prior alone. `xarray.DataTree.to_netcdf` keeps all of it in a file.
        """
        return self._tree(draws, rng, attributes)

    def to_parquet(
        self, path: str | PathLike[str], draws: int | None = None, rng: np.random.Generator | None = None
    ) -> None:
        """Draws of the parameters as a table: one row for each, one column for each number, the facts beside them.

        `discreet.posterior.exports.draw_files.read_draws` reads it as a DataTree, every other tool as a table.
        """
        write_draws(path, self._exported(draws, np.random.default_rng(rng)), self.facts())

    def __str__(self) -> str:
        text = as_text(self._title(), self._summary())
        return text if self.mixing is None or self.mixing.converged else f"{text}\n{self.mixing.words}"

    @abstractmethod
    def _title(self) -> str:
        """What the posterior is of, in words."""

    def _shown_draws(self, n: int, rng: np.random.Generator) -> Any:
        """Draws for a picture."""
        return self.sample(n, rng)

    def _exact_density(self) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
        """The density of a single number, where it is known."""
        return None

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

    def _tree(self, draws: int | None, rng: Any, attributes: Mapping[str, Any] | None) -> Any:
        rng = np.random.default_rng(rng)
        found = self._exported(draws, rng)
        return found.to_datatree(self._from_prior(FROM_PRIOR, rng), {**self.facts(), **(attributes or {})})

    def _exported(self, draws: int | None, rng: np.random.Generator) -> Exported:
        """Draws of the parameters, and a record for each: as many as are asked for, or all that there are."""
        drawn = self.sample(DEFAULT_DRAWS if draws is None else draws, rng)
        return Exported.one_chain(self._by_name(drawn), self._axes(), self._records_given(drawn, rng))

    def _from_prior(self, draws: int, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        """Draws from the prior alone, by parameter."""
        return {} if self.provenance is None or self.provenance.prior is None else self.provenance.prior(draws, rng)

    def _by_name(self, answer: Any) -> Mapping[str, Any]:
        """An answer by parameter, also where there is one parameter only."""
        return answer if isinstance(answer, dict) else {next(iter(self._axes())): answer}


def _pairs(lower: Any, upper: Any) -> Any:
    """Both ends of intervals together, by name where there are names."""
    return {name: (lower[name], upper[name]) for name in lower} if isinstance(lower, dict) else (lower, upper)
