"""Distributions of vectors and matrices."""

from probdiff.distributions.multivariate.car import CAR
from probdiff.distributions.multivariate.dirichlet import Dirichlet
from probdiff.distributions.multivariate.dirichlet_multinomial import DirichletMultinomial
from probdiff.distributions.multivariate.graph import Graph
from probdiff.distributions.multivariate.icar import ICAR
from probdiff.distributions.multivariate.inverse_wishart import InverseWishart
from probdiff.distributions.multivariate.inverse_wishart_cholesky import InverseWishartCholesky
from probdiff.distributions.multivariate.lkj import LKJ
from probdiff.distributions.multivariate.lkj_cholesky import LKJCholesky
from probdiff.distributions.multivariate.logistic_normal import LogisticNormal
from probdiff.distributions.multivariate.low_rank_mv_normal import LowRankMvNormal
from probdiff.distributions.multivariate.matrix_normal import MatrixNormal
from probdiff.distributions.multivariate.matrix_t import MatrixT
from probdiff.distributions.multivariate.multinomial import Multinomial
from probdiff.distributions.multivariate.multivariate_hypergeometric import MultivariateHypergeometric
from probdiff.distributions.multivariate.mv_log_normal import MvLogNormal
from probdiff.distributions.multivariate.mv_normal import MvNormal
from probdiff.distributions.multivariate.mv_student_t import MvStudentT
from probdiff.distributions.multivariate.plackett_luce import PlackettLuce
from probdiff.distributions.multivariate.power_spherical import PowerSpherical
from probdiff.distributions.multivariate.projected_normal import ProjectedNormal
from probdiff.distributions.multivariate.relaxed_categorical import RelaxedCategorical
from probdiff.distributions.multivariate.stick_breaking import StickBreaking
from probdiff.distributions.multivariate.uniform_direction import UniformDirection
from probdiff.distributions.multivariate.von_mises_fisher import VonMisesFisher
from probdiff.distributions.multivariate.wishart import Wishart
from probdiff.distributions.multivariate.wishart_cholesky import WishartCholesky
from probdiff.distributions.multivariate.zero_sum_normal import ZeroSumNormal

__all__ = [
    "MvLogNormal",
    "StickBreaking",
    "ProjectedNormal",
    "PowerSpherical",
    "PlackettLuce",
    "MultivariateHypergeometric",
    "CAR",
    "ICAR",
    "LKJ",
    "Dirichlet",
    "DirichletMultinomial",
    "Graph",
    "InverseWishart",
    "InverseWishartCholesky",
    "LKJCholesky",
    "LogisticNormal",
    "LowRankMvNormal",
    "MatrixNormal",
    "MatrixT",
    "Multinomial",
    "MvNormal",
    "MvStudentT",
    "RelaxedCategorical",
    "UniformDirection",
    "VonMisesFisher",
    "Wishart",
    "WishartCholesky",
    "ZeroSumNormal",
]
