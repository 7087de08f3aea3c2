"""Released draws: the few values of the parameter that were paid for, and what may honestly be done with them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from discreet.errors import QueryError
from discreet.numerics.arrays import Array
from discreet.posterior.base import Posterior
from discreet.posterior.exports.datatree import Axes, Exported
from discreet.posterior.record_laws import RecordLaw

__all__ = ["Draws"]


@dataclass(frozen=True)
class Draws(Posterior):
    """Independent draws from a tempered posterior: arrays (draws, …) by parameter name.

    A draw spreads around the data by the temperature as well as by what the data leave open, so the spread of the
    draws is not the uncertainty of the parameter. Where the law of a draw given the parameter is known, intervals come
    from it (`given`); elsewhere they are refused.

    Parameters
    ----------
    values
        The released arrays; the first axis counts the draws.
    levels
        The declared levels of the last axis, for parameters that have one.
    note
        What was drawn, in words: law and temperature.
    given
        The posterior of a single parameter given the draws, where it can be computed.
    record
        How the model draws new records given its parameters; without it there are no predictions.
    """

    values: Mapping[str, Array]
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    note: str = "draws from a tempered posterior"
    given: Posterior | None = None
    record: RecordLaw | None = None

    _draws_are_released = True
    _no_density = "must not be asked: the tempered density is a function of the private rows"
    _no_evidence = "must not be asked: the evidence is a function of the private rows"

    def __post_init__(self) -> None:
        values = {name: np.asarray(array, dtype=float) for name, array in self.values.items()}
        if not values or len({array.shape[:1] for array in values.values()}) != 1 or self._first(values).ndim == 0:
            raise QueryError("Draws.values must be arrays with the same number of draws on their first axis")
        object.__setattr__(self, "values", values)

    @property
    def draws(self) -> int:
        """How many draws were released."""
        return len(self._first(self.values))

    def mean(self) -> dict[str, Array]:
        """Average of the released draws, by parameter."""
        return {name: np.asarray(array.mean(axis=0)) for name, array in self.values.items()}

    def sample(self, n: int, rng: np.random.Generator | None = None) -> dict[str, Array]:
        """Take n of the released draws in random order, with replacement when more are asked for than were released."""
        chosen = np.random.default_rng(rng).choice(self.draws, size=n, replace=n > self.draws)
        return {name: array[chosen] for name, array in self.values.items()}

    def to_datatree(self, attributes: Mapping[str, Any] | None = None) -> Any:  # type: ignore[override]
        """The released draws, all and only them, as an xarray DataTree for ArviZ; `attributes` must be public."""
        return self._tree(None, None, attributes)

    def to_parquet(self, path: str | PathLike[str]) -> None:  # type: ignore[override]
        """The released draws, all and only them, as a table."""
        super().to_parquet(path)

    def facts(self) -> dict[str, Any]:
        """What a reader must know besides, and what was drawn."""
        return {**super().facts(), "note": self.note}

    def sd(self) -> Any:
        """Posterior deviation given the draws, where their law is known."""
        return self._known("sd").sd()

    def _interval(self, level: float) -> Any:
        """Interval that holds the parameter with probability `level` given the draws, where their law is known."""
        return self._known("interval").interval(level)

    def _hdi(self, level: float) -> Any:
        return self._known("hdi")._hdi(level)

    def quantile(self, q: float) -> Any:
        """Quantile of the parameter given the draws, where their law is known."""
        return self._known("quantile").quantile(q)

    def _shown_draws(self, n: int, rng: np.random.Generator) -> Mapping[str, Array]:
        return self.values

    def _exact_density(self) -> Callable[[Array], Array] | None:
        return None if self.given is None else self.given._exact_density()

    def _law(self) -> RecordLaw:
        if self.record is None:
            raise QueryError(
                f"Draws.simulate must have the law of a record given {sorted(self.values)}, "
                "got draws of a model that has none"
            )
        return self.record

    def _new_records(self, n: int, rng: np.random.Generator) -> Any:
        """Each record given one of the released draws."""
        law, chosen = self._law(), rng.integers(self.draws, size=n)
        return law.draw({name: array[chosen] for name, array in self.values.items()}, rng)

    def _one_by_one(self, m: int, rng: np.random.Generator) -> list[Any]:
        """Every table has a draw of its own, and only those that were paid for exist."""
        if m > self.draws:
            raise QueryError(f"Draws.tables must be at most one for each released draw, {self.draws}, got {m}")
        return super()._one_by_one(m, rng)

    def _title(self) -> str:
        return f"{self.draws} draw(s) of a tempered posterior, not of the posterior: {self.note}"

    def _axes(self) -> Axes:
        axes = {}
        for name, array in self.values.items():
            sizes = [tuple(map(str, range(size))) for size in array.shape[1:]]
            if sizes and name in self.levels:
                sizes[-1] = self.levels[name]
            axes[name] = {
                f"{name}_{axis}" if axis < len(sizes) - 1 else f"{name}_level": s for axis, s in enumerate(sizes)
            }
        return axes

    def _columns(self) -> dict[str, Any]:
        """Average over the draws and their number; no deviation and no interval."""
        means = self.mean()
        return {"mean": means, "draws": {name: np.full(mean.shape, self.draws) for name, mean in means.items()}}

    def _exported(self, draws: int | None, rng: np.random.Generator) -> Exported:
        return Exported.one_chain(self.values, self._axes(), self._records_given(self.values, rng))

    @staticmethod
    def _first(values: Mapping[str, Array]) -> Array:
        return next(iter(values.values()))

    def _known(self, asked: str) -> Posterior:
        if self.given is not None:
            return self.given
        raise QueryError(
            f"Draws.{asked} must not be read off tempered draws: their spread is not the uncertainty of the parameter "
            "(naive 90% bands around one draw cover 26-59%); release noisy statistics to get calibrated intervals"
        )
