"""Beta: a proportion, and the conjugate prior of a probability."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betaln, psi, xlog1py, xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import HALF_LOG_2PI, LARGE, deviance, either, log_beta, stirling_error
from probdiff.distributions.support import OpenUnit, Positive, unit_interval
from probdiff.distributions.univariate.continuous.gamma import log_standard_gamma
from probdiff.ops.incomplete_rows import inverse
from probdiff.special import log_betainc, log_betaincc
from probdiff.tree import Array


class Beta(Continuous):
    """p(x) = x^(alpha - 1) (1 - x)^(beta - 1) / B(alpha, beta),  0 <= x <= 1.

    alpha  positive
    beta   positive  or mean = alpha / (alpha + beta) and concentration = alpha + beta in place of both

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 25.
    """

    alpha: Positive = 1.0
    beta: Positive = 1.0

    support = unit_interval

    @alternative
    def by_mean(mean: OpenUnit, concentration: Positive) -> dict[str, Any]:
        return {"alpha": mean * concentration, "beta": (1 - mean) * concentration}

    def logpdf(self, x: Array) -> Array:
        a, b = self.alpha, self.beta
        n = a + b
        powers = xlogy(a - 1, x) + xlog1py(b - 1, -x)

        def saddle() -> Array:
            y = 1 - x
            corrections = stirling_error(n) - stirling_error(a) - stirling_error(b) - HALF_LOG_2PI
            deviances = deviance(a, n * x) + deviance(b, n * y)
            inside = corrections + 0.5 * np.log(a * (b / n)) - deviances - np.log(x) - np.log(y)
            return np.where((x == 0) | (x == 1), powers, inside)

        return either((a < LARGE) | (b < LARGE), lambda: powers - log_beta(a, b), saddle)

    def cdf(self, x: Array) -> Array:
        return betainc(self.alpha, self.beta, x)

    def ccdf(self, x: Array) -> Array:
        return betaincc(self.alpha, self.beta, x)

    def logcdf(self, x: Array) -> Array:
        return log_betainc(self.alpha, self.beta, x)

    def logccdf(self, x: Array) -> Array:
        return log_betaincc(self.alpha, self.beta, x)

    def quantile(self, p: Array) -> Array:
        return inverse("betaincinv", self.alpha, self.beta, p)

    def cquantile(self, p: Array) -> Array:
        return inverse("betainccinv", self.alpha, self.beta, p)

    def mean(self) -> Array:
        return self.alpha / (self.alpha + self.beta)

    def var(self) -> Array:
        n = self.alpha + self.beta
        return (self.alpha / n) * (self.beta / n) / (n + 1)

    def mode(self) -> Array:
        a, b = self.alpha, self.beta
        # Without a peak inside, the density is largest at an end (or both); a flat one is as large in the middle.
        ends = np.where((a == 1) & (b == 1), 0.5, np.where(a <= b, 0.0, 1.0))
        return np.where((a > 1) & (b > 1), (a - 1) / (a + b - 2), ends)

    def skewness(self) -> Array:
        a, b = self.alpha, self.beta
        return 2 * (b - a) * np.sqrt(a + b + 1) / ((a + b + 2) * np.sqrt(a * b))

    def kurtosis(self) -> Array:
        a, b = self.alpha, self.beta
        n = a + b
        return 6 * ((a - b) ** 2 * (n + 1) - a * b * (n + 2)) / (a * b * (n + 2) * (n + 3))

    def entropy(self) -> Array:
        a, b = self.alpha, self.beta
        return betaln(a, b) - (a - 1) * psi(a) - (b - 1) * psi(b) + (a + b - 2) * psi(a + b)

    def exponential_form(self) -> ExponentialForm:
        a, b = self.alpha, self.beta
        return ExponentialForm(lambda x: (np.log(x), np.log1p(-x)), (a - 1, b - 1), log_beta(a, b))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.beta(self.alpha, self.beta, shape)

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        first = log_standard_gamma(self.alpha, shape, rng)
        return first - np.logaddexp(first, log_standard_gamma(self.beta, shape, rng))


@closed_form(Beta, Beta)
def _divergence(p: Beta, q: Beta) -> Array:
    a, b = p.alpha - q.alpha, p.beta - q.beta
    return (
        log_beta(q.alpha, q.beta)
        - log_beta(p.alpha, p.beta)
        + a * psi(p.alpha)
        + b * psi(p.beta)
        - (a + b) * psi(p.alpha + p.beta)
    )
