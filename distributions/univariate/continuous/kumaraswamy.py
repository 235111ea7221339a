"""Kumaraswamy: shares, like the beta distribution, with a distribution function in closed form."""

from __future__ import annotations

import numpy as np
from scipy.special import beta, psi, xlog1py, xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import LOG_2, log1mexpexp
from probdiff.distributions.support import Positive, unit_interval
from probdiff.special import log1mexp
from probdiff.tree import Array


class Kumaraswamy(Continuous):
    """p(x) = a b x^(a - 1) (1 - x^a)^(b - 1),  0 <= x <= 1.

    a  positive
    b  positive

    Kumaraswamy, A generalized probability density function for double-bounded random processes,
    Journal of Hydrology 46 (1980).
    """

    a: Positive = 1.0
    b: Positive = 1.0

    support = unit_interval

    def logpdf(self, x: Array) -> Array:
        y = self.a * np.log(x)
        # 1 - x^a keeps its digits near zero in one form, its logarithm near one in the other.
        rest = np.where(y > -LOG_2, xlogy(self.b - 1, -np.expm1(y)), xlog1py(self.b - 1, -np.exp(y)))
        return np.log(self.a) + np.log(self.b) + xlogy(self.a - 1, x) + rest

    def logcdf(self, x: Array) -> Array:
        y = self.a * np.log(x)
        return log1mexpexp(np.log(self.b) + np.where(y < -40, y, np.log(-log1mexp(y))))

    def logccdf(self, x: Array) -> Array:
        return self.b * log1mexp(self.a * np.log(x))

    def quantile(self, p: Array) -> Array:
        return np.exp(log1mexp(np.log1p(-p) / self.b) / self.a)

    def cquantile(self, p: Array) -> Array:
        return np.exp(log1mexp(np.log(p) / self.b) / self.a)

    def mean(self) -> Array:
        return self._moment(1)

    def var(self) -> Array:
        return self._moment(2) - self._moment(1) ** 2

    def mode(self) -> Array:
        a, b = self.a, self.b
        inside = ((a - 1) / (a * b - 1)) ** (1 / a)
        return np.where((a > 1) & (b > 1), inside, np.where((a < 1) | ((a == 1) & (b > 1)), 0.0, 1.0))

    def skewness(self) -> Array:
        m1, m2, m3 = (self._moment(i) for i in (1, 2, 3))
        return (m3 - 3 * m1 * m2 + 2 * m1**3) / (m2 - m1**2) ** 1.5

    def kurtosis(self) -> Array:
        m1, m2, m3, m4 = (self._moment(i) for i in (1, 2, 3, 4))
        return (m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4) / (m2 - m1**2) ** 2 - 3

    def entropy(self) -> Array:
        harmonic = psi(self.b + 1) + np.euler_gamma
        return 1 - 1 / self.b + (1 - 1 / self.a) * harmonic - np.log(self.a) - np.log(self.b)

    def _moment(self, i: int) -> Array:
        """E[X^i]."""
        return self.b * beta(1 + i / self.a, self.b)
