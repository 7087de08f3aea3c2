"""What every posterior of naive Bayes answers in the same way, from its means, quantiles and draws."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.inference.counts.simplex import draw_codes
from discreet.posterior.export import DEFAULT_DRAWS, to_datatree
from discreet.posterior.summary import SUMMARY_LEVEL, Summary, describe, tails

__all__ = ["Array", "Arrays", "NaiveBayesAnswers"]

Array = NDArray[np.float64]
Arrays = dict[str, Array]


@dataclass(frozen=True)
class NaiveBayesAnswers(ABC):
    """Parameters are "class" (classes,) and one array (classes, levels) for each feature."""

    class_levels: tuple[str, ...]
    feature_levels: Mapping[str, tuple[str, ...]]

    @abstractmethod
    def mean(self) -> Arrays:
        """Posterior mean of every probability, by parameter."""

    @abstractmethod
    def sd(self) -> Arrays:
        """Posterior standard deviation of every probability, by parameter."""

    @abstractmethod
    def quantile(self, q: float) -> Arrays:
        """The q-quantile of every probability, by parameter."""

    @abstractmethod
    def sample(self, n: int, rng: np.random.Generator | None = None) -> Arrays:
        """Independent draws: "class" (n, classes), each feature (n, classes, levels)."""

    def interval(self, level: float = 0.9) -> dict[str, tuple[Array, Array]]:
        """Lower and upper ends of equal-tailed intervals, one for every probability on its own."""
        lower, upper = (self.quantile(float(q)) for q in tails(level))
        return {name: (lower[name], upper[name]) for name in lower}

    def predict(self, n: int, rng: np.random.Generator | None = None) -> dict[str, NDArray[np.int64]]:
        """Class and level codes of n new records, each an independent draw from the posterior predictive law."""
        rng = np.random.default_rng(rng)
        draws = self.sample(n, rng)
        classes = draw_codes(draws["class"], rng)
        codes = {name: draw_codes(draws[name][np.arange(n), classes], rng) for name in self.feature_levels}
        return {"class": classes, **codes}

    def summary(self) -> Summary:
        """Mean, deviation and 90% interval of "class[c]" and "feature[c, level]"."""
        names = [f"class[{c}]" for c in self.class_levels]
        names += [
            f"{d}[{c}, {level}]"
            for d, levels in self.feature_levels.items()
            for c in self.class_levels
            for level in levels
        ]
        lower, upper = (self.quantile(float(q)) for q in tails(SUMMARY_LEVEL))
        columns = {"mean": self.mean(), "sd": self.sd(), "lower": lower, "upper": upper}
        return describe(
            names, {c: np.concatenate([np.ravel(a) for a in arrays.values()]) for c, arrays in columns.items()}
        )

    def to_datatree(
        self,
        draws: int = DEFAULT_DRAWS,
        rng: np.random.Generator | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Any:
        """Draws as an xarray DataTree for ArviZ; `attributes` must be public."""
        classes = {"class_level": self.class_levels}
        axes = {name: {**classes, f"{name}_level": levels} for name, levels in self.feature_levels.items()}
        return to_datatree(self.sample(draws, rng), {"class": classes, **axes}, attributes)
