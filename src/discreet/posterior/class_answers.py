"""What both posteriors of naive Bayes answer alike, and the plug-in one: noisy tables clipped at zero, at face value.

The plug-in posterior is there for comparison; it is over-confident.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.inference.counts.simplex import dirichlet_draws, draw_codes, log_dirichlet, sums_of_others
from discreet.numerics.arrays import Array
from discreet.posterior.base import Posterior
from discreet.posterior.export import Axes

__all__ = ["Array", "Arrays", "NaiveBayesAnswers", "NaiveBayesPlugIn", "plug_in_from_tables"]

Arrays = dict[str, Array]


@dataclass(frozen=True)
class NaiveBayesAnswers(Posterior):
    """Parameters are "class" (classes,) and one array (classes, levels) for each feature."""

    class_levels: tuple[str, ...]
    feature_levels: Mapping[str, tuple[str, ...]]

    def predict(self, n: int, rng: np.random.Generator | None = None) -> dict[str, NDArray[np.int64]]:
        """Class and level codes of n new records, each an independent draw from the posterior predictive law."""
        rng = np.random.default_rng(rng)
        draws = self.sample(n, rng)
        classes = draw_codes(draws["class"], rng)
        codes = {name: draw_codes(draws[name][np.arange(n), classes], rng) for name in self.feature_levels}
        return {"class": classes, **codes}

    def _axes(self) -> Axes:
        classes = {"class_level": self.class_levels}
        features = {name: {**classes, f"{name}_level": levels} for name, levels in self.feature_levels.items()}
        return {"class": classes, **features}


@dataclass(frozen=True)
class NaiveBayesPlugIn(NaiveBayesAnswers):
    """Independent Dirichlets: "class" (classes,) and one array (classes, levels) for each feature."""

    alpha: Mapping[str, Array]

    _no_evidence = "must come from the noise-aware posterior, got a plug-in one"

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

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Arrays:
        """Independent draws: "class" (n, classes), each feature (n, classes, levels)."""
        rng = np.random.default_rng(rng)
        return {name: dirichlet_draws(np.broadcast_to(a, (n, *a.shape)), rng) for name, a in self.alpha.items()}

    def log_density(self, x: Mapping[str, ArrayLike]) -> float:
        """Joint log-density at one value of all parameters."""
        return sum(float(np.sum(log_dirichlet(np.asarray(x[name], dtype=float), a))) for name, a in self.alpha.items())

    def _title(self) -> str:
        return "plug-in posterior of naive Bayes"

    def _quantiles(self, orders: Array) -> list[Arrays]:
        """Quantiles of the Beta marginals."""
        from scipy.special import betaincinv

        rest = {name: sums_of_others(alpha) for name, alpha in self.alpha.items()}
        return [{name: np.asarray(betaincinv(a, rest[name], q)) for name, a in self.alpha.items()} for q in orders]


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
    return NaiveBayesPlugIn(tuple(class_levels), levels, alpha)
