"""Released coefficients of a linear predictor: predictions, and bands where the information is known.

A draw is not the posterior: it spreads by the temperature as well as by what the data leave open. Given the true
coefficients θ, a stationary draw has a limit law (`limit_law.py`): normal around what tempering and prior leave of θ.
With a normal prior of θ that gives a normal posterior, and bands that cover. That prior is the declared one;
where the precision λ was only recommended, to make draws good at their temperature, it is no belief about θ and would
pull the bands to 0: then one stands in for it that believes next to nothing, of precision R²/1600, under which margins
deviate by 40. The information of the rows must be public or paid for: it is a function of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.inference.coefficients.limit_law import Information, information_of, straight_law
from discreet.numerics.arrays import Array
from discreet.posterior.exports.datatree import FROM_PRIOR, Exported
from discreet.posterior.exports.draw_files import write_draws
from discreet.posterior.exports.pictured import Pictured
from discreet.posterior.exports.provenance import Provenance
from discreet.posterior.new_rows import new_rows
from discreet.posterior.summary import SUMMARY_LEVEL, Summary, as_frame, as_text, describe
from discreet.queries.losses.base import Loss
from discreet.report.quantities import Quantity

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CoefficientDraws"]


WIDE = 40.0  # deviation of margins under the prior that stands in for none


@dataclass(frozen=True)
class CoefficientDraws(Pictured):
    """Independent draws of coefficients, (draws, coefficients), in the order of `names`.

    `query` says what the columns mean; `beta` and `precision` are what was drawn with; `stationary` whether the law of
    a draw is that of the Gibbs posterior.
    """

    values: Mapping[str, Array]
    query: Loss = field(repr=False)
    beta: float
    precision: float
    stationary: bool
    note: str = ""
    provenance: Provenance | None = field(default=None, kw_only=True, repr=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients, in order."""
        return self.query.features.names

    @property
    def coefficients(self) -> Array:
        """The released array."""
        return np.asarray(self.values[self.query.parameter], dtype=float)

    @property
    def draws(self) -> int:
        """How many draws were released."""
        return len(self.coefficients)

    def mean(self) -> Array:
        """Average of the released draws."""
        return np.asarray(self.coefficients.mean(axis=0))

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Array:
        """Take n of the released draws in random order, with replacement when more are asked for than were released."""
        return self.coefficients[np.random.default_rng(rng).choice(self.draws, size=n, replace=n > self.draws)]

    def margin_weights(self, draws: int) -> Array:
        """Coefficients, (draws, coefficients): the first of the released ones."""
        return self.coefficients[:draws]

    def decision(self, records: Any) -> Array:
        """Margins of new records, (draws, records), given as a frame or a mapping of columns. They are not private.

        Cells follow the declared rules: numbers are clipped, and what is no number or no level counts as the `missing`
        value of its column, as it did in the private table; where the column declares none, the record is refused.
        """
        if self.query.target is None:
            raise QueryError("CoefficientDraws.decision must have a model with a target, got a mean")
        return np.asarray(self.coefficients @ new_rows(self.query, records).T)

    def predict_proba(self, records: Any) -> Array:
        """Probabilities of the two levels for new rows, (rows, 2), averaged over the draws; of a logistic model."""
        means, target = self.query.means, self.query.target
        if means is None or target is None or target.labels is None:
            raise QueryError(f"CoefficientDraws.predict_proba must have a logistic model, got {self.query.name}")
        upper = means.mean(self.decision(records)).mean(axis=0)
        return np.stack([1.0 - upper, upper], axis=1)

    def predict(self, records: Any) -> NDArray[Any]:
        """For new rows: the more probable level, the expected count, or the target's value, within its bounds."""
        if isinstance(records, int | np.integer):
            raise self._no_records("predict")
        return self.query.predicted(self.decision(records))

    def predicted_columns(self, records: Any, *, target: str | None = None, level: float = 0.9) -> dict[str, Any]:
        """Predictions for given rows as the columns of a table, with the probability of a level where it is known."""
        if target is not None:
            raise QueryError(f"CoefficientDraws.predicted_columns target must be of a network, got {target!r}")
        found: dict[str, Any] = {"prediction": self.predict(records)}
        if self.query.means is not None and self.query.target is not None and self.query.target.labels is not None:
            found["probability"] = self.predict_proba(records).max(axis=1)
        return found

    def simulate(self, n: int, rng: np.random.Generator | None = None) -> NoReturn:
        """Refused: the model says what the target is given the features, and nothing of the features."""
        raise self._no_records("simulate")

    def table(self, n: int, rng: np.random.Generator | None = None) -> NoReturn:
        """Refused, as `simulate` is."""
        raise self._no_records("table")

    def tables(self, m: int, n: int, rng: np.random.Generator | None = None) -> NoReturn:
        """Refused, as `simulate` is."""
        raise self._no_records("tables")

    def information(self, records: Any, n: int | None = None) -> Information:
        """J of n rows like these, at the most probable coefficients: `records` must be public, or what is paid for.

        Without n, that of the private table's public size. The logistic and the Poisson loss are likelihoods.
        """
        means = self.query.means
        if means is None:
            raise QueryError(f"CoefficientDraws.information must have a likelihood, got the {self.query.name} loss")
        z = new_rows(self.query, records)
        if len(z) == 0 or not (n is None or (isinstance(n, int) and n > 0)):
            raise QueryError(f"CoefficientDraws.information must have records and a number of rows from 1, got {n!r}")
        total = self.query.largest_total if n is None else n
        return information_of(means, z, total, self.mean(), self.draws, self.beta, self.precision, self._believed)

    def interval(self, level: float = 0.9, *, information: ArrayLike | None = None) -> Array:
        """Bands (coefficients, 2) that hold each coefficient with probability `level`, given the public information."""
        mean, covariance = self._normal(information)
        from scipy.special import ndtri

        half = ndtri(0.5 + 0.5 * _level(level)) * np.sqrt(np.diag(covariance))
        return np.stack([mean - half, mean + half], axis=1)

    def sd(self, *, information: ArrayLike | None = None) -> Array:
        """Deviations of the coefficients, given the public information."""
        return np.asarray(np.sqrt(np.diag(self._normal(information)[1])))

    def hdi(self, level: float = 0.9, *, information: ArrayLike | None = None) -> Array:
        """The same as `interval`: given the information coefficients are normal, so no interval is shorter."""
        return self.interval(level, information=information)

    def summary(self) -> "pd.DataFrame":
        """Average over the draws; bands need the information."""
        return as_frame(self._summary(), self.facts())

    def quantities(self, level: float = SUMMARY_LEVEL) -> tuple[Quantity, ...]:
        """The released draws: bands need the information, which a picture does not have."""
        try:
            self._normal(None)
        except QueryError as refusal:
            reason = str(refusal)
        return (
            Quantity(
                self.query.parameter,
                self.names,
                self.mean(),
                level,
                reason=reason,
                draws=self.coefficients,
                released=True,
                kind="plain" if self.query.target is None else "coefficients",
            ),
        )

    def facts(self) -> dict[str, Any]:
        """What a reader of numbers must know besides: what was drawn, and the release it is of."""
        return {
            "estimand": self._title(),
            **({} if self.provenance is None else self.provenance.facts()),
            "note": self.note,
        }

    def of_release(self, provenance: Provenance) -> Self:
        """The same draws, which know which release they are of."""
        return replace(self, provenance=provenance)

    def to_datatree(self, attributes: Mapping[str, Any] | None = None) -> Any:
        """The released draws, all and only them, as an xarray DataTree for ArviZ; `attributes` must be public."""
        draw = None if self.provenance is None else self.provenance.prior
        prior = {} if draw is None else draw(FROM_PRIOR, np.random.default_rng())
        return self._exported().to_datatree(prior, {**self.facts(), **(attributes or {})})

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """The released draws, all and only them, as a table."""
        write_draws(path, self._exported(), self.facts())

    def __str__(self) -> str:
        return as_text(self._title(), self._summary())

    def _summary(self) -> Summary:
        return describe(list(self.names), {"mean": self.mean(), "draws": np.full(len(self.names), self.draws)})

    def _title(self) -> str:
        return f"{self.draws} draw(s), tempered: {self.note}"

    def _exported(self) -> Exported:
        axes = {self.query.parameter: {"coefficient": self.names}}
        return Exported.one_chain({self.query.parameter: self.coefficients}, axes)

    def _no_records(self, asked: str) -> QueryError:
        return QueryError(
            f"CoefficientDraws.{asked} must not be asked for new records: a model of a target given its features has "
            "no law of the features; ask predict(rows)"
        )

    def _normal(self, information: ArrayLike | None) -> tuple[Array, Array]:
        """Mean and covariance of the coefficients given the draws."""
        if not self.stationary or information is None:
            need = "a stationary chain or exact draws" if not self.stationary else "information="
            raise QueryError(
                f"CoefficientDraws.interval must have {need}: the spread of a draw is not the uncertainty of the "
                "coefficients, and their information must be public or paid for (see CoefficientDraws.information)"
            )
        j = information if isinstance(information, Information) else np.asarray(information, dtype=float)
        size = len(self.names)
        if j.shape != (size, size) or not np.all(np.isfinite(j)):
            raise QueryError(f"CoefficientDraws information must be a matrix {size} x {size}, got shape {j.shape}")
        towards, spread, centre, expected = straight_law(j, self.draws, self.beta, self.precision)
        weight = np.linalg.solve(spread, towards)
        covariance = np.linalg.inv(towards.T @ weight + self._believed * np.eye(size))
        return np.asarray(covariance @ weight.T @ (self.mean() - expected + towards @ centre)), np.asarray(covariance)

    @property
    def _believed(self) -> float:
        """The precision of the prior of the coefficients: as declared, else one that hardly pulls."""
        return self.query.features.reach**2 / WIDE**2 if self.query.precision is None else self.query.precision


def _level(level: float) -> float:
    if not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise QueryError(f"CoefficientDraws.interval level must be in (0, 1), got {level!r}")
    return level
