"""What both posteriors of naive Bayes answer alike, and the plug-in one: noisy tables clipped at zero, at face value.

The plug-in posterior is there for comparison; it is over-confident.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from discreet.inference.counts.simplex import dirichlet_draws, log_dirichlet, sums_of_others
from discreet.numerics.arrays import Array, Integers
from discreet.posterior.base import Posterior
from discreet.posterior.exports.datatree import Axes
from discreet.posterior.network_tables import NetworkRecords
from discreet.posterior.new_rows import new_codes
from discreet.schema.columns import Categorical, LevelColumn

__all__ = ["Array", "Arrays", "NaiveBayesAnswers", "NaiveBayesPlugIn", "plug_in_from_tables"]

Arrays = dict[str, Array]

RECORDS_AT_ONCE = 256


@dataclass(frozen=True)
class NaiveBayesAnswers(Posterior):
    """Parameters are "class" (classes,) and one array (classes, levels) for each feature."""

    class_levels: tuple[str, ...]
    feature_levels: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, LevelColumn] = field(default_factory=dict, kw_only=True, repr=False)

    def predict_proba(self, records: Any) -> Array:
        """P(class | features, release) of public new records (a frame, or levels by feature): (records, classes).

        A cell that is no declared level counts as its column's `missing` level, as it did in the private table; where
        the column declares none, the record is refused.
        """
        return self._probabilities(self._read(records))

    def _probabilities(self, coded: Integers) -> Array:
        codes, which = np.unique(coded.T, axis=1, return_inverse=True)  # rows that are alike are one
        log_given = self._log_probabilities()
        parts = []
        for start in range(0, codes.shape[1], RECORDS_AT_ONCE):
            batch = codes[:, start : start + RECORDS_AT_ONCE]
            log_joint = np.repeat(log_given["class"][:, :, np.newaxis], batch.shape[1], axis=2)
            for name, column in zip(self.feature_levels, batch, strict=True):
                log_joint += log_given[name][:, :, column]
            weights = np.exp(log_joint - log_joint.max(axis=(0, 1))).mean(axis=0)
            parts.append((weights / weights.sum(axis=0)).T)
        return np.concatenate(parts)[np.ravel(which)] if parts else np.empty((0, len(self.class_levels)))

    def margin_weights(self, draws: int) -> Array:
        """Log-odds of the second of two classes, (draws, 1 + levels of all features), of the first draws."""
        given = {name: log_probs[:draws] for name, log_probs in self._log_probabilities().items()}
        odds = [given["class"][:, 1:] - given["class"][:, :1]]
        odds += [given[name][:, 1] - given[name][:, 0] for name in self.feature_levels]
        return np.concatenate(odds, axis=1)

    def _predicted(self, coded: Integers, **options: Any) -> Any:
        """The most probable class of each row."""
        return self._most_probable(self._probabilities(coded))

    def _in_columns(self, coded: Integers, level: float) -> dict[str, Any]:
        """The most probable class of each row, and how probable it is."""
        probabilities = self._probabilities(coded)
        return {"prediction": self._most_probable(probabilities), "probability": probabilities.max(axis=1)}

    def _most_probable(self, probabilities: Array) -> Any:
        codes = np.argmax(probabilities, axis=1)
        return (
            np.array(self.class_levels)[codes] if self.declared is None else self.declared.columns["class"].cells(codes)
        )

    def _read(self, records: Any) -> Integers:
        """Level codes (records, features)."""
        columns = {name: self.columns.get(name, Categorical(levels)) for name, levels in self.feature_levels.items()}
        return np.stack(list(new_codes(columns, records).values()), axis=1)

    @abstractmethod
    def _log_probabilities(self) -> Arrays:
        """Logarithms of all probabilities, (draws, …), of the draws that predictions average over."""

    def _law(self) -> NetworkRecords:
        return NetworkRecords({"class": (), **dict.fromkeys(self.feature_levels, ("class",))})

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

    def _log_probabilities(self) -> Arrays:
        return {name: np.log(mean)[np.newaxis] for name, mean in self.mean().items()}

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
    columns: Mapping[str, LevelColumn] | None = None,
) -> NaiveBayesPlugIn:
    """Clip every table at zero; the class counts are the row sums averaged over the tables."""
    clipped = {name: np.maximum(np.asarray(tables[name], dtype=float), 0.0) for name in feature_levels}
    classes = np.mean([table.sum(axis=1) for table in clipped.values()], axis=0)
    alpha = {"class": classes + class_prior, **{name: table + feature_priors[name] for name, table in clipped.items()}}
    levels = {name: tuple(texts) for name, texts in feature_levels.items()}
    return NaiveBayesPlugIn(tuple(class_levels), levels, alpha, columns=columns or {})
