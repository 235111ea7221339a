"""Generalised gamma (Stacy): powers of gamma variables; gamma, Weibull, Nakagami and half-normal are members."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammainccinv, gammaincinv, gammaln, psi, xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.gamma_powers import log_lower_gamma, log_upper_gamma
from probdiff.distributions.generating import stretched_rate
from probdiff.distributions.powers import log_ratio
from probdiff.distributions.raw_moments import kurtosis_of, skewness_of
from probdiff.distributions.stable import LARGE, gamma_log_kernel
from probdiff.distributions.support import Positive, nonnegative
from probdiff.distributions.univariate.continuous.gamma import log_standard_gamma
from probdiff.tree import Array


class GeneralizedGamma(Continuous):
    """p(x) = power / (scale Γ(shape)) z^(shape power - 1) exp(-z^power),  z = x / scale >= 0.

    shape  positive  z^power is a gamma variable of this shape
    power  positive
    scale  positive

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 17.8.7.
    """

    shape: Positive
    power: Positive
    scale: Positive = 1.0

    support = nonnegative

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return np.inf, stretched_rate(self.power, self.scale)

    def logpdf(self, x: Array) -> Array:
        a, c = self.shape, self.power
        r = (x / self.scale) ** c
        direct = np.log(c) + xlogy(a * c - 1, x) - a * c * np.log(self.scale) - r - gammaln(a)
        return np.where(a < LARGE, direct, np.log(c) + gamma_log_kernel(a, r) - np.log(x))

    def logcdf(self, x: Array) -> Array:
        return log_lower_gamma(self.shape, *self._power(x))

    def logccdf(self, x: Array) -> Array:
        return log_upper_gamma(self.shape, *self._power(x))

    def guess(self, lower: Array, lp: Array) -> Array:
        p = np.exp(lp)
        gamma = np.where(lower, gammaincinv(self.shape, p), gammainccinv(self.shape, p))
        return self.scale * gamma ** (1 / self.power)

    def mean(self) -> Array:
        return self.scale * self._moment(1)

    def var(self) -> Array:
        return self.scale**2 * (self._moment(2) - self._moment(1) ** 2)

    def mode(self) -> Array:
        excess = self.shape - 1 / self.power
        return self.scale * np.where(excess > 0, np.where(excess > 0, excess, 1.0) ** (1 / self.power), 0.0)

    def skewness(self) -> Array:
        return skewness_of(*(self._moment(j) for j in (1, 2, 3)))

    def kurtosis(self) -> Array:
        return kurtosis_of(*(self._moment(j) for j in (1, 2, 3, 4)))

    def entropy(self) -> Array:
        a, c = self.shape, self.power
        return np.log(self.scale) - np.log(c) + gammaln(a) + a - (a - 1 / c) * psi(a)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.exp(self.log_draw(shape, rng))

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.log(self.scale) + log_standard_gamma(self.shape, shape, rng) / self.power

    def _power(self, x: Array) -> tuple[Array, Array]:
        """z^power, and shape times its log."""
        log_power = self.power * log_ratio(x, self.scale)
        return np.exp(log_power), self.shape * log_power

    def _moment(self, j: int) -> Array:
        """E[(X / scale)^j]."""
        return np.exp(gammaln(self.shape + j / self.power) - gammaln(self.shape))
