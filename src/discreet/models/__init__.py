"""Prior and likelihood on declared columns: one family per file, one line in the registry."""

from discreet.models.base import Model
from discreet.models.beta_bernoulli import BetaBernoulli
from discreet.models.dirichlet_categorical import DirichletCategorical
from discreet.models.naive_bayes import NaiveBayes

__all__ = ["MODELS", "BetaBernoulli", "DirichletCategorical", "Model", "NaiveBayes"]

MODELS: dict[str, type[BetaBernoulli] | type[DirichletCategorical] | type[NaiveBayes]] = {
    "BetaBernoulli": BetaBernoulli,
    "DirichletCategorical": DirichletCategorical,
    "NaiveBayes": NaiveBayes,
}
