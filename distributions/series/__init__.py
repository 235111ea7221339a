"""Distributions of series, and random functions."""

from probdiff.distributions.series.autoregressive import AR
from probdiff.distributions.series.euler_maruyama import EulerMaruyama
from probdiff.distributions.series.garch import GARCH11
from probdiff.distributions.series.gaussian_process import GaussianProcess, StudentTProcess
from probdiff.distributions.series.hidden_markov import HiddenMarkov
from probdiff.distributions.series.laplace_marginal import LaplaceMarginal
from probdiff.distributions.series.linear_gaussian import LinearGaussian
from probdiff.distributions.series.random_walk import RandomWalk, gaussian_random_walk

__all__ = [
    "AR",
    "GARCH11",
    "EulerMaruyama",
    "GaussianProcess",
    "HiddenMarkov",
    "LaplaceMarginal",
    "LinearGaussian",
    "RandomWalk",
    "StudentTProcess",
    "gaussian_random_walk",
]
