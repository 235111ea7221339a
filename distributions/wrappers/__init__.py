"""Distributions made of distributions."""

from probdiff.distributions.wrappers.censored import Censored, IntervalCensored
from probdiff.distributions.wrappers.circular import Circular
from probdiff.distributions.wrappers.copula import GaussianCopula
from probdiff.distributions.wrappers.discretised import Discretised
from probdiff.distributions.wrappers.folded import Folded
from probdiff.distributions.wrappers.iid import IID
from probdiff.distributions.wrappers.masked import Masked
from probdiff.distributions.wrappers.mixture import Mixture
from probdiff.distributions.wrappers.order_statistic import JointOrderStatistics, OrderStatistic
from probdiff.distributions.wrappers.product import Product
from probdiff.distributions.wrappers.transformed import Transformed, affine, exp_of, log_of, negated
from probdiff.distributions.wrappers.zero_inflated import Hurdle, ZeroInflated

__all__ = [
    "IID",
    "Censored",
    "Circular",
    "Discretised",
    "Folded",
    "GaussianCopula",
    "Hurdle",
    "IntervalCensored",
    "JointOrderStatistics",
    "Masked",
    "Mixture",
    "OrderStatistic",
    "Product",
    "Transformed",
    "ZeroInflated",
    "affine",
    "exp_of",
    "log_of",
    "negated",
]
