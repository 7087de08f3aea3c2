"""Posteriors: post-processing of a release. Free, exact where it can be, and honest where it cannot."""

from discreet.numerics.link import Link
from discreet.posterior.base import Posterior
from discreet.posterior.beta import BetaMixture, beta_from_count, beta_from_two_counts, two_count_likelihood
from discreet.posterior.chains import ChainsPosterior
from discreet.posterior.class_answers import NaiveBayesPlugIn, plug_in_from_tables
from discreet.posterior.class_tables import NaiveBayesPosterior, naive_bayes_from_tables
from discreet.posterior.coefficients import CoefficientDraws
from discreet.posterior.curve import CurvePosterior, curve_posterior
from discreet.posterior.draws import Draws
from discreet.posterior.event_chain import EventLogChain
from discreet.posterior.event_log import EventGrid, EventLogPosterior
from discreet.posterior.given_draws import beta_given_draws
from discreet.posterior.groups import GroupedPosterior
from discreet.posterior.level_probabilities import (
    DirichletLattice,
    DirichletPosterior,
    SharesByColumn,
    dirichlet_from_counts,
)
from discreet.posterior.network_tables import NetworkRecords, network_from_families, network_from_tables
from discreet.posterior.pooled import Likelihood, PooledPosterior, Scalar, pooled_posterior
from discreet.posterior.record_laws import BernoulliRecord, LevelRecord, OneParameter, RecordLaw
from discreet.posterior.records.declared_records import DeclaredRecords
from discreet.posterior.records.network_answers import NetworkPosterior
from discreet.posterior.records.regression_answers import RegressionPosterior
from discreet.posterior.records.score_coefficients import ScoreCoefficients

__all__ = [
    "BernoulliRecord",
    "BetaMixture",
    "ChainsPosterior",
    "CoefficientDraws",
    "CurvePosterior",
    "DeclaredRecords",
    "DirichletLattice",
    "DirichletPosterior",
    "Draws",
    "EventGrid",
    "EventLogChain",
    "EventLogPosterior",
    "GroupedPosterior",
    "LevelRecord",
    "Likelihood",
    "Link",
    "NaiveBayesPlugIn",
    "NaiveBayesPosterior",
    "NetworkPosterior",
    "NetworkRecords",
    "OneParameter",
    "PooledPosterior",
    "Posterior",
    "RecordLaw",
    "RegressionPosterior",
    "Scalar",
    "ScoreCoefficients",
    "SharesByColumn",
    "beta_from_count",
    "beta_from_two_counts",
    "beta_given_draws",
    "curve_posterior",
    "dirichlet_from_counts",
    "naive_bayes_from_tables",
    "network_from_families",
    "network_from_tables",
    "plug_in_from_tables",
    "pooled_posterior",
    "two_count_likelihood",
]
