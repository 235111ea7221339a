"""Rayleigh: the length of two independent normal variables."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, wofz

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import LOG_2, log1mexpexp
from probdiff.distributions.support import Positive, nonnegative
from probdiff.tree import Array


class Rayleigh(Continuous):
    """p(x) = z exp(-z² / 2) / scale,  z = x / scale >= 0.

    scale  positive  standard deviation of each normal variable

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 18.
    """

    scale: Positive = 1.0

    support = nonnegative

    def logpdf(self, x: Array) -> Array:
        z = x / self.scale
        return np.log(x) - 2 * np.log(self.scale) - 0.5 * z * z

    def logcdf(self, x: Array) -> Array:
        return log1mexpexp(2 * np.log(x / self.scale) - LOG_2)

    def logccdf(self, x: Array) -> Array:
        z = x / self.scale
        return -0.5 * z * z

    def quantile(self, p: Array) -> Array:
        return self.scale * np.sqrt(-2 * np.log1p(-p))

    def cquantile(self, p: Array) -> Array:
        return self.scale * np.sqrt(-2 * np.log(p))

    def mean(self) -> Array:
        return self.scale * math.sqrt(math.pi / 2)

    def var(self) -> Array:
        return self.scale**2 * (2 - math.pi / 2)

    def mode(self) -> Array:
        return self.scale

    def skewness(self) -> Array:
        return 2 * math.sqrt(math.pi) * (math.pi - 3) / (4 - math.pi) ** 1.5

    def kurtosis(self) -> Array:
        return -(6 * math.pi**2 - 24 * math.pi + 16) / (4 - math.pi) ** 2

    def entropy(self) -> Array:
        return np.log(self.scale) + 1 - 0.5 * LOG_2 + 0.5 * np.euler_gamma

    def mgf(self, t: Array) -> Array:
        s = t * self.scale
        return 1 + math.sqrt(2 * math.pi) * s * np.exp(0.5 * s * s) * ndtr(s)

    def cf(self, t: Array) -> Array:
        s = t * self.scale
        return 1 + 1j * math.sqrt(0.5 * math.pi) * s * wofz(math.sqrt(0.5) * s)

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(lambda x: (x * x,), (-0.5 / self.scale**2,), 2 * np.log(self.scale))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale * np.sqrt(2 * rng.standard_exponential(shape))

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        return cls(np.sqrt(0.5 * np.sum(w * x * x)))
