"""Beta prime: the odds of a beta variable, or the ratio of two gamma variables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betaincinv, psi, xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import HALF_LOG_2PI, LARGE, deviance, log_beta, stirling_error
from probdiff.distributions.support import Positive, nonnegative
from probdiff.distributions.univariate.continuous.gamma import log_standard_gamma
from probdiff.special import log_betainc, log_betaincc
from probdiff.tree import Array


class BetaPrime(Continuous):
    """p(x) = x^(alpha - 1) (1 + x)^(-alpha - beta) / B(alpha, beta),  x >= 0.

    alpha  positive
    beta   positive  moments exist below this order

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 27.
    """

    alpha: Positive = 1.0
    beta: Positive = 1.0

    support = nonnegative

    def logpdf(self, x: Array) -> Array:
        a, b = self.alpha, self.beta
        at_zero = xlogy(a - 1, x) - log_beta(a, b)
        return np.where(x == 0, at_zero, odds_log_kernel(a, b, x) - np.log(x))

    def logcdf(self, x: Array) -> Array:
        return odds_logcdf(self.alpha, self.beta, x)

    def logccdf(self, x: Array) -> Array:
        return odds_logccdf(self.alpha, self.beta, x)

    def guess(self, lower: Array, lp: Array) -> Array:
        return odds_guess(self.alpha, self.beta, lower, lp)

    def mean(self) -> Array:
        a, b = self.alpha, self.beta
        return np.where(b > 1, a / (b - 1), math.inf)

    def var(self) -> Array:
        a, b = self.alpha, self.beta
        return np.where(b > 2, a / (b - 1) * ((a + b - 1) / (b - 1)) / (b - 2), math.inf)

    def mode(self) -> Array:
        return np.maximum(self.alpha - 1, 0.0) / (self.beta + 1)

    def skewness(self) -> Array:
        a, b = self.alpha, self.beta
        finite = 2 * (2 * a + b - 1) / (b - 3) * np.sqrt((b - 2) / (a * (a + b - 1)))
        return np.where(b > 3, finite, np.where(b > 2, math.inf, math.nan))

    def kurtosis(self) -> Array:
        a, b = self.alpha, self.beta
        s = a * (a + b - 1)
        finite = 6 * (s * (5 * b - 11) + (b - 1) ** 2 * (b - 2)) / (s * (b - 3) * (b - 4))
        return np.where(b > 4, finite, np.where(b > 2, math.inf, math.nan))

    def entropy(self) -> Array:
        return odds_entropy(self.alpha, self.beta)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        with np.errstate(over="ignore"):
            return np.exp(self.log_draw(shape, rng))

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return log_standard_gamma(self.alpha, shape, rng) - log_standard_gamma(self.beta, shape, rng)


# The formulas, shared with the F distribution.


def odds_log_kernel(a: Array, b: Array, x: Array) -> Array:
    """log [x^a (1 + x)^(-a - b) / B(a, b)], the log-density of log X; x > 0."""
    n = a + b
    p, q = x / (1 + x), 1 / (1 + x)
    log_p = np.where(x < 1, np.log(x) - np.log1p(x), -np.log1p(1 / x))
    direct = a * log_p - b * np.log1p(x) - log_beta(a, b)
    corrections = stirling_error(n) - stirling_error(a) - stirling_error(b) - HALF_LOG_2PI
    saddle = corrections + 0.5 * np.log(a * (b / n)) - deviance(a, n * p) - deviance(b, n * q)
    return np.where((a < LARGE) | (b < LARGE), direct, saddle)


def odds_logcdf(a: Array, b: Array, x: Array) -> Array:
    """log P(X <= x), from the smaller of the shares x / (1 + x) and 1 / (1 + x)."""
    return np.where(x < 1, log_betainc(a, b, x / (1 + x)), log_betaincc(b, a, 1 / (1 + x)))


def odds_logccdf(a: Array, b: Array, x: Array) -> Array:
    """log P(X > x)."""
    return np.where(x < 1, log_betaincc(a, b, x / (1 + x)), log_betainc(b, a, 1 / (1 + x)))


def odds_guess(a: Array, b: Array, lower: Array, lp: Array) -> Array:
    """Quantiles by SciPy's inverse, of the lower or of the upper tail."""
    p = np.exp(lp)
    below, above = betaincinv(a, b, p), betaincinv(b, a, p)
    return np.where(lower, below / (1 - below), (1 - above) / above)


def odds_entropy(a: Array, b: Array) -> Array:
    """The expectation of -log p."""
    return log_beta(a, b) - (a - 1) * (psi(a) - psi(b)) + (a + b) * (psi(a + b) - psi(b))
