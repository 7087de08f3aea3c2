"""Coefficients given a release of noisy scores: a whole posterior, not a draw of one.

Coefficients are those of the model's features; the levels of a category are told apart from the plain average of its
levels, so they sum to 0. Intervals are under the declared prior, or, where none is declared, under one that believes
next to nothing: along every direction, margins deviate by twice what the features' variance explains.

Where the model is not true they are those at which the *bounded* scores of all records sum to 0: a logistic regression
in which records far from the centre count less, and under `headroom=3` the maximum of the likelihood.

Predictions are averages over the posterior, not values at a point. Where no prior is declared they are under one whose
scale the scores have taught: it predicts better, and it would make intervals of coefficients too narrow.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from discreet.checks import is_number
from discreet.errors import QueryError
from discreet.inference.scores import MarginSlopes, ScoreEvidence, ThetaLaw, margin_slopes
from discreet.numerics.arrays import Array
from discreet.posterior.base import Posterior
from discreet.posterior.exports.datatree import Axes
from discreet.posterior.new_rows import new_rows
from discreet.posterior.summary import Summary, describe, tails
from discreet.queries.losses.base import Loss

__all__ = ["ScoreCoefficients"]

TAU = 2.0  # deviation of margins under the prior that stands in for none
# … of the intercept: shares down to one in a thousand. With 2, 90% intervals of an intercept of -3.7 that noise hides
# held it in 45% of simulated releases, with 4 in 75%; half as wide again there, and the same where scores are clear
INTERCEPT_TAU = 4.0
NODES, RAW_WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
WEIGHTS = RAW_WEIGHTS / RAW_WEIGHTS.sum()
HALVINGS = 60
SEED = 0  # laws of the features are drawn: the same release is read the same way every time


@dataclass(frozen=True, eq=False)
class ScoreCoefficients(Posterior):
    """Coefficients in the order of `names`.

    Parameters
    ----------
    query
        What the columns mean.
    evidence
        The release in real units.
    scale
        What the numbers of the features were divided by before they were asked for.
    precision
        Of the declared prior of every coefficient, N(0, 1/precision); None where none is declared.
    note
        How much the release says, in words.
    """

    query: Loss = field(repr=False)
    evidence: ScoreEvidence = field(repr=False)
    scale: float
    precision: float | None
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients, in order."""
        return self.query.features.names

    @cached_property
    def law(self) -> ThetaLaw:
        """Theta in the coordinates of the scores; the matrices are so small that threads would wait for each other.

        Under a declared prior its draws name requests (`margin_weights`): there it stays what it was.
        """
        with threadpool_limits(1, user_api="blas"):
            if self.precision is None and self.evidence.counts_only:
                return self.evidence.counted(self._prior, SEED)
            return self.evidence.law(self._prior, SEED)

    def mean(self) -> Array:
        """Posterior means."""
        return np.asarray(self._towards @ self.law.mean)

    def sd(self) -> Array:
        """Posterior deviations."""
        return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", self._towards, self.law.covariance, self._towards)))

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Array:
        """Independent draws, (n, coefficients)."""
        rng = np.random.default_rng(rng)
        chosen = rng.integers(len(self.law.means), size=n)
        halves = np.linalg.cholesky(self.law.covariances)
        theta = self.law.means[chosen]
        for k in np.unique(chosen):
            here = chosen == k
            theta[here] += rng.normal(size=(int(here.sum()), theta.shape[1])) @ halves[k].T
        return np.asarray(theta @ self._towards.T)

    def correlations(self) -> Array:
        """Posterior correlations of the coefficients; those of a category's levels sum to a constant."""
        covariance = self._towards @ self.law.covariance @ self._towards.T
        deviations = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        return np.asarray(covariance / np.outer(deviations, deviations))

    def log_evidence(self) -> float:
        """Log-density of the scores under the prior, up to a constant of the release: for comparing priors of it."""
        if not np.isfinite(self.law.log_evidence):
            raise QueryError(
                f"ScoreCoefficients.log_evidence {self._no_evidence}: it is not computed for so many features"
            )
        return self.law.log_evidence

    def odds_ratios(
        self,
        level: float = 0.9,
        *,
        reference: Mapping[str, str] | None = None,
        per: Mapping[str, float] | None = None,
    ) -> Summary:
        """Exp of the coefficients but the intercept, with intervals: odds ratios, of counts ratios of rates.

        Of a number, for one unit on the model's interval, which by default is half its declared range, or for as much
        as `per` says, given by column (`{"age": 10}`); of a level, against the average of its category's levels, or
        against a reference level, given by column.
        """
        found = self._against(reference or {}) * self._amounts(per or {})[:, np.newaxis]
        with np.errstate(over="ignore"):  # where next to nothing is known, an end is infinite
            quantiles = np.exp(self._spread(found, np.array([0.5, *tails(level)])))
        kept = [k for k, name in enumerate(self.names) if name != "intercept"]
        names = [self.names[k] for k in kept]
        return describe(names, {"median": quantiles[0, kept], "lower": quantiles[1, kept], "upper": quantiles[2, kept]})

    def marginal_effects(self, records: Any, level: float = 0.9, draws: int = 1000) -> Summary:
        """How much the mean of the target changes per unit of a coefficient's feature, averaged over given rows."""
        z = new_rows(self.query, records)
        drawn = self.sample(draws, np.random.default_rng(SEED))
        slopes = np.array([self._in_units(self.evidence.terms.link.slope(z @ w), 0.0).mean() for w in drawn])
        effects = drawn * slopes[:, np.newaxis]
        lower, upper = np.quantile(effects, tails(level), axis=0)
        return describe(self.names, {"mean": effects.mean(axis=0), "lower": lower, "upper": upper})

    def predict_proba(self, records: Any) -> Array:
        """Probabilities of the two levels for new rows, (rows, 2), averaged over the posterior."""
        if self.query.target is None or self.query.target.labels is None:
            raise QueryError(f"ScoreCoefficients.predict_proba must have a logistic model, got {self.query.name}")
        upper = self._expected(new_rows(self.query, records))
        return np.stack([1.0 - upper, upper], axis=1)

    def margin_weights(self, draws: int) -> Array:
        """Coefficients that predictions average over, (draws, coefficients), with a public seed.

        The same from every number of threads: they name a request. So draws do not depend on the signs of axes either.
        """
        with threadpool_limits(1, user_api="blas"):
            return self._margin_weights(draws)

    def _margin_weights(self, draws: int) -> Array:
        if self.precision is not None:
            return self.sample(draws, np.random.default_rng(SEED))
        walk = self.evidence.walk
        mean, variance = walk.filter.averaged
        normal = np.random.default_rng(SEED).normal(size=(-(-draws // 2), mean.size))
        theta = mean + (np.concatenate([normal, -normal])[:draws] @ walk.turned_axes) * np.sqrt(variance)
        towards = (walk.map.T @ walk.turned_axes).copy()
        towards[1 : 1 + len(self.query.features.numbers)] /= self.scale
        return np.asarray(theta @ towards.T)

    def _summary(self) -> Summary:
        return describe(self.names, self._columns())

    def _title(self) -> str:
        return f"coefficients given noisy scores: {self.note}"

    def _axes(self) -> Axes:
        return {self.query.parameter: {"coefficient": self.names}}

    def _quantiles(self, orders: NDArray[np.float64]) -> Any:
        return self._spread(self._towards, orders)

    def _read(self, records: Any) -> NDArray[Any]:
        return new_rows(self.query, records)

    def _predicted(self, coded: NDArray[Any], **options: Any) -> NDArray[Any]:
        target = self.query.target
        assert target is not None
        expected = self._expected(coded)
        if target.labels is None:
            return self._in_units(expected, 1.0)
        levels = self.query.schema.column(target.column)
        return np.asarray(np.asarray(levels.levels)[(expected > 0.5).astype(int)])

    def _in_columns(self, coded: NDArray[Any], level: float) -> dict[str, Any]:
        found: dict[str, Any] = {"prediction": self._predicted(coded)}
        if self.query.target is not None and self.query.target.labels is not None:
            upper = self._expected(coded)
            found["probability"] = np.maximum(upper, 1.0 - upper)
        return found

    @cached_property
    def _slopes(self) -> MarginSlopes | None:
        return margin_slopes(self.evidence)

    @cached_property
    def _towards(self) -> Array:
        """The coefficients as a function of theta, (coefficients, dz + 1)."""
        found = self.evidence.walk.map.T.copy()
        found[1 : 1 + len(self.query.features.numbers)] /= self.scale
        return found

    @cached_property
    def _prior(self) -> Array:
        """The precision of theta: of coefficients as declared, else of margins."""
        walk = self.evidence.walk
        if self.precision is None:
            slopes = walk.map[1:, 1:] @ walk.frame.basis
            found = np.zeros((len(walk.map), len(walk.map)))
            found[1:, 1:] = slopes @ slopes.T * np.trace(walk.spread) / TAU**2
            found[0, 0] = walk.map[0, 0] ** 2 / INTERCEPT_TAU**2
            return found
        each = np.full(len(self._towards), self.precision)
        each[0] = self.precision / (1.0 + sum(1.0 / size for size in self.evidence.terms.blocks))
        return np.asarray((self._towards.T * each) @ self._towards)

    def _expected(self, z: NDArray[Any]) -> Array:
        """The target's mean on the unit scale, averaged over the posterior: a mixture of normal margins."""
        walk = self.evidence.walk
        inside = z.copy()
        inside[:, 1 : 1 + len(self.query.features.numbers)] /= self.scale
        u = inside @ walk.map.T
        if self.precision is None:
            mean, variance = walk.filter.averaged
            u = u @ walk.turned_axes
            if self._slopes is not None:
                return self._calibrated(u @ mean, self._slopes)
            centre, spread = u @ mean, u**2 @ variance
        else:
            centre = u @ self.law.mean
            spread = np.einsum("ij,ij->i", u @ self.law.covariance, u)
        deviations, link = np.sqrt(spread), self.evidence.terms.link
        return np.asarray(sum(w * link.mean(centre + x * deviations) for x, w in zip(NODES, WEIGHTS, strict=True)))

    def _calibrated(self, margins: Array, found: MarginSlopes) -> Array:
        """Over how sure predictions may be, instead of over what the filter, which assumes too much there, believes."""
        parts = zip(found.weights, found.slopes, strict=True)
        return np.asarray(sum(w * self.evidence.terms.link.mean(c * margins) for w, c in parts))

    def _in_units(self, place: Array, from_low: float) -> Array:
        """A place between the bounds of the target, or a difference of two, in its own units."""
        if self.query.target is None or self.query.target.axis is None:
            return place
        low, high = (
            (0.0, self.query.axis.upper) if self.query.plain_target else (self.query.axis.lower, self.query.axis.upper)
        )
        return np.asarray(from_low * low + (high - low) * place)

    def _against(self, reference: Mapping[str, str]) -> Array:
        """The coefficients as a function of theta, levels against the reference ones."""
        features, found = self.query.features, self._towards.copy()
        for column, level in reference.items():
            if column not in features.categories:
                raise QueryError(f"ScoreCoefficients.odds_ratios reference must be of a category, got {column!r}")
            k = features.categories.index(column)
            if level not in features.levels[k]:
                raise QueryError(f"ScoreCoefficients.odds_ratios reference must be a level, got {level!r}")
            first = features.offsets[k]
            found[first : first + len(features.levels[k])] -= self._towards[first + features.levels[k].index(level)]
        return found

    def _amounts(self, per: Mapping[str, float]) -> Array:
        """How much of its feature each coefficient is told for."""
        axes, (low, high) = {axis.column: axis for axis in self.query.features.numbers}, self.query.features.interval
        found = np.ones(len(self.names))
        for column, amount in per.items():
            if column not in axes:
                raise QueryError(f"ScoreCoefficients.odds_ratios per must be of a number, got {column!r}")
            if not is_number(amount):
                raise QueryError(f"ScoreCoefficients.odds_ratios per must be a finite number, got {amount!r}")
            found[self.names.index(column)] = amount * (high - low) / (axes[column].upper - axes[column].lower)
        return found

    def _spread(self, towards: Array, orders: NDArray[np.float64]) -> Array:
        """Quantiles of linear functions of theta, (orders, functions), by bisection on the mixture's distribution."""
        from scipy.special import ndtr

        means = self.law.means @ towards.T
        deviations = np.sqrt(np.einsum("ij,kjl,il->ki", towards, self.law.covariances, towards)) + 1e-300
        found = []
        for order in orders:
            low, high = (means - 12.0 * deviations).min(axis=0), (means + 12.0 * deviations).max(axis=0)
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                below = ndtr((middle - means) / deviations).mean(axis=0) < order
                low, high = np.where(below, middle, low), np.where(below, high, middle)
            found.append(0.5 * (low + high))
        return np.array(found)
