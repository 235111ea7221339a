"""Half-logistic: the size of a logistic variable, a prior of scales with exponential tails."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, log_expit

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Positive, nonnegative
from probdiff.special import log1mexp
from probdiff.tree import Array


class HalfLogistic(Continuous):
    """p(x) = 2 exp(-z) / (scale (1 + exp(-z))²),  z = x / scale >= 0.

    scale  positive

    Balakrishnan, Order statistics from the half logistic distribution, J. Stat. Comput. Simul. 20 (1985).
    """

    scale: Positive = 1.0

    support = nonnegative

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return np.inf, 1 / self.scale

    def logpdf(self, x: Array) -> Array:
        z = x / self.scale
        return LOG_2 + z + 2 * log_expit(-z) - np.log(self.scale)

    def cdf(self, x: Array) -> Array:
        return np.tanh(0.5 * x / self.scale)

    def ccdf(self, x: Array) -> Array:
        return 2 * expit(-x / self.scale)

    def logcdf(self, x: Array) -> Array:
        z = x / self.scale
        return log1mexp(-z) + log_expit(z)

    def logccdf(self, x: Array) -> Array:
        z = x / self.scale
        return np.where(z < 1, np.log1p(-np.tanh(0.5 * z)), LOG_2 + log_expit(-z))

    def quantile(self, p: Array) -> Array:
        return self.scale * 2 * np.arctanh(p)

    def cquantile(self, p: Array) -> Array:
        return self.scale * (np.log1p(1 - p) - np.log(p))

    def mean(self) -> Array:
        return self.scale * math.log(4)

    def var(self) -> Array:
        return self.scale**2 * (math.pi**2 / 3 - math.log(4) ** 2)

    def mode(self) -> Array:
        return 0.0

    def entropy(self) -> Array:
        return 2 - LOG_2 + np.log(self.scale)
