"""Noncentral beta: the share of explained variation when the effect is there."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlog1py, xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.log_sums import log_series
from probdiff.distributions.noncentral import log_poisson
from probdiff.distributions.support import Nonnegative, Positive, unit_interval
from probdiff.distributions.univariate.continuous.noncentral_f import density_term, largest, log_tails
from probdiff.tree import Array


class NoncentralBeta(Continuous):
    """U / (U + V),  U noncentral chi-squared with 2 alpha, V chi-squared with 2 beta degrees of freedom,  0 <= x <= 1.

    alpha          positive
    beta           positive
    noncentrality  nonnegative  of U

    It is Beta(alpha + J, beta), J ~ Poisson(noncentrality / 2). Johnson, Kotz & Balakrishnan, Continuous Univariate
    Distributions 2, ch. 30.7.
    """

    alpha: Positive
    beta: Positive
    noncentrality: Nonnegative

    support = unit_interval

    def logpdf(self, x: Array) -> Array:
        a, b, m = self.alpha, self.beta, 0.5 * self.noncentrality
        y = np.where((x > 0) & (x < 1), x, 0.5)
        inside = log_series(density_term, largest, a, b, m, y / (1 - y)) - np.log(y) - np.log1p(-y)
        at_zero, at_one = xlogy(a - 1, x) + np.log(b) - m, xlog1py(b - 1, -x) + np.log(a + m)
        return np.where(x == 0, at_zero, np.where(x == 1, at_one, inside))

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def _tails(self, x: Array) -> tuple[Array, Array]:
        return log_tails(self.alpha, self.beta, 0.5 * self.noncentrality, x / (1 - x))

    def mean(self) -> Array:
        return np.exp(log_series(mean_term, most_likely, self.alpha, self.beta, 0.5 * self.noncentrality))

    def var(self) -> Array:
        mean = self.mean()
        return np.exp(log_series(var_term, most_likely, self.alpha, self.beta, 0.5 * self.noncentrality, mean))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.beta(self.alpha + rng.poisson(0.5 * self.noncentrality, shape), self.beta, shape)


def most_likely(a: Array, b: Array, m: Array, *rest: Array) -> Array:
    return m + 0 * (a + b)


def mean_term(j: Array, a: Array, b: Array, m: Array) -> Array:
    """The log of the Poisson mass times the mean of Beta(a + j, b)."""
    return log_poisson(j, m) + np.log((a + j) / (a + b + j))


def var_term(j: Array, a: Array, b: Array, m: Array, mean: Array) -> Array:
    """The same of its mean square about the mean of all."""
    n = a + b + j
    share = (a + j) / n
    return log_poisson(j, m) + np.log((share - mean) ** 2 + share * (b / n) / (n + 1))
