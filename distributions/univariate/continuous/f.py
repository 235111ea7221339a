"""F: the ratio of two independent estimates of one variance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import either, log_beta
from probdiff.distributions.support import Positive, nonnegative
from probdiff.distributions.univariate.continuous.beta_prime import (
    gamma_ratio,
    odds_entropy,
    odds_log_kernel,
    odds_logccdf,
    odds_logcdf,
)
from probdiff.distributions.univariate.continuous.gamma import log_standard_gamma
from probdiff.ops.incomplete_rows import inverse
from probdiff.tree import Array


class F(Continuous):
    """p(x) = r z^(a - 1) (1 + z)^(-a - b) / B(a, b),  z = r x >= 0,  a = df1 / 2,  b = df2 / 2,  r = df1 / df2.

    df1  positive  degrees of freedom of the numerator
    df2  positive  degrees of freedom of the denominator; moments exist below the order df2 / 2

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 27.
    """

    df1: Positive
    df2: Positive

    support = nonnegative
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        a, b, r = 0.5 * self.df1, 0.5 * self.df2, self.df1 / self.df2

        def at_zero() -> Array:
            return xlogy(a - 1, x) + a * np.log(r) - log_beta(a, b)

        def inside() -> Array:
            return odds_log_kernel(a, b, r * x) - np.log(r * x) + np.log(r)

        return either(x == 0, at_zero, inside)

    def logcdf(self, x: Array) -> Array:
        return odds_logcdf(0.5 * self.df1, 0.5 * self.df2, self.df1 / self.df2 * x)

    def logccdf(self, x: Array) -> Array:
        return odds_logccdf(0.5 * self.df1, 0.5 * self.df2, self.df1 / self.df2 * x)

    def quantile(self, p: Array) -> Array:
        return self.df2 / self.df1 * inverse("beta_odds", 0.5 * self.df1, 0.5 * self.df2, p)

    def cquantile(self, p: Array) -> Array:
        return self.df2 / self.df1 * inverse("beta_oddsc", 0.5 * self.df1, 0.5 * self.df2, p)

    def mean(self) -> Array:
        return np.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.inf)

    def var(self) -> Array:
        m, n = self.df1, self.df2
        return np.where(n > 4, 2 * (n / (n - 2)) ** 2 * (m + n - 2) / (m * (n - 4)), math.inf)

    def mode(self) -> Array:
        return np.maximum(1 - 2 / self.df1, 0.0) * (self.df2 / (self.df2 + 2))

    def skewness(self) -> Array:
        m, n = self.df1, self.df2
        finite = (2 * m + n - 2) * np.sqrt(8 * (n - 4)) / ((n - 6) * np.sqrt(m * (m + n - 2)))
        return np.where(n > 6, finite, np.where(n > 4, math.inf, math.nan))

    def kurtosis(self) -> Array:
        m, n = self.df1, self.df2
        s = m * (m + n - 2)
        finite = 12 * (s * (5 * n - 22) + (n - 4) * (n - 2) ** 2) / (s * (n - 6) * (n - 8))
        return np.where(n > 8, finite, np.where(n > 4, math.inf, math.nan))

    def entropy(self) -> Array:
        return odds_entropy(0.5 * self.df1, 0.5 * self.df2) + np.log(self.df2 / self.df1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.df2 / self.df1 * gamma_ratio(0.5 * self.df1, 0.5 * self.df2, shape, rng)

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        gammas = [log_standard_gamma(0.5 * df, shape, rng) - np.log(df) for df in (self.df1, self.df2)]
        return gammas[0] - gammas[1]
