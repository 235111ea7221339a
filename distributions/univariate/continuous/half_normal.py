"""Half-normal: the size of a normal variable around zero."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from scipy.special import erf, erfc, erfinv, log_ndtr, ndtr, ndtri, wofz

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2
from probdiff.distributions.support import Positive, nonnegative
from probdiff.tree import Array

SQRT_HALF = math.sqrt(0.5)


class HalfNormal(Continuous):
    """p(x) = sqrt(2 / π) exp(-z² / 2) / scale,  z = x / scale >= 0.

    scale  positive  standard deviation of the normal that is folded

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 13.10.
    """

    scale: Positive = 1.0

    support = nonnegative

    def logpdf(self, x: Array) -> Array:
        z = x / self.scale
        return -0.5 * z * z - np.log(self.scale) + (LOG_2 - HALF_LOG_2PI)

    def cdf(self, x: Array) -> Array:
        return erf(SQRT_HALF * (x / self.scale))

    def ccdf(self, x: Array) -> Array:
        return erfc(SQRT_HALF * (x / self.scale))

    def logccdf(self, x: Array) -> Array:
        z = x / self.scale
        return np.where(z < 0.5, np.log1p(-erf(SQRT_HALF * z)), LOG_2 + log_ndtr(-z))

    def quantile(self, p: Array) -> Array:
        return self.scale * (erfinv(p) / SQRT_HALF)

    def cquantile(self, p: Array) -> Array:
        return -self.scale * ndtri(0.5 * p)

    def mean(self) -> Array:
        return self.scale * math.sqrt(2 / math.pi)

    def var(self) -> Array:
        return self.scale * self.scale * (1 - 2 / math.pi)

    def mode(self) -> Array:
        return 0.0

    def skewness(self) -> Array:
        return math.sqrt(2) * (4 - math.pi) / (math.pi - 2) ** 1.5

    def kurtosis(self) -> Array:
        return 8 * (math.pi - 3) / (math.pi - 2) ** 2

    def entropy(self) -> Array:
        return np.log(self.scale) + 0.5 * (1 + math.log(math.pi / 2))

    def mgf(self, t: Array) -> Array:
        s = t * self.scale
        return 2 * np.exp(0.5 * s * s) * ndtr(s)

    def cf(self, t: Array) -> Array:
        return wofz(SQRT_HALF * t * self.scale)

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(lambda x: (x * x,), (-0.5 / self.scale**2,), np.log(self.scale))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        z = rng.standard_normal(shape)
        z *= self.scale
        return np.absolute(z, out=z)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        return cls(np.sqrt(np.sum(w * x * x)))
