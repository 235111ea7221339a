"""Chi-squared: the sum of squares of standard normal variables."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln, psi

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Positive, nonnegative
from probdiff.distributions.univariate.continuous.gamma import gamma_logpdf, log_standard_gamma
from probdiff.ops.incomplete_rows import inverse
from probdiff.special import log_gammainc, log_gammaincc
from probdiff.tree import Array


class ChiSquared(Continuous):
    """p(x) = x^(df/2 - 1) exp(-x / 2) / (2^(df/2) Γ(df/2)),  x >= 0: Gamma(df / 2, 2).

    df  positive  degrees of freedom, the mean

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 18.
    """

    df: Positive

    support = nonnegative

    def logpdf(self, x: Array) -> Array:
        return gamma_logpdf(0.5 * self.df, x, 0.5 * x, LOG_2)

    def cdf(self, x: Array) -> Array:
        return gammainc(0.5 * self.df, 0.5 * x)

    def ccdf(self, x: Array) -> Array:
        return gammaincc(0.5 * self.df, 0.5 * x)

    def logcdf(self, x: Array) -> Array:
        return log_gammainc(0.5 * self.df, 0.5 * x)

    def logccdf(self, x: Array) -> Array:
        return log_gammaincc(0.5 * self.df, 0.5 * x)

    def quantile(self, p: Array) -> Array:
        return 2 * inverse("gammaincinv", 0.5 * self.df, p)

    def cquantile(self, p: Array) -> Array:
        return 2 * inverse("gammainccinv", 0.5 * self.df, p)

    def mean(self) -> Array:
        return self.df

    def var(self) -> Array:
        return 2 * self.df

    def mode(self) -> Array:
        return np.maximum(self.df - 2, 0.0)

    def skewness(self) -> Array:
        return np.sqrt(8 / self.df)

    def kurtosis(self) -> Array:
        return 12 / self.df

    def entropy(self) -> Array:
        h = 0.5 * self.df
        return h + LOG_2 + gammaln(h) + (1 - h) * psi(h)

    def mgf(self, t: Array) -> Array:
        return np.where(t < 0.5, np.exp(-0.5 * self.df * np.log1p(-2 * t)), np.inf)

    def cf(self, t: Array) -> Array:
        return (1 - 2j * t) ** (-0.5 * self.df)

    def exponential_form(self) -> ExponentialForm:
        h = 0.5 * self.df
        return ExponentialForm(lambda x: (np.log(x),), (h - 1,), gammaln(h) + h * LOG_2)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        y = rng.standard_gamma(0.5 * self.df, shape)
        y *= 2
        return y

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return LOG_2 + log_standard_gamma(0.5 * self.df, shape, rng)
