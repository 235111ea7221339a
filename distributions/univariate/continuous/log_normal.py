"""Log-normal: a variable whose logarithm is normal, products of many small effects."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from probdiff.distributions import bijectors
from probdiff.distributions.base import Continuous, Distribution
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.draws import located
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Positive, Real, positive
from probdiff.distributions.univariate.continuous.normal import (
    Normal,
    normal_parameters,
    normal_partition,
    normal_start,
    normal_statistics,
)
from probdiff.tree import Array


class LogNormal(Continuous):
    """p(x) = exp(-z² / 2) / (x scale sqrt(2π)),  z = (log x - loc) / scale,  x > 0.

    loc    real      mean of the logarithm
    scale  positive  standard deviation of the logarithm

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 14.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = positive
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        log_x = np.log(x)
        z = (log_x - self.loc) / self.scale
        return -0.5 * z * z - log_x - np.log(self.scale) - HALF_LOG_2PI

    def cdf(self, x: Array) -> Array:
        return ndtr((np.log(x) - self.loc) / self.scale)

    def ccdf(self, x: Array) -> Array:
        return ndtr((self.loc - np.log(x)) / self.scale)

    def logcdf(self, x: Array) -> Array:
        return log_ndtr((np.log(x) - self.loc) / self.scale)

    def logccdf(self, x: Array) -> Array:
        return log_ndtr((self.loc - np.log(x)) / self.scale)

    def quantile(self, p: Array) -> Array:
        return np.exp(self.loc + self.scale * ndtri(p))

    def cquantile(self, p: Array) -> Array:
        return np.exp(self.loc - self.scale * ndtri(p))

    def latent(self) -> tuple[Distribution, bijectors.Bijector]:
        return Normal(self.loc, self.scale, check=False), bijectors.Positive()

    def mean(self) -> Array:
        return np.exp(self.loc + 0.5 * self.scale**2)

    def var(self) -> Array:
        return np.expm1(self.scale**2) * np.exp(2 * self.loc + self.scale**2)

    def mode(self) -> Array:
        return np.exp(self.loc - self.scale**2)

    def skewness(self) -> Array:
        w = np.expm1(self.scale**2)
        return (w + 3) * np.sqrt(w)

    def kurtosis(self) -> Array:
        w = np.expm1(self.scale**2)
        return w * (16 + w * (15 + w * (6 + w)))

    def entropy(self) -> Array:
        return self.loc + np.log(self.scale) + (0.5 + HALF_LOG_2PI)

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(
            lambda x: normal_statistics(np.log(x)),
            normal_parameters(self.loc, self.scale),
            normal_partition(self.loc, self.scale),
        )

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        z = located(rng.standard_normal(shape), self.loc, self.scale)
        return np.exp(z, out=z)

    @classmethod
    def start_statistics(cls, *means: Array) -> dict[str, Any]:
        return normal_start(*means)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        mean = np.sum(w * np.log(x))
        return cls(mean, np.sqrt(np.sum(w * (np.log(x) - mean) ** 2)))


@closed_form(LogNormal, LogNormal)
def _divergence(p: LogNormal, q: LogNormal) -> Array:
    ratio = p.scale / q.scale
    return 0.5 * (ratio**2 - 1 + ((p.loc - q.loc) / q.scale) ** 2) - np.log(ratio)
