"""The plug-in naive Bayes: noisy tables clipped at zero and taken at face value. For comparison; over-confident."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import QueryError
from discreet.inference.counts.simplex import dirichlet_draws, log_dirichlet, sums_of_others
from discreet.posterior.class_answers import Array, Arrays, NaiveBayesAnswers
from discreet.posterior.summary import as_text, check_order

__all__ = ["NaiveBayesPlugIn", "plug_in_from_tables"]


@dataclass(frozen=True)
class NaiveBayesPlugIn(NaiveBayesAnswers):
    """Independent Dirichlets: "class" (classes,) and one array (classes, levels) for each feature."""

    alpha: Mapping[str, Array]

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
        return {name: np.asarray(betaincinv(alpha, sums_of_others(alpha), q)) for name, alpha in self.alpha.items()}

    def sample(self, n: int, rng: np.random.Generator | None = None) -> Arrays:
        """Independent draws: "class" (n, classes), each feature (n, classes, levels)."""
        rng = np.random.default_rng(rng)
        return {name: dirichlet_draws(np.broadcast_to(a, (n, *a.shape)), rng) for name, a in self.alpha.items()}

    def log_density(self, x: Mapping[str, ArrayLike]) -> float:
        """Joint log-density at one value of all parameters."""
        return sum(float(np.sum(log_dirichlet(np.asarray(x[name], dtype=float), a))) for name, a in self.alpha.items())

    def log_evidence(self) -> float:
        """Not defined: a plug-in posterior treats noisy counts as data it was not given."""
        raise QueryError("NaiveBayesPlugIn.log_evidence must come from the noise-aware posterior, got a plug-in one")

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
    return NaiveBayesPlugIn(tuple(class_levels), levels, alpha)
