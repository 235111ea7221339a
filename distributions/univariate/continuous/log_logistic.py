"""Log-logistic (Fisk): a variable whose logarithm is logistic, lifetimes whose hazard rises and falls."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import expit, log_expit, logit, xlogy

from probdiff.distributions import bijectors
from probdiff.distributions.base import Continuous, Distribution
from probdiff.distributions.support import Positive, nonnegative
from probdiff.distributions.univariate.continuous.logistic import Logistic
from probdiff.tree import Array


class LogLogistic(Continuous):
    """p(x) = (shape / scale) z^(shape - 1) / (1 + z^shape)²,  z = x / scale >= 0.

    scale  positive  median
    shape  positive  the smaller, the heavier the upper tail

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 23.11.
    """

    scale: Positive = 1.0
    shape: Positive = 1.0

    support = nonnegative
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        b = self.shape
        return np.log(b) - b * np.log(self.scale) + xlogy(b - 1, x) + 2 * log_expit(-self._odds(x))

    def cdf(self, x: Array) -> Array:
        return expit(self._odds(x))

    def ccdf(self, x: Array) -> Array:
        return expit(-self._odds(x))

    def logcdf(self, x: Array) -> Array:
        return log_expit(self._odds(x))

    def logccdf(self, x: Array) -> Array:
        return log_expit(-self._odds(x))

    def quantile(self, p: Array) -> Array:
        return self.scale * np.exp(logit(p) / self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.scale * np.exp(-logit(p) / self.shape)

    def latent(self) -> tuple[Distribution, bijectors.Bijector]:
        return Logistic(np.log(self.scale), 1 / self.shape, check=False), bijectors.Positive()

    def mean(self) -> Array:
        return np.where(self.shape > 1, self.scale * self._moment(1), math.inf)

    def var(self) -> Array:
        finite = self.scale**2 * (self._moment(2) - self._moment(1) ** 2)
        return np.where(self.shape > 2, finite, math.inf)

    def mode(self) -> Array:
        b = self.shape
        return self.scale * np.where(b > 1, ((b - 1) / (b + 1)) ** (1 / b), 0.0)

    def skewness(self) -> Array:
        m1, m2, m3 = (self._moment(i) for i in (1, 2, 3))
        return np.where(self.shape > 3, (m3 - 3 * m1 * m2 + 2 * m1**3) / (m2 - m1**2) ** 1.5, math.nan)

    def kurtosis(self) -> Array:
        m1, m2, m3, m4 = (self._moment(i) for i in (1, 2, 3, 4))
        fourth = m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4
        return np.where(self.shape > 4, fourth / (m2 - m1**2) ** 2 - 3, math.nan)

    def entropy(self) -> Array:
        return np.log(self.scale) - np.log(self.shape) + 2.0

    def _odds(self, x: Array) -> Array:
        """The log-odds of X <= x."""
        return self.shape * (np.log(x) - np.log(self.scale))

    def _moment(self, i: int) -> Array:
        """E[(X / scale)^i]."""
        angle = i * math.pi / self.shape
        return angle / np.sin(angle)
