"""Poisson: the number of events that happen independently at a rate."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln, xlogy

from probdiff.distributions.base import Discrete
from probdiff.distributions.stable import HALF_LOG_2PI, LARGE, deviance, stirling_error
from probdiff.distributions.support import Nonnegative, nonnegative_integers
from probdiff.tree import Array


class Poisson(Discrete):
    """P(k) = rate^k exp(-rate) / k!,  k = 0, 1, ….

    rate  nonnegative  mean and variance

    Johnson, Kemp & Kotz, Univariate Discrete Distributions, ch. 4.
    """

    rate: Nonnegative = 1.0

    support = nonnegative_integers

    def logpdf(self, x: Array) -> Array:
        direct = xlogy(x, self.rate) - self.rate - gammaln(x + 1)
        saddle = -deviance(x, self.rate) - stirling_error(x) - 0.5 * np.log(x) - HALF_LOG_2PI
        return np.where(x < LARGE, direct, saddle)

    def cdf(self, x: Array) -> Array:
        return gammaincc(x + 1, self.rate)

    def ccdf(self, x: Array) -> Array:
        return gammainc(x + 1, self.rate)

    def mean(self) -> Array:
        return self.rate

    def var(self) -> Array:
        return self.rate

    def mode(self) -> Array:
        return np.floor(self.rate)

    def skewness(self) -> Array:
        return 1 / np.sqrt(self.rate)

    def kurtosis(self) -> Array:
        return 1 / self.rate

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.poisson(self.rate, shape)

    @classmethod
    def fit(cls, x: Array) -> Self:
        return cls(np.mean(x))
