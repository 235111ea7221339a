"""Fréchet: the limit law of maxima with power tails (extreme value type II), or inverse Weibull."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gamma

from probdiff.distributions.base import Continuous
from probdiff.distributions.powers import log_ratio
from probdiff.distributions.raw_moments import concentrated, kurtosis_of, skewness_of, variance_of
from probdiff.distributions.support import Positive, positive
from probdiff.tree import Array


class Frechet(Continuous):
    """p(x) = shape / x z exp(-z),  z = (scale / x)^shape,  x > 0.

    shape  positive  moments exist below this order
    scale  positive  the quantile at 1 / e

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 22.
    """

    shape: Positive
    scale: Positive = 1.0

    support = positive

    def logpdf(self, x: Array) -> Array:
        k = self.shape
        return np.log(k) - np.log(x) - k * log_ratio(x, self.scale) - (self.scale / x) ** k

    def logcdf(self, x: Array) -> Array:
        return -((self.scale / x) ** self.shape)

    def quantile(self, p: Array) -> Array:
        return self.scale * (-np.log(p)) ** (-1 / self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.scale * (-np.log1p(-p)) ** (-1 / self.shape)

    def mean(self) -> Array:
        return self.scale * self._moment(1)

    def var(self) -> Array:
        m1, m2 = self._moment(1), self._moment(2)
        return np.where(concentrated(m1, m2), super().var(), self.scale**2 * variance_of(m1, m2))

    def mode(self) -> Array:
        k = self.shape
        return self.scale * (k / (k + 1)) ** (1 / k)

    def skewness(self) -> Array:
        m1, m2, m3 = (self._moment(i) for i in (1, 2, 3))
        return np.where(concentrated(m1, m2), super().skewness(), skewness_of(m1, m2, m3))

    def kurtosis(self) -> Array:
        m1, m2, m3, m4 = (self._moment(i) for i in (1, 2, 3, 4))
        return np.where(concentrated(m1, m2), super().kurtosis(), kurtosis_of(m1, m2, m3, m4))

    def entropy(self) -> Array:
        return np.log(self.scale / self.shape) + np.euler_gamma * (1 + 1 / self.shape) + 1

    def _moment(self, i: int) -> Array:
        """E[(X / scale)^i]."""
        return np.where(self.shape > i, gamma(1 - i / self.shape), math.inf)
