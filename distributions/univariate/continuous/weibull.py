"""Weibull: the limit law of minima, lifetimes whose hazard is a power of age."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gamma, xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.generating import stretched_rate
from probdiff.distributions.support import Positive, nonnegative
from probdiff.tree import Array


class Weibull(Continuous):
    """p(x) = shape / scale z^(shape - 1) exp(-z^shape),  z = x / scale >= 0.

    shape  positive  the hazard grows for shape > 1
    scale  positive  the quantile at 1 - 1/e

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 21.
    """

    shape: Positive
    scale: Positive = 1.0

    support = nonnegative

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return np.inf, stretched_rate(self.shape, self.scale)

    def logpdf(self, x: Array) -> Array:
        k = self.shape
        # log x and log scale apart: x / scale may overflow.
        return np.log(k) - k * np.log(self.scale) + xlogy(k - 1, x) - (x / self.scale) ** k

    def cdf(self, x: Array) -> Array:
        return -np.expm1(-((x / self.scale) ** self.shape))

    def logccdf(self, x: Array) -> Array:
        return -((x / self.scale) ** self.shape)

    def quantile(self, p: Array) -> Array:
        return self.scale * (-np.log1p(-p)) ** (1 / self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.scale * (-np.log(p)) ** (1 / self.shape)

    def mean(self) -> Array:
        return self.scale * self._moment(1)

    def var(self) -> Array:
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    def mode(self) -> Array:
        k = self.shape
        return self.scale * np.where(k > 1, ((k - 1) / k) ** (1 / k), 0.0)

    def skewness(self) -> Array:
        m1, m2, m3 = (self._moment(i) for i in (1, 2, 3))
        return (m3 - 3 * m1 * m2 + 2 * m1**3) / (m2 - m1**2) ** 1.5

    def kurtosis(self) -> Array:
        m1, m2, m3, m4 = (self._moment(i) for i in (1, 2, 3, 4))
        return (m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4) / (m2 - m1**2) ** 2 - 3

    def entropy(self) -> Array:
        k = self.shape
        return np.euler_gamma * (1 - 1 / k) + np.log(self.scale / k) + 1

    def exponential_form(self) -> ExponentialForm:
        k = self.shape
        return ExponentialForm(lambda x: (x**k,), (-(self.scale**-k),), k * np.log(self.scale), held=("shape",))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        y = rng.standard_exponential(shape)
        with np.errstate(all="ignore"):
            np.power(y, 1 / self.shape, out=y)
            y *= self.scale
        return y

    def _moment(self, i: int) -> Array:
        """E[(X / scale)^i]."""
        return gamma(1 + i / self.shape)
