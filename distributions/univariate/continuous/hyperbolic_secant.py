"""Hyperbolic secant: the log of the ratio of two half-normal variables, with tails like Laplace's and a round top."""

from __future__ import annotations

import math

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Positive, Real, real
from probdiff.tree import Array

LOG_PI = math.log(math.pi)
FAR = 20.0  # beyond, arctan(exp(-z)) is exp(-z) to rounding


class HyperbolicSecant(Continuous):
    """p(x) = 1 / (π scale cosh z),  z = (x - loc) / scale.

    loc    real
    scale  positive  the standard deviation is scale π / 2

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 23.11.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = real

    def logpdf(self, x: Array) -> Array:
        z = abs(self._z(x))
        return LOG_2 - LOG_PI - z - np.log1p(np.exp(-2 * z)) - np.log(self.scale)

    def cdf(self, x: Array) -> Array:
        return 2 / math.pi * np.arctan(np.exp(self._z(x)))

    def ccdf(self, x: Array) -> Array:
        return 2 / math.pi * np.arctan(np.exp(-self._z(x)))

    def logcdf(self, x: Array) -> Array:
        return log_lower(self._z(x))

    def logccdf(self, x: Array) -> Array:
        return log_lower(-self._z(x))

    def quantile(self, p: Array) -> Array:
        return self.loc + self.scale * log_tangent(p)

    def cquantile(self, p: Array) -> Array:
        return self.loc - self.scale * log_tangent(p)

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return (0.5 * math.pi * self.scale) ** 2

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        return 2.0

    def entropy(self) -> Array:
        return LOG_2 + LOG_PI + np.log(self.scale)

    def mgf(self, t: Array) -> Array:
        inside = abs(t) * self.scale < 1
        angle = np.where(inside, 0.5 * math.pi * self.scale * t, 0.0)
        return np.where(inside, np.exp(self.loc * t) / np.cos(angle), np.inf)

    def cf(self, t: Array) -> Array:
        return np.exp(1j * self.loc * t) / np.cosh(0.5 * math.pi * self.scale * t)

    def _z(self, x: Array) -> Array:
        return (x - self.loc) / self.scale


def log_lower(z: Array) -> Array:
    """log (2 / π arctan exp(z)), from whichever tail is small."""
    far = z + LOG_2 - LOG_PI
    near = np.log(2 / math.pi * np.arctan(np.exp(np.clip(z, -FAR, 0.0))))
    above = np.log1p(-2 / math.pi * np.arctan(np.exp(-np.maximum(z, 0.0))))
    return np.where(z < -FAR, far, np.where(z < 0, near, above))


def log_tangent(p: Array) -> Array:
    """log tan(π p / 2), from the nearer end."""
    return np.where(p < 0.5, np.log(np.tan(0.5 * math.pi * p)), -np.log(np.tan(0.5 * math.pi * (1 - p))))
