"""The list of all pairs is complete: every registered name has an example, and no pair that fitted is lost."""

import discreet as dc
from discreet.mechanisms import MECHANISMS
from discreet.models import MODELS
from pairs import MECHANISMS as MECHANISM_EXAMPLES
from pairs import MODELS as MODEL_EXAMPLES
from pairs import one_per_pair, valid_pairs

ONE_PARAMETER = {"BetaBernoulli", "GammaExponential", "GammaPoisson", "NormalMean", "StatisticalQuery"}
LOSSES = {
    "BinomialRegression",
    "ConvexLoss",
    "HingeClassifier",
    "HuberRegression",
    "LogisticRegression",
    "PoissonRegression",
    "QuadraticMean",
}
MEANS = {"BinomialRegression", "ConvexLoss", "HuberRegression", "LogisticRegression", "PoissonRegression"}
FITTING = {
    "ConcentratedSample": {*ONE_PARAMETER, "DirichletCategorical"},
    "DiffusedSample": {*ONE_PARAMETER, "DirichletCategorical"},
    "DirectSample": {*ONE_PARAMETER, "DirichletCategorical"},
    "GibbsPosterior": LOSSES,
    "NoisyScore": MEANS,
    "NoisyStatistics": set(MODELS) - LOSSES,
    "PosteriorSample": {*ONE_PARAMETER, "BayesianNetwork", "DirichletCategorical", "NaiveBayes"},
    "PrivateAnnealing": {"EventLogHMM"},
    "PrivateGibbs": {"EventLogHMM"},
    "PrivateMetropolis": ONE_PARAMETER,
}


def test_every_registered_name_has_an_example_of_its_own_type() -> None:
    assert set(MODEL_EXAMPLES) == set(MODELS)
    assert set(MECHANISM_EXAMPLES) == set(MECHANISMS)
    for examples, registry in ((MODEL_EXAMPLES, MODELS), (MECHANISM_EXAMPLES, MECHANISMS)):
        for name, things in examples.items():
            assert {type(thing) for thing in things} == {registry[name]}


def test_no_pair_is_lost() -> None:
    expected = {f"{model} by {mechanism}" for mechanism, models in FITTING.items() for model in models}
    assert {pair.name for pair in one_per_pair()} == expected
    names = [pair.name for pair in valid_pairs()]
    assert len(names) == len(set(names)) >= len(expected)


def test_the_small_table_has_every_level() -> None:
    pair = one_per_pair()[0]
    for name, column in pair.schema.columns.items():
        if isinstance(column, dc.Categorical | dc.Binary):
            assert set(map(str, pair.table[name])) == set(column.levels)
