"""Distributions of vectors."""

from probdiff.distributions.multivariate.dirichlet import Dirichlet
from probdiff.distributions.multivariate.mv_normal import MvNormal

__all__ = ["Dirichlet", "MvNormal"]
