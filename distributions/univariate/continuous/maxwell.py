"""Maxwell–Boltzmann: the length of three independent normal variables, speeds of molecules."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from scipy.special import erfcx, gammainccinv, gammaincinv, ndtr, wofz

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Positive, nonnegative
from probdiff.special import log1mexp, log_gammainc
from probdiff.tree import Array

SQRT_HALF = math.sqrt(0.5)
LOG_FACTOR = 0.5 * math.log(2 / math.pi)


class Maxwell(Continuous):
    """p(x) = sqrt(2 / π) z² exp(-z² / 2) / scale,  z = x / scale >= 0.

    scale  positive  standard deviation of each normal variable

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 18.
    """

    scale: Positive = 1.0

    support = nonnegative

    def logpdf(self, x: Array) -> Array:
        z = x / self.scale
        return LOG_FACTOR + 2 * np.log(x) - 3 * np.log(self.scale) - 0.5 * z * z

    def logcdf(self, x: Array) -> Array:
        z = x / self.scale
        # The first two terms of the series: z² may underflow, z does not.
        near = 3 * np.log(z) + (LOG_FACTOR - math.log(3)) - 0.3 * z * z
        return np.where(z < 1e-4, near, log_gammainc(1.5, 0.5 * z * z))

    def logccdf(self, x: Array) -> Array:
        z = x / self.scale
        far = -0.5 * z * z + np.log(erfcx(SQRT_HALF * z) + math.exp(LOG_FACTOR) * z)
        return np.where(z < 1, log1mexp(self.logcdf(x)), far)

    def quantile(self, p: Array) -> Array:
        return self.scale * np.sqrt(2 * gammaincinv(1.5, p))

    def cquantile(self, p: Array) -> Array:
        return self.scale * np.sqrt(2 * gammainccinv(1.5, p))

    def mean(self) -> Array:
        return 2 * math.exp(LOG_FACTOR) * self.scale

    def var(self) -> Array:
        return self.scale**2 * (3 - 8 / math.pi)

    def mode(self) -> Array:
        return self.scale / SQRT_HALF

    def skewness(self) -> Array:
        return 2 * math.sqrt(2) * (16 - 5 * math.pi) / (3 * math.pi - 8) ** 1.5

    def kurtosis(self) -> Array:
        return 4 * (-96 + 40 * math.pi - 3 * math.pi**2) / (3 * math.pi - 8) ** 2

    def entropy(self) -> Array:
        return np.log(self.scale) + 0.5 * (LOG_2 + math.log(math.pi)) + np.euler_gamma - 0.5

    def mgf(self, t: Array) -> Array:
        s = t * self.scale
        return math.sqrt(2 / math.pi) * s + 2 * (1 + s * s) * np.exp(0.5 * s * s) * ndtr(s)

    def cf(self, t: Array) -> Array:
        s = t * self.scale
        return 1j * math.sqrt(2 / math.pi) * s + (1 - s * s) * wofz(math.sqrt(0.5) * s)

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(lambda x: (x * x,), (-0.5 / self.scale**2,), 3 * np.log(self.scale))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale * np.sqrt(2 * rng.standard_gamma(1.5, shape))

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        return cls(np.sqrt(np.sum(w * x * x) / 3))
