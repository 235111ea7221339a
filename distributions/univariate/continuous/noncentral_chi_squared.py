"""Noncentral chi-squared: the squared length of a normal vector around a point other than zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import xlogy

from probdiff.distributions import noncentral
from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Nonnegative, Positive, nonnegative
from probdiff.tree import Array


class NoncentralChiSquared(Continuous):
    """p(x) = exp(-(x + λ) / 2) / 2 (x / λ)^(df / 4 - 1/2) I_{df / 2 - 1}(sqrt(λ x)),  x >= 0.

    df             positive     need not be an integer
    noncentrality  nonnegative  λ, the sum of the squared means

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 29.
    """

    df: Positive
    noncentrality: Nonnegative

    support = nonnegative

    def logpdf(self, x: Array) -> Array:
        a, m = self._halves()
        y = np.where(x > 0, x, 1.0)
        at_zero = xlogy(a - 1, x) - m - LOG_2
        return np.where(x > 0, noncentral.log_density(a, m, 0.5 * y) - np.log(y), at_zero)

    def logcdf(self, x: Array) -> Array:
        return noncentral.log_tails(*self._halves(), 0.5 * x)[0]

    def logccdf(self, x: Array) -> Array:
        return noncentral.log_tails(*self._halves(), 0.5 * x)[1]

    def mean(self) -> Array:
        return self.df + self.noncentrality

    def var(self) -> Array:
        return 2 * (self.df + 2 * self.noncentrality)

    def skewness(self) -> Array:
        k, m = self.df, self.noncentrality
        return math.sqrt(8) * (k + 3 * m) / (k + 2 * m) ** 1.5

    def kurtosis(self) -> Array:
        k, m = self.df, self.noncentrality
        return 12 * (k + 4 * m) / (k + 2 * m) ** 2

    def mgf(self, t: Array) -> Array:
        rest = 1 - 2 * t
        return np.where(rest > 0, np.exp(self.noncentrality * t / rest - 0.5 * self.df * np.log(rest)), np.inf)

    def cf(self, t: Array) -> Array:
        rest = 1 - 2j * t
        return np.exp(1j * self.noncentrality * t / rest) * rest ** (-0.5 * self.df)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.noncentral_chisquare(self.df, self.noncentrality, shape)

    def _halves(self) -> tuple[Array, Array]:
        return 0.5 * self.df, 0.5 * self.noncentrality
