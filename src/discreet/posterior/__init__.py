"""Posteriors: post-processing of a release. Free, exact where it can be, and honest where it cannot."""

from discreet.posterior.base import Posterior
from discreet.posterior.beta import BetaMixture, beta_from_count, beta_from_two_counts
from discreet.posterior.dirichlet import DirichletLattice, DirichletPosterior, dirichlet_from_counts
from discreet.posterior.draws import Draws
from discreet.posterior.naive_bayes import NaiveBayesPosterior, naive_bayes_from_tables
from discreet.posterior.naive_bayes_plug_in import NaiveBayesPlugIn, plug_in_from_tables

__all__ = [
    "BetaMixture",
    "DirichletLattice",
    "DirichletPosterior",
    "Draws",
    "NaiveBayesPlugIn",
    "NaiveBayesPosterior",
    "Posterior",
    "beta_from_count",
    "beta_from_two_counts",
    "dirichlet_from_counts",
    "naive_bayes_from_tables",
    "plug_in_from_tables",
]
