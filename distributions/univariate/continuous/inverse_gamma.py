"""Inverse gamma: one over a gamma variable, the conjugate prior of a normal variance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln, psi

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import LARGE, either, gamma_log_kernel
from probdiff.distributions.support import Positive, positive
from probdiff.distributions.univariate.continuous.gamma import log_standard_gamma
from probdiff.ops.incomplete_rows import inverse
from probdiff.special import log_gammainc, log_gammaincc
from probdiff.tree import Array


class InverseGamma(Continuous):
    """p(x) = scale^shape / Γ(shape) x^(-shape - 1) exp(-scale / x),  x > 0.

    shape  positive
    scale  positive  mean is scale / (shape - 1)

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 17.
    """

    shape: Positive
    scale: Positive = 1.0

    support = positive
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        a = self.shape
        z = self.scale / x

        # log scale and log x apart: scale / x may overflow.
        def direct() -> Array:
            return a * (np.log(self.scale) - np.log(x)) - z - gammaln(a)

        return either(a < LARGE, direct, lambda: gamma_log_kernel(a, z)) - np.log(x)

    def cdf(self, x: Array) -> Array:
        return gammaincc(self.shape, self.scale / x)

    def ccdf(self, x: Array) -> Array:
        return gammainc(self.shape, self.scale / x)

    def logcdf(self, x: Array) -> Array:
        return log_gammaincc(self.shape, self.scale / x)

    def logccdf(self, x: Array) -> Array:
        return log_gammainc(self.shape, self.scale / x)

    def quantile(self, p: Array) -> Array:
        return self.scale / inverse("gammainccinv", self.shape, p)

    def cquantile(self, p: Array) -> Array:
        return self.scale / inverse("gammaincinv", self.shape, p)

    def mean(self) -> Array:
        return np.where(self.shape > 1, self.scale / (self.shape - 1), math.inf)

    def var(self) -> Array:
        a = self.shape
        return np.where(a > 2, (self.scale / (a - 1)) ** 2 / (a - 2), math.inf)

    def mode(self) -> Array:
        return self.scale / (self.shape + 1)

    def skewness(self) -> Array:
        a = self.shape
        return np.where(a > 3, 4 * np.sqrt(a - 2) / (a - 3), math.nan)

    def kurtosis(self) -> Array:
        a = self.shape
        return np.where(a > 4, (30 * a - 66) / ((a - 3) * (a - 4)), math.nan)

    def entropy(self) -> Array:
        a = self.shape
        return a + np.log(self.scale) + gammaln(a) - (1 + a) * psi(a)

    def exponential_form(self) -> ExponentialForm:
        a = self.shape
        return ExponentialForm(lambda x: (np.log(x), 1 / x), (-a - 1, -self.scale), gammaln(a) - a * np.log(self.scale))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        y = rng.standard_gamma(self.shape, shape)
        return np.divide(self.scale, y, out=y)

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.log(self.scale) - log_standard_gamma(self.shape, shape, rng)
