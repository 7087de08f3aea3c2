"""Prior and likelihood on declared columns: one family per file, one line in the registry."""

from typing import Any

from discreet.models.bad_cells import BadCells
from discreet.models.base import Model, StatisticsModel
from discreet.models.bayesian_network import BayesianNetwork
from discreet.models.beta_bernoulli import BetaBernoulli
from discreet.models.convex_loss import ConvexLoss
from discreet.models.dirichlet_categorical import DirichletCategorical
from discreet.models.event_log_hmm import EventLogHMM
from discreet.models.linear_regression import LinearRegression
from discreet.models.loss_model import HingeClassifier, HuberRegression, LogisticRegression, PoissonRegression
from discreet.models.multivariate_normal import MultivariateNormal
from discreet.models.naive_bayes import NaiveBayes
from discreet.models.normal import Normal
from discreet.models.normal_mean import NormalMean
from discreet.models.quadratic_mean import QuadraticMean
from discreet.models.rates import GammaExponential, GammaPoisson
from discreet.models.regressions.binomial_regression import BinomialRegression
from discreet.models.scores.held_out_scores import HeldOutScores
from discreet.models.statistical_query import StatisticalQuery

__all__ = [
    "MODELS",
    "BadCells",
    "BayesianNetwork",
    "BetaBernoulli",
    "BinomialRegression",
    "ConvexLoss",
    "DirichletCategorical",
    "EventLogHMM",
    "GammaExponential",
    "GammaPoisson",
    "HeldOutScores",
    "HingeClassifier",
    "HuberRegression",
    "LinearRegression",
    "LogisticRegression",
    "Model",
    "MultivariateNormal",
    "NaiveBayes",
    "Normal",
    "NormalMean",
    "PoissonRegression",
    "QuadraticMean",
    "StatisticalQuery",
    "StatisticsModel",
]

SOCKETS = ("MODELS", "Model", "StatisticsModel")
MODELS: dict[str, type[Any]] = {name: globals()[name] for name in __all__ if name not in SOCKETS}  # a line above each
