"""Discrete distributions of one whole number."""

from probdiff.distributions.univariate.discrete.bernoulli import Bernoulli
from probdiff.distributions.univariate.discrete.beta_binomial import BetaBinomial
from probdiff.distributions.univariate.discrete.beta_negative_binomial import BetaNegativeBinomial
from probdiff.distributions.univariate.discrete.binomial import Binomial
from probdiff.distributions.univariate.discrete.categorical import Categorical
from probdiff.distributions.univariate.discrete.conway_maxwell_poisson import ConwayMaxwellPoisson
from probdiff.distributions.univariate.discrete.dirac import Dirac
from probdiff.distributions.univariate.discrete.discrete_laplace import DiscreteLaplace
from probdiff.distributions.univariate.discrete.discrete_non_parametric import DiscreteNonParametric
from probdiff.distributions.univariate.discrete.discrete_uniform import DiscreteUniform
from probdiff.distributions.univariate.discrete.discrete_weibull import DiscreteWeibull
from probdiff.distributions.univariate.discrete.fisher_noncentral_hypergeometric import FisherNoncentralHypergeometric
from probdiff.distributions.univariate.discrete.generalized_poisson import GeneralizedPoisson
from probdiff.distributions.univariate.discrete.geometric import Geometric
from probdiff.distributions.univariate.discrete.hypergeometric import Hypergeometric
from probdiff.distributions.univariate.discrete.log_series import LogSeries
from probdiff.distributions.univariate.discrete.negative_binomial import NegativeBinomial
from probdiff.distributions.univariate.discrete.negative_hypergeometric import NegativeHypergeometric
from probdiff.distributions.univariate.discrete.ordered_logistic import OrderedLogistic
from probdiff.distributions.univariate.discrete.ordered_probit import OrderedProbit
from probdiff.distributions.univariate.discrete.poisson import Poisson
from probdiff.distributions.univariate.discrete.poisson_binomial import PoissonBinomial
from probdiff.distributions.univariate.discrete.poisson_log_normal import PoissonLogNormal
from probdiff.distributions.univariate.discrete.skellam import Skellam
from probdiff.distributions.univariate.discrete.stopping_ratio_logistic import StoppingRatioLogistic
from probdiff.distributions.univariate.discrete.wallenius_noncentral_hypergeometric import (
    WalleniusNoncentralHypergeometric,
)
from probdiff.distributions.univariate.discrete.yule_simon import YuleSimon
from probdiff.distributions.univariate.discrete.zipf import Zipf
from probdiff.distributions.univariate.discrete.zipfian import Zipfian

__all__ = [
    "StoppingRatioLogistic",
    "PoissonLogNormal",
    "ConwayMaxwellPoisson",
    "GeneralizedPoisson",
    "DiscreteLaplace",
    "Bernoulli",
    "BetaBinomial",
    "BetaNegativeBinomial",
    "Binomial",
    "Categorical",
    "Dirac",
    "DiscreteNonParametric",
    "DiscreteUniform",
    "DiscreteWeibull",
    "FisherNoncentralHypergeometric",
    "Geometric",
    "Hypergeometric",
    "LogSeries",
    "NegativeBinomial",
    "NegativeHypergeometric",
    "OrderedLogistic",
    "OrderedProbit",
    "Poisson",
    "PoissonBinomial",
    "Skellam",
    "WalleniusNoncentralHypergeometric",
    "YuleSimon",
    "Zipf",
    "Zipfian",
]
