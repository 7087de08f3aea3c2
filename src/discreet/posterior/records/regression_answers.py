"""What the posterior of a linear regression says of the target of new rows.

    target | x ~ N(x · coefficients, variance), clamped to the declared bounds of the target

Coefficients and variance are those of the least-squares line through the columns as declared: the line is the best one
whatever the law of the rows, and the normal law around it is an assumption. The interval of a row averages over the
posterior; it holds on average over rows like those of the table, and in every row where the deviations are alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.numerics.arrays import Array
from discreet.posterior.chains import ChainsPosterior
from discreet.posterior.new_rows import new_codes
from discreet.posterior.records.declared_records import NumberColumn
from discreet.posterior.summary import SUMMARY_LEVEL, Summary, describe, tails
from discreet.schema import Seen

__all__ = ["RegressionPosterior"]

PREDICTION_DRAWS = 400  # they only widen the law of a record a little
ROWS_AT_ONCE = 1000
STEPS = 8  # of Newton's method, which starts next to the quantile


@dataclass(frozen=True, eq=False)
class RegressionPosterior(ChainsPosterior):
    """Chains of "coefficients" (intercept, numeric features, other levels of each category) and of "variance".

    `features` are the declared columns of the features, numeric ones first, in the order of the coefficients; `target`
    is the column of the target.
    """

    features: Mapping[str, Seen] = field(default_factory=dict, kw_only=True, repr=False)
    target: NumberColumn | None = field(default=None, kw_only=True, repr=False)

    def predict(  # type: ignore[override]
        self, records: Any, rng: np.random.Generator | None = None, *, level: float = 0.9
    ) -> dict[str, Array]:
        """For new rows {"mean", "lower", "upper"}: the expected target, and an interval that holds it.

        `records` is a frame, a mapping of columns, or the path of a CSV or Parquet file. All answers lie within the
        declared bounds of the target; nothing is drawn, so `rng` changes nothing.
        """
        if isinstance(records, int | np.integer):
            raise self._no_features("predict")
        return super().predict(records, level=level)  # type: ignore[no-any-return]

    def _predicted(self, coded: Array, **options: Any) -> dict[str, Array]:
        target, level, design = self._declared_target(), options.get("level", SUMMARY_LEVEL), coded
        mean, ends = design @ self._thinned()[0].mean(axis=0), tails(level)
        parts = [self._ends(design[i : i + ROWS_AT_ONCE], ends) for i in range(0, len(design), ROWS_AT_ONCE)]
        lower, upper = np.concatenate([*parts, np.empty((0, 2))]).T
        return {"mean": target.clamped(mean), "lower": target.clamped(lower), "upper": target.clamped(upper)}

    def effects(self, column: str, against: str | None = None) -> Summary:
        """Effects of the levels of a categorical feature against one of them: the first, or the one that is named.

        Where the first level is rare, everything against it is known badly at any budget: name a frequent one.
        """
        place = 1
        for name, declared in self.features.items():
            levels = () if declared.holds == "numbers" else declared.levels
            if name == column and levels and (against is None or against in levels):
                own = self.chains["coefficients"][..., place : place + len(levels) - 1]
                every = np.concatenate([np.zeros((*own.shape[:-1], 1)), own], axis=-1)
                base = 0 if against is None else levels.index(against)
                flat = (every - every[..., base : base + 1]).reshape(-1, len(levels))
                ends = np.quantile(flat, tails(SUMMARY_LEVEL), axis=0)
                found = {"mean": flat.mean(axis=0), "sd": flat.std(axis=0), "lower": ends[0], "upper": ends[1]}
                return describe(levels, found)
            place += 1 if declared.holds == "numbers" else len(declared.levels) - 1
        known = {name: list(held.levels) for name, held in self.features.items() if held.holds != "numbers"}
        raise QueryError(
            f"RegressionPosterior.effects must be of a column and a level of {known}, got {column!r}, {against!r}"
        )

    def _in_columns(self, coded: Array, level: float) -> dict[str, Any]:
        """The expected target of each row, and the ends of its interval."""
        return self._predicted(coded, level=level)

    def simulate(self, n: int, rng: np.random.Generator | None = None, *, records: Any = None) -> Array:
        """N draws of the target of each of the given rows, (n, rows), each from its own draw of the parameters."""
        if records is None:
            raise self._no_features("simulate")
        self._warn()
        rng, design = np.random.default_rng(rng), self._read(records)
        drawn = self.sample(n, rng)
        means = drawn["coefficients"] @ design.T
        around = rng.standard_normal(means.shape) * np.sqrt(drawn["variance"])[:, np.newaxis]
        return self._declared_target().cells(means + around)

    def _simulated(self, n: int, rng: np.random.Generator) -> NoReturn:
        raise self._no_features("simulate")

    def _ends(self, design: Array, orders: Array) -> Array:
        """Quantiles of the mixture over draws of normal laws, (rows, orders)."""
        from scipy.special import ndtr, ndtri

        coefficients, sd = self._thinned()
        means = design @ coefficients.T
        centre, wide = means.mean(axis=1), np.sqrt(means.var(axis=1) + np.mean(sd**2))
        found = []
        for order in orders:
            place = centre + wide * ndtri(order)
            for _ in range(STEPS):
                z = (place[:, np.newaxis] - means) / sd
                density = np.mean(np.exp(-0.5 * z**2) / sd, axis=1) / np.sqrt(2.0 * np.pi)
                step = (order - ndtr(z).mean(axis=1)) / np.maximum(density, np.finfo(float).tiny)
                place = place + np.clip(step, -wide, wide)
            found.append(place)
        return np.stack(found, axis=1)

    def _read(self, records: Any) -> Array:
        """Rows (1, numbers, dummies of other levels) in the order of the coefficients."""
        codes = new_codes(self.features, records)
        columns: list[NDArray[Any]] = [np.ones(len(next(iter(codes.values()))))]
        for name, column in self.features.items():
            if column.holds == "numbers":
                columns.append(codes[name] * column.step)
            else:
                columns += [(codes[name] == level).astype(float) for level in range(1, len(column.levels))]
        return np.stack(columns, axis=1)

    def _thinned(self) -> tuple[Array, Array]:
        """Coefficients and deviations of some draws."""
        flat = [values.reshape(-1, *values.shape[2:]) for values in self.chains.values()]
        found = dict(zip(self.chains, flat, strict=True))
        step = -(-len(flat[0]) // PREDICTION_DRAWS)
        return found["coefficients"][::step], np.sqrt(found["variance"][::step])

    def _declared_target(self) -> NumberColumn:
        if self.target is None:
            raise QueryError("RegressionPosterior.target must be a declared column, got None")
        return self.target

    def _no_features(self, asked: str) -> QueryError:
        return QueryError(
            f"RegressionPosterior.{asked} must get rows: a regression has no law of the features; ask predict(rows), "
            "or simulate(n, rng, records=rows) for draws of their targets"
        )
