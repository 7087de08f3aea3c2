"""What every posterior answers: it writes what only it knows, and inherits the rest.

A posterior of one parameter answers with numbers or vectors, any other by the names of its parameters. Whatever its
form, it has names and dimensions (`_axes`), means, deviations, quantiles and draws; intervals, the summary, the export
and the text follow from these.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ConvergenceWarning, QueryError
from discreet.inference.convergence import Mixing
from discreet.posterior.export import DEFAULT_DRAWS, Axes, to_datatree
from discreet.posterior.summary import SUMMARY_LEVEL, Summary, as_text, check_order, describe, labels, tails

__all__ = ["Posterior"]


class Posterior(ABC):
    """Free post-processing of a release: nothing here costs privacy, and nothing here sees a row."""

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

    @abstractmethod
    def predict(self, n: int, rng: np.random.Generator | None = None) -> Any:
        """New records, each an independent draw from the posterior predictive law."""

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
        """Say it where chains have not converged: the caller of the method that calls this reads numbers off them."""
        if self.mixing is not None and not self.mixing.converged:
            warnings.warn(self.mixing.words, ConvergenceWarning, stacklevel=3)

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
