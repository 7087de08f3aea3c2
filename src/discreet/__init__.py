"""discreet: private Bayesian posteriors that are true twice over.

The privacy guarantee holds for the code that ran, and the intervals cover what they say.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

_HOME = {
    "AllOf": "guarantee",
    "ApproxDP": "guarantee",
    "BadCells": "models",
    "BayesianNetwork": "models",
    "BetaBernoulli": "models",
    "Binary": "schema",
    "BinomialRegression": "models",
    "Bounded": "schema",
    "BoundedRange": "guarantee",
    "Budget": "guarantee",
    "BudgetExceeded": "errors",
    "Categorical": "schema",
    "Comparison": "planning",
    "Composed": "guarantee",
    "ConcentratedSample": "mechanisms",
    "ConjugateProfile": "guarantee",
    "ConvergenceWarning": "errors",
    "ConvexLoss": "models",
    "Count": "schema",
    "Csv": "schema",
    "Dataset": "sources",
    "DiffusedSample": "mechanisms",
    "DirectSample": "mechanisms",
    "DirichletCategorical": "models",
    "DiscreetError": "errors",
    "DiscreteGaussian": "noise",
    "DiscreteLaplace": "noise",
    "EventLogHMM": "models",
    "GammaExponential": "models",
    "GammaPoisson": "models",
    "GaussianDP": "guarantee",
    "GibbsPosterior": "mechanisms",
    "GuaranteeError": "errors",
    "HeldOutScores": "models",
    "HingeClassifier": "models",
    "HuberRegression": "models",
    "IndependentDraws": "guarantee",
    "LabelOnly": "schema",
    "Laplace": "noise",
    "Ledger": "ledger",
    "LedgerError": "errors",
    "LinearRegression": "models",
    "LogisticRegression": "models",
    "MultivariateNormal": "models",
    "NaiveBayes": "models",
    "NoiseLikelihood": "posterior.likelihoods",
    "NoisyScore": "mechanisms",
    "NoisyStatistics": "mechanisms",
    "Normal": "models",
    "NormalMean": "models",
    "Person": "schema",
    "Plan": "planning",
    "PoissonRegression": "models",
    "PosteriorSample": "mechanisms",
    "PrivateAnnealing": "mechanisms",
    "PrivateGibbs": "mechanisms",
    "PrivateMetropolis": "mechanisms",
    "Progress": "cli.progress_line",
    "PureDP": "guarantee",
    "QuadraticMean": "models",
    "QueryError": "errors",
    "Record": "schema",
    "Release": "release",
    "ReleaseError": "errors",
    "RenyiDP": "guarantee",
    "Repeated": "guarantee",
    "Schema": "schema",
    "SchemaError": "errors",
    "StatisticalQuery": "models",
    "UnknownLevels": "errors",
    "Within": "guarantee",
    "ZCDP": "guarantee",
    "audit": "auditing",
    "combine": "posterior.likelihoods",
    "combine_tables": "posterior.records.combined_tables",
    "compare": "planning",
    "likelihood": "posterior.likelihoods",
    "load": "release",
    "open": "sources",
    "plan": "planning",
    "plots": "report",
    "release": "pipeline",
    "release_all": "pipeline",
    "report": "report",
    "report_pages": "report",
    "score": "planning.held_out",
    "simulate": "pipeline",
    "suspicion": "guarantee",
    "synthetic_event_log": "studies.synthetic_event_log",
}

__all__ = [*sorted(_HOME)]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import discreet` itself stays as cheap as Python."""
    if name == "__version__":
        from importlib.metadata import version

        return version("discreet")
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    value = getattr(import_module(f"discreet.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)


class _Package(ModuleType):
    """Keeps verbs callable: importing the submodule `discreet.release` must not hide the function of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
