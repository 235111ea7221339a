"""Logistic: the log-odds of a uniform variable."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logit

from probdiff.distributions.base import Continuous
from probdiff.distributions.draws import located, open_uniform
from probdiff.distributions.support import Positive, Real, real
from probdiff.tree import Array


class Logistic(Continuous):
    """p(x) = exp(-z) / (scale (1 + exp(-z))²),  z = (x - loc) / scale.

    loc    real      mean and mode
    scale  positive  standard deviation is π scale / sqrt(3)

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 23.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = real

    def logpdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        return log_expit(z) + log_expit(-z) - np.log(self.scale)

    def cdf(self, x: Array) -> Array:
        return expit((x - self.loc) / self.scale)

    def ccdf(self, x: Array) -> Array:
        return expit((self.loc - x) / self.scale)

    def logcdf(self, x: Array) -> Array:
        return log_expit((x - self.loc) / self.scale)

    def logccdf(self, x: Array) -> Array:
        return log_expit((self.loc - x) / self.scale)

    def quantile(self, p: Array) -> Array:
        return self.loc + self.scale * logit(p)

    def cquantile(self, p: Array) -> Array:
        return self.loc - self.scale * logit(p)

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return (math.pi * self.scale) ** 2 / 3

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        return 1.2

    def entropy(self) -> Array:
        return np.log(self.scale) + 2.0

    def mgf(self, t: Array) -> Array:
        s = math.pi * t * self.scale
        return np.where(abs(s) < math.pi, np.exp(t * self.loc) * np.where(s == 0, 1.0, s / np.sin(s)), np.inf)

    def cf(self, t: Array) -> Array:
        s = math.pi * t * self.scale
        return np.exp(1j * t * self.loc) * np.where(s == 0, 1.0, s / np.sinh(np.where(s == 0, 1.0, s)))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        u = open_uniform(shape, rng)
        rest = 1 - u
        np.divide(u, rest, out=u)
        return located(np.log(u, out=u), self.loc, self.scale)
