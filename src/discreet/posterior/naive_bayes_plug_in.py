"""The plug-in naive Bayes: noisy tables clipped at zero and taken at face value. For comparison; over-confident."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import QueryError
from discreet.posterior.export import DEFAULT_DRAWS, to_datatree
from discreet.posterior.simplex import dirichlet_draws, draw_codes, log_dirichlet
from discreet.posterior.summary import SUMMARY_LEVEL, Summary, as_text, check_order, describe, tails

__all__ = ["NaiveBayesPlugIn", "plug_in_from_tables"]

Array = NDArray[np.float64]
Arrays = dict[str, Array]


@dataclass(frozen=True)
class NaiveBayesPlugIn:
    """Independent Dirichlets: "class" (classes,) and one array (classes, levels) for each feature."""

    alpha: Mapping[str, Array]
    class_levels: tuple[str, ...]
    feature_levels: Mapping[str, tuple[str, ...]]

    def mean(self) -> Arrays:
        """Closed form."""
        return {name: alpha / alpha.sum(axis=-1, keepdims=True) for name, alpha in self.alpha.items()}

    def sd(self) -> Arrays:
        """Closed form."""
        means = self.mean()
        return {
            name: np.sqrt(means[name] * (1 - means[name]) / (alpha.sum(axis=-1, keepdims=True) + 1))
            for name, alpha in self.alpha.items()
        }

    def quantile(self, q: float) -> Arrays:
        """Quantiles of the Beta marginals."""
        from scipy.special import betaincinv

        check_order(q)
        return {
            name: np.asarray(betaincinv(alpha, alpha.sum(axis=-1, keepdims=True) - alpha, q))
            for name, alpha in self.alpha.items()
        }

    def interval(self, level: float = 0.9) -> dict[str, tuple[Array, Array]]:
        """Equal-tailed intervals of the Beta marginals; they do not cover what they say."""
        lower, upper = (self.quantile(float(q)) for q in tails(level))
        return {name: (lower[name], upper[name]) for name in lower}

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Arrays:
        """Independent draws: "class" (n, classes), each feature (n, classes, levels)."""
        rng = rng or np.random.default_rng()
        return {name: dirichlet_draws(np.broadcast_to(a, (n, *a.shape)), rng) for name, a in self.alpha.items()}

    def log_density(self, x: Mapping[str, ArrayLike]) -> float:
        """Joint log-density at one value of all parameters."""
        return sum(float(np.sum(log_dirichlet(np.asarray(x[name], dtype=float), a))) for name, a in self.alpha.items())

    def predict(self, n: int, rng: np.random.Generator | None = None) -> dict[str, NDArray[np.int64]]:
        """Class and level codes of n new records."""
        rng = rng or np.random.default_rng()
        draws = self.sample(n, rng)
        classes = draw_codes(draws["class"], rng)
        codes = {name: draw_codes(draws[name][np.arange(n), classes], rng) for name in self.feature_levels}
        return {"class": classes, **codes}

    def summary(self) -> Summary:
        """Mean, deviation and 90% interval of "class[c]" and "feature[c, level]"."""
        names = [f"class[{c}]" for c in self.class_levels]
        for feature, levels in self.feature_levels.items():
            names += [f"{feature}[{c}, {level}]" for c in self.class_levels for level in levels]
        lower, upper = (self.quantile(float(q)) for q in tails(SUMMARY_LEVEL))
        columns = {"mean": self.mean(), "sd": self.sd(), "lower": lower, "upper": upper}
        flat = {column: np.concatenate([np.ravel(a) for a in arrays.values()]) for column, arrays in columns.items()}
        return describe(names, flat)

    def log_evidence(self) -> float:
        """Not defined: a plug-in posterior treats noisy counts as data it was not given."""
        raise QueryError("NaiveBayesPlugIn.log_evidence must come from the noise-aware posterior, got a plug-in one")

    def to_datatree(
        self,
        draws: int = DEFAULT_DRAWS,
        rng: np.random.Generator | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Any:
        """Draws as an xarray DataTree for ArviZ."""
        classes = {"class_level": self.class_levels}
        axes = {name: {**classes, f"{name}_level": levels} for name, levels in self.feature_levels.items()}
        return to_datatree(self.sample(draws, rng), {"class": classes, **axes}, attributes)

    def __str__(self) -> str:
        return as_text("plug-in posterior of naive Bayes", self.summary())


def plug_in_from_tables(
    tables: Mapping[str, ArrayLike],
    class_prior: Array,
    feature_priors: Mapping[str, Array],
    class_levels: Sequence[str],
    feature_levels: Mapping[str, Sequence[str]],
) -> NaiveBayesPlugIn:
    """Clip every table at zero; the class counts are the row sums averaged over the tables."""
    clipped = {name: np.maximum(np.asarray(tables[name], dtype=float), 0.0) for name in feature_levels}
    classes = np.mean([table.sum(axis=1) for table in clipped.values()], axis=0)
    alpha = {"class": classes + class_prior, **{name: table + feature_priors[name] for name, table in clipped.items()}}
    levels = {name: tuple(texts) for name, texts in feature_levels.items()}
    return NaiveBayesPlugIn(alpha, tuple(class_levels), levels)
