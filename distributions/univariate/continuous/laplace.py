"""Laplace: the difference of two exponential variables."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Positive, Real, real
from probdiff.tree import Array


class Laplace(Continuous):
    """p(x) = exp(-|z|) / (2 scale),  z = (x - loc) / scale.

    loc    real      median and mode
    scale  positive  mean distance from loc

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 24.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = real

    def logpdf(self, x: Array) -> Array:
        return -abs(x - self.loc) / self.scale - np.log(self.scale) - LOG_2

    def cdf(self, x: Array) -> Array:
        return np.exp(log_lower_tail((x - self.loc) / self.scale))

    def ccdf(self, x: Array) -> Array:
        return np.exp(log_lower_tail((self.loc - x) / self.scale))

    def logcdf(self, x: Array) -> Array:
        return log_lower_tail((x - self.loc) / self.scale)

    def logccdf(self, x: Array) -> Array:
        return log_lower_tail((self.loc - x) / self.scale)

    def quantile(self, p: Array) -> Array:
        return self.loc + self.scale * standard_quantile(p)

    def cquantile(self, p: Array) -> Array:
        return self.loc - self.scale * standard_quantile(p)

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return 2 * self.scale * self.scale

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        return 3.0

    def entropy(self) -> Array:
        return 1 + LOG_2 + np.log(self.scale)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.loc + self.scale * (rng.standard_exponential(shape) - rng.standard_exponential(shape))

    @classmethod
    def fit(cls, x: Array) -> Self:
        center = np.median(x)
        return cls(center, np.mean(abs(np.asarray(x) - center)))


def log_lower_tail(z: Array) -> Array:
    """log P(Z <= z) of the standard law."""
    return np.where(z < 0, z - LOG_2, np.log1p(-0.5 * np.exp(-abs(z))))


def standard_quantile(p: Array) -> Array:
    """The inverse of the standard distribution function."""
    return np.where(p < 0.5, np.log(2 * p), -np.log(2 * (1 - p)))
