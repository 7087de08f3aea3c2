"""Private estimators that declare wide bounds from the shape of X alone, and open a fresh ledger for every fit.

Levels of a class are taken from y: scikit-learn's checks call classes as they like. This is for its checks, on its made-up
tables, and no way to fit a private one.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.sklearn import (
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateNaiveBayes,
    PrivatePoissonRegression,
)

WIDE = 25.0


class Fresh:
    """The two hooks."""

    def _ledger(self) -> dc.Ledger:
        folder = tempfile.mkdtemp()
        return dc.Ledger.create(Path(folder) / "fresh.ledger", dc.Budget(epsilon=1e9, delta=1e-6))

    def _declared(self, held: Any, labels: Any) -> dc.Schema:
        if labels is None:
            raise ValueError("requires y to be passed, but the target y is None")
        width = (held.shape if hasattr(held, "shape") else np.asarray(held, dtype=object).shape)[-1]
        own = list(getattr(held, "columns", []))
        names = own if own and all(isinstance(name, str) for name in own) else [f"x{j}" for j in range(width)]
        return dc.Schema({**{name: self._feature() for name in names}, "target": self._target_column(labels)})

    def _target(self, schema: dc.Schema, labels: Any) -> str:
        return "target"

    def _feature(self) -> Any:
        return dc.Bounded(-WIDE, WIDE, missing=0)

    def _target_column(self, labels: Any) -> Any:
        return dc.Bounded(-20 * WIDE, 20 * WIDE)


class Classes:
    """Classes as y calls them."""

    def _target_column(self, labels: Any) -> Any:
        levels = [f"{x:g}" if isinstance(x, float) else str(x) for x in np.unique(np.asarray(labels))]
        return dc.Categorical(levels if len(levels) > 1 else [*levels, "-1", "-2"][:2])


class WideLogistic(Classes, Fresh, PrivateLogisticRegression):
    """Logistic regression."""


class WideBayes(Classes, Fresh, PrivateNaiveBayes):
    """Naive Bayes, on numbers cut into ranges."""

    def _feature(self) -> Any:
        return dc.Bounded(-WIDE, WIDE, missing=0, cut=[-2, -1, -0.5, 0, 0.5, 1, 2])


class WideLinear(Fresh, PrivateLinearRegression):
    """Linear regression."""


class WidePoisson(Fresh, PrivatePoissonRegression):
    """Poisson regression."""

    def _target_column(self, labels: Any) -> Any:
        return dc.Count(40)


SCORES = dc.NoisyScore(epsilon=1e7, delta=1e-6, steps=20)
COUNTS = dc.NoisyStatistics(epsilon=1e3)
ESTIMATORS = {
    "logistic": WideLogistic(mechanism=SCORES, id="check"),
    "bayes": WideBayes(mechanism=COUNTS, id="check"),
    "linear": WideLinear(mechanism=dc.NoisyStatistics(epsilon=1e5), id="check"),
    "poisson": WidePoisson(mechanism=SCORES, id="check"),
}
