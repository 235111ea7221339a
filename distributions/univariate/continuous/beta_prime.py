"""Beta prime: the odds of a beta variable, or the ratio of two gamma variables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import psi, xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import HALF_LOG_2PI, LARGE, deviance, either, log_beta, stirling_error
from probdiff.distributions.support import Positive, nonnegative
from probdiff.distributions.univariate.continuous.gamma import log_standard_gamma
from probdiff.ops.incomplete_rows import inverse
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
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        a, b = self.alpha, self.beta

        def inside() -> Array:
            return odds_log_kernel(a, b, x) - np.log(x)

        return either(x == 0, lambda: xlogy(a - 1, x) - log_beta(a, b), inside)

    def logcdf(self, x: Array) -> Array:
        return odds_logcdf(self.alpha, self.beta, x)

    def logccdf(self, x: Array) -> Array:
        return odds_logccdf(self.alpha, self.beta, x)

    def quantile(self, p: Array) -> Array:
        return inverse("beta_odds", self.alpha, self.beta, p)

    def cquantile(self, p: Array) -> Array:
        return inverse("beta_oddsc", self.alpha, self.beta, p)

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

    def exponential_form(self) -> ExponentialForm:
        a, b = self.alpha, self.beta
        return ExponentialForm(lambda x: (np.log(x), np.log1p(x)), (a - 1, -a - b), log_beta(a, b))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return gamma_ratio(self.alpha, self.beta, shape, rng)

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return log_standard_gamma(self.alpha, shape, rng) - log_standard_gamma(self.beta, shape, rng)


# The formulas, shared with the F distribution.


def odds_log_kernel(a: Array, b: Array, x: Array) -> Array:
    """log [x^a (1 + x)^(-a - b) / B(a, b)], the log-density of log X; x > 0."""
    n = a + b

    def direct() -> Array:
        log_x, below = np.log(x), x < 1
        rest = np.log1p(either(below, lambda: x, lambda: 1 / x))
        log_p = either(below, lambda: log_x - rest, lambda: -rest)
        return a * log_p - b * either(below, lambda: rest, lambda: log_x + rest) - log_beta(a, b)

    def saddle() -> Array:
        corrections = stirling_error(n) - stirling_error(a) - stirling_error(b) - HALF_LOG_2PI
        deviances = deviance(a, n * (x / (1 + x))) + deviance(b, n * (1 / (1 + x)))
        return corrections + 0.5 * np.log(a * (b / n)) - deviances

    return either((a < LARGE) | (b < LARGE), direct, saddle)


def odds_logcdf(a: Array, b: Array, x: Array) -> Array:
    """log P(X <= x), from the smaller of the shares x / (1 + x) and 1 / (1 + x)."""
    return np.where(x < 1, log_betainc(a, b, x / (1 + x)), log_betaincc(b, a, 1 / (1 + x)))


def odds_logccdf(a: Array, b: Array, x: Array) -> Array:
    """log P(X > x)."""
    return np.where(x < 1, log_betaincc(a, b, x / (1 + x)), log_betainc(b, a, 1 / (1 + x)))


def gamma_ratio(a: Array, b: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Ratios of gamma variables; by their logs where these may be too small for a number."""
    if np.all(np.minimum(a, b) >= 0.1):  # G(0.1) < 1e-308 has a probability of 1e-31
        ratio = rng.standard_gamma(a, shape)
        ratio /= rng.standard_gamma(b, shape)
        return ratio
    with np.errstate(over="ignore"):
        return np.exp(log_standard_gamma(a, shape, rng) - log_standard_gamma(b, shape, rng))


def odds_entropy(a: Array, b: Array) -> Array:
    """The expectation of -log p."""
    return log_beta(a, b) - (a - 1) * (psi(a) - psi(b)) + (a + b) * (psi(a + b) - psi(b))
