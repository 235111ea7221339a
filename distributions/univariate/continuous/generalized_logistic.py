"""Generalised logistic (type I, skew-logistic): a logistic distribution function to a power."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_expit, psi

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Positive, Real, real
from probdiff.ops.special import polygamma
from probdiff.special import log1mexp
from probdiff.tree import Array

FAR = 40.0  # beyond, P(X > x) is shape exp(-z) to rounding


class GeneralizedLogistic(Continuous):
    """P(X <= x) = (1 + exp(-z))^-shape,  z = (x - loc) / scale.

    loc    real
    scale  positive
    shape  positive  skewed to the left below 1, to the right above

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 23.10.
    """

    loc: Real
    scale: Positive
    shape: Positive

    support = real

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return self.shape / self.scale, 1 / self.scale

    def logpdf(self, x: Array) -> Array:
        z = self._z(x)
        return np.log(self.shape) + self.shape * log_expit(z) + log_expit(-z) - np.log(self.scale)

    def logcdf(self, x: Array) -> Array:
        return self.shape * log_expit(self._z(x))

    def logccdf(self, x: Array) -> Array:
        z = self._z(x)
        return np.where(z > FAR, np.log(self.shape) - z, log1mexp(self.shape * log_expit(np.minimum(z, FAR))))

    def quantile(self, p: Array) -> Array:
        return self._from_log(np.log(p))

    def cquantile(self, p: Array) -> Array:
        return np.where(
            p < 1e-18, self.loc + self.scale * (np.log(self.shape) - np.log(p)), self._from_log(np.log1p(-p))
        )

    def mean(self) -> Array:
        return self.loc + self.scale * (psi(self.shape) + np.euler_gamma)

    def var(self) -> Array:
        return self.scale**2 * (polygamma(1, self.shape) + math.pi**2 / 6)

    def mode(self) -> Array:
        return self.loc + self.scale * np.log(self.shape)

    def skewness(self) -> Array:
        third = polygamma(2, self.shape) - float(polygamma(2, 1.0))
        return third / (polygamma(1, self.shape) + math.pi**2 / 6) ** 1.5

    def kurtosis(self) -> Array:
        return (polygamma(3, self.shape) + math.pi**4 / 15) / (polygamma(1, self.shape) + math.pi**2 / 6) ** 2

    def _z(self, x: Array) -> Array:
        return (x - self.loc) / self.scale

    def _from_log(self, lp: Array) -> Array:
        """The quantile of a log-probability: log-odds of its root."""
        root = lp / self.shape
        return self.loc + self.scale * (root - log1mexp(root))
