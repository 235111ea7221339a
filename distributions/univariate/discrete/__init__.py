"""Discrete distributions of one whole number."""

from probdiff.distributions.univariate.discrete.bernoulli import Bernoulli
from probdiff.distributions.univariate.discrete.binomial import Binomial
from probdiff.distributions.univariate.discrete.categorical import Categorical
from probdiff.distributions.univariate.discrete.geometric import Geometric
from probdiff.distributions.univariate.discrete.negative_binomial import NegativeBinomial
from probdiff.distributions.univariate.discrete.poisson import Poisson

__all__ = ["Bernoulli", "Binomial", "Categorical", "Geometric", "NegativeBinomial", "Poisson"]
