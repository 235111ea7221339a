"""Gumbel: the limit law of maxima (extreme value type I)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln, loggamma

from probdiff.distributions.base import Continuous
from probdiff.distributions.draws import located, open_uniform
from probdiff.distributions.support import Positive, Real, real
from probdiff.tree import Array

APERY = 1.2020569031595942  # ζ(3)


class Gumbel(Continuous):
    """p(x) = exp(-z - exp(-z)) / scale,  z = (x - loc) / scale.

    loc    real      mode
    scale  positive  standard deviation is π scale / sqrt(6)

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 22.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = real

    def logpdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        return -z - np.exp(-z) - np.log(self.scale)

    def logcdf(self, x: Array) -> Array:
        return -np.exp(-(x - self.loc) / self.scale)

    def quantile(self, p: Array) -> Array:
        return self.loc - self.scale * np.log(-np.log(p))

    def cquantile(self, p: Array) -> Array:
        return self.loc - self.scale * np.log(-np.log1p(-p))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        u = open_uniform(shape, rng)
        np.negative(np.log(u, out=u), out=u)
        return located(np.log(u, out=u), self.loc, -self.scale)

    def mean(self) -> Array:
        return self.loc + np.euler_gamma * self.scale

    def var(self) -> Array:
        return (math.pi * self.scale) ** 2 / 6

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return 12 * math.sqrt(6) * APERY / math.pi**3

    def kurtosis(self) -> Array:
        return 2.4

    def entropy(self) -> Array:
        return np.log(self.scale) + (1 + np.euler_gamma)

    def mgf(self, t: Array) -> Array:
        s = t * self.scale
        return np.where(s < 1, np.exp(t * self.loc + gammaln(1 - s)), np.inf)

    def cf(self, t: Array) -> Array:
        return np.exp(1j * t * self.loc + loggamma(1 - 1j * t * self.scale))
