"""Continuous distributions of one real number."""

from probdiff.distributions.univariate.continuous.alpha_law import Alpha
from probdiff.distributions.univariate.continuous.anglit import Anglit
from probdiff.distributions.univariate.continuous.arcsine import Arcsine
from probdiff.distributions.univariate.continuous.argus import Argus
from probdiff.distributions.univariate.continuous.asymmetric_laplace import AsymmetricLaplace
from probdiff.distributions.univariate.continuous.beta import Beta
from probdiff.distributions.univariate.continuous.beta_prime import BetaPrime
from probdiff.distributions.univariate.continuous.birnbaum_saunders import BirnbaumSaunders
from probdiff.distributions.univariate.continuous.bradford import Bradford
from probdiff.distributions.univariate.continuous.burr_iii import BurrIII
from probdiff.distributions.univariate.continuous.burr_xii import BurrXII
from probdiff.distributions.univariate.continuous.cauchy import Cauchy
from probdiff.distributions.univariate.continuous.chi import Chi
from probdiff.distributions.univariate.continuous.chi_squared import ChiSquared
from probdiff.distributions.univariate.continuous.crystal_ball import CrystalBall
from probdiff.distributions.univariate.continuous.double_crystal_ball import DoubleCrystalBall
from probdiff.distributions.univariate.continuous.double_gamma import DoubleGamma
from probdiff.distributions.univariate.continuous.double_maxwell import DoubleMaxwell
from probdiff.distributions.univariate.continuous.double_weibull import DoubleWeibull
from probdiff.distributions.univariate.continuous.erlang import erlang
from probdiff.distributions.univariate.continuous.ex_gaussian import ExGaussian
from probdiff.distributions.univariate.continuous.exp_gamma import ExpGamma
from probdiff.distributions.univariate.continuous.exponential import Exponential
from probdiff.distributions.univariate.continuous.exponential_power import ExponentialPower
from probdiff.distributions.univariate.continuous.exponentiated_weibull import ExponentiatedWeibull
from probdiff.distributions.univariate.continuous.f import F
from probdiff.distributions.univariate.continuous.flat import Flat
from probdiff.distributions.univariate.continuous.folded_cauchy import FoldedCauchy
from probdiff.distributions.univariate.continuous.folded_normal import FoldedNormal
from probdiff.distributions.univariate.continuous.frechet import Frechet
from probdiff.distributions.univariate.continuous.gamma import Gamma
from probdiff.distributions.univariate.continuous.generalized_extreme_value import GeneralizedExtremeValue
from probdiff.distributions.univariate.continuous.generalized_gamma import GeneralizedGamma
from probdiff.distributions.univariate.continuous.generalized_half_logistic import GeneralizedHalfLogistic
from probdiff.distributions.univariate.continuous.generalized_hyperbolic import GeneralizedHyperbolic
from probdiff.distributions.univariate.continuous.generalized_inverse_gaussian import GeneralizedInverseGaussian
from probdiff.distributions.univariate.continuous.generalized_logistic import GeneralizedLogistic
from probdiff.distributions.univariate.continuous.generalized_normal import GeneralizedNormal
from probdiff.distributions.univariate.continuous.generalized_pareto import GeneralizedPareto
from probdiff.distributions.univariate.continuous.gompertz import Gompertz
from probdiff.distributions.univariate.continuous.gumbel import Gumbel
from probdiff.distributions.univariate.continuous.half_cauchy import HalfCauchy
from probdiff.distributions.univariate.continuous.half_flat import HalfFlat
from probdiff.distributions.univariate.continuous.half_logistic import HalfLogistic
from probdiff.distributions.univariate.continuous.half_normal import HalfNormal
from probdiff.distributions.univariate.continuous.half_student_t import HalfStudentT
from probdiff.distributions.univariate.continuous.histogram import Histogram
from probdiff.distributions.univariate.continuous.horseshoe import Horseshoe
from probdiff.distributions.univariate.continuous.hyperbolic_secant import HyperbolicSecant
from probdiff.distributions.univariate.continuous.interpolated import Interpolated
from probdiff.distributions.univariate.continuous.inverse_gamma import InverseGamma
from probdiff.distributions.univariate.continuous.inverse_gaussian import InverseGaussian
from probdiff.distributions.univariate.continuous.irwin_hall import Bates, IrwinHall
from probdiff.distributions.univariate.continuous.johnson_su import JohnsonSU
from probdiff.distributions.univariate.continuous.kappa4 import Kappa4, kappa3
from probdiff.distributions.univariate.continuous.kolmogorov import Kolmogorov
from probdiff.distributions.univariate.continuous.kolmogorov_smirnov import KolmogorovSmirnov, OneSidedKolmogorovSmirnov
from probdiff.distributions.univariate.continuous.kumaraswamy import Kumaraswamy
from probdiff.distributions.univariate.continuous.landau import Landau
from probdiff.distributions.univariate.continuous.laplace import Laplace
from probdiff.distributions.univariate.continuous.levy import Levy
from probdiff.distributions.univariate.continuous.lindley import Lindley
from probdiff.distributions.univariate.continuous.log_laplace import LogLaplace
from probdiff.distributions.univariate.continuous.log_logistic import LogLogistic
from probdiff.distributions.univariate.continuous.log_normal import LogNormal
from probdiff.distributions.univariate.continuous.log_uniform import LogUniform
from probdiff.distributions.univariate.continuous.logistic import Logistic
from probdiff.distributions.univariate.continuous.logit_normal import LogitNormal
from probdiff.distributions.univariate.continuous.lomax import Lomax
from probdiff.distributions.univariate.continuous.maxwell import Maxwell
from probdiff.distributions.univariate.continuous.moyal import Moyal
from probdiff.distributions.univariate.continuous.nakagami import nakagami
from probdiff.distributions.univariate.continuous.noncentral_beta import NoncentralBeta
from probdiff.distributions.univariate.continuous.noncentral_chi_squared import NoncentralChiSquared
from probdiff.distributions.univariate.continuous.noncentral_f import NoncentralF
from probdiff.distributions.univariate.continuous.noncentral_t import NoncentralT
from probdiff.distributions.univariate.continuous.normal import Normal
from probdiff.distributions.univariate.continuous.normal_inverse_gaussian import NormalInverseGaussian
from probdiff.distributions.univariate.continuous.pareto import Pareto
from probdiff.distributions.univariate.continuous.pert import PERT
from probdiff.distributions.univariate.continuous.polya_gamma import PolyaGamma
from probdiff.distributions.univariate.continuous.power_law import PowerLaw
from probdiff.distributions.univariate.continuous.power_normal import PowerNormal
from probdiff.distributions.univariate.continuous.raised_cosine import RaisedCosine
from probdiff.distributions.univariate.continuous.rayleigh import Rayleigh
from probdiff.distributions.univariate.continuous.relativistic_breit_wigner import RelativisticBreitWigner
from probdiff.distributions.univariate.continuous.relaxed_bernoulli import RelaxedBernoulli
from probdiff.distributions.univariate.continuous.rice import Rice
from probdiff.distributions.univariate.continuous.scaled_inverse_chi_squared import scaled_inverse_chi_squared
from probdiff.distributions.univariate.continuous.semicircle import Semicircle
from probdiff.distributions.univariate.continuous.sinh_arcsinh import SinhArcsinh
from probdiff.distributions.univariate.continuous.skew_cauchy import SkewCauchy
from probdiff.distributions.univariate.continuous.skew_normal import SkewNormal
from probdiff.distributions.univariate.continuous.skew_t import SkewT
from probdiff.distributions.univariate.continuous.stable_law import Stable, stable_s1
from probdiff.distributions.univariate.continuous.student_t import StudentT
from probdiff.distributions.univariate.continuous.studentized_range import StudentizedRange
from probdiff.distributions.univariate.continuous.trapezoidal import Trapezoidal
from probdiff.distributions.univariate.continuous.triangular import Triangular
from probdiff.distributions.univariate.continuous.tukey_lambda import TukeyLambda
from probdiff.distributions.univariate.continuous.uniform import Uniform
from probdiff.distributions.univariate.continuous.von_mises import VonMises
from probdiff.distributions.univariate.continuous.weibull import Weibull
from probdiff.distributions.univariate.continuous.wiener import Wiener

__all__ = [
    "PERT",
    "Alpha",
    "Anglit",
    "Arcsine",
    "Argus",
    "AsymmetricLaplace",
    "Bates",
    "Beta",
    "BetaPrime",
    "BirnbaumSaunders",
    "Bradford",
    "BurrIII",
    "BurrXII",
    "Cauchy",
    "Chi",
    "ChiSquared",
    "CrystalBall",
    "DoubleCrystalBall",
    "DoubleGamma",
    "DoubleMaxwell",
    "DoubleWeibull",
    "ExGaussian",
    "ExpGamma",
    "Exponential",
    "ExponentialPower",
    "ExponentiatedWeibull",
    "F",
    "Flat",
    "FoldedCauchy",
    "FoldedNormal",
    "Frechet",
    "Gamma",
    "GeneralizedExtremeValue",
    "GeneralizedGamma",
    "GeneralizedHalfLogistic",
    "GeneralizedHyperbolic",
    "GeneralizedInverseGaussian",
    "GeneralizedLogistic",
    "GeneralizedNormal",
    "GeneralizedPareto",
    "Gompertz",
    "Gumbel",
    "HalfCauchy",
    "HalfFlat",
    "HalfLogistic",
    "HalfNormal",
    "HalfStudentT",
    "Histogram",
    "Horseshoe",
    "HyperbolicSecant",
    "Interpolated",
    "InverseGamma",
    "InverseGaussian",
    "IrwinHall",
    "JohnsonSU",
    "Kappa4",
    "Kolmogorov",
    "KolmogorovSmirnov",
    "Kumaraswamy",
    "Landau",
    "Laplace",
    "Levy",
    "Lindley",
    "LogLaplace",
    "LogLogistic",
    "LogNormal",
    "LogUniform",
    "Logistic",
    "LogitNormal",
    "Lomax",
    "Maxwell",
    "Moyal",
    "NoncentralBeta",
    "NoncentralChiSquared",
    "NoncentralF",
    "NoncentralT",
    "Normal",
    "NormalInverseGaussian",
    "OneSidedKolmogorovSmirnov",
    "Pareto",
    "PolyaGamma",
    "PowerLaw",
    "PowerNormal",
    "RaisedCosine",
    "Rayleigh",
    "RelativisticBreitWigner",
    "RelaxedBernoulli",
    "Rice",
    "Semicircle",
    "SinhArcsinh",
    "SkewCauchy",
    "SkewNormal",
    "SkewT",
    "Stable",
    "StudentT",
    "StudentizedRange",
    "Trapezoidal",
    "Triangular",
    "TukeyLambda",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wiener",
    "erlang",
    "kappa3",
    "nakagami",
    "scaled_inverse_chi_squared",
    "stable_s1",
]
