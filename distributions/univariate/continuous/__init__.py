"""Continuous distributions of one real number."""

from probdiff.distributions.univariate.continuous.beta import Beta
from probdiff.distributions.univariate.continuous.cauchy import Cauchy
from probdiff.distributions.univariate.continuous.chi_squared import ChiSquared
from probdiff.distributions.univariate.continuous.exponential import Exponential
from probdiff.distributions.univariate.continuous.flat import Flat
from probdiff.distributions.univariate.continuous.gamma import Gamma
from probdiff.distributions.univariate.continuous.gumbel import Gumbel
from probdiff.distributions.univariate.continuous.half_cauchy import HalfCauchy
from probdiff.distributions.univariate.continuous.half_normal import HalfNormal
from probdiff.distributions.univariate.continuous.inverse_gamma import InverseGamma
from probdiff.distributions.univariate.continuous.laplace import Laplace
from probdiff.distributions.univariate.continuous.log_normal import LogNormal
from probdiff.distributions.univariate.continuous.logistic import Logistic
from probdiff.distributions.univariate.continuous.normal import Normal
from probdiff.distributions.univariate.continuous.student_t import StudentT
from probdiff.distributions.univariate.continuous.uniform import Uniform
from probdiff.distributions.univariate.continuous.weibull import Weibull

__all__ = [
    "Beta",
    "Cauchy",
    "ChiSquared",
    "Exponential",
    "Flat",
    "Gamma",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "InverseGamma",
    "Laplace",
    "LogNormal",
    "Logistic",
    "Normal",
    "StudentT",
    "Uniform",
    "Weibull",
]
