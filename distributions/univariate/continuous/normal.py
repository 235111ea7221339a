"""Normal: sums of many small effects."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from probdiff.distributions.base import Continuous
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.draws import located
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Positive, Real, real
from probdiff.tree import Array


class Normal(Continuous):
    """p(x) = exp(-z² / 2) / (scale sqrt(2π)),  z = (x - loc) / scale.

    loc    real      mean
    scale  positive  standard deviation; or precision = 1 / scale²

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 13.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = real

    @alternative
    def by_precision(precision: Positive) -> dict[str, Any]:
        return {"scale": 1 / np.sqrt(precision)}

    def logpdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        return -0.5 * z * z - np.log(self.scale) - HALF_LOG_2PI

    def cdf(self, x: Array) -> Array:
        return ndtr((x - self.loc) / self.scale)

    def ccdf(self, x: Array) -> Array:
        return ndtr((self.loc - x) / self.scale)

    def logcdf(self, x: Array) -> Array:
        return log_ndtr((x - self.loc) / self.scale)

    def logccdf(self, x: Array) -> Array:
        return log_ndtr((self.loc - x) / self.scale)

    def quantile(self, p: Array) -> Array:
        return self.loc + self.scale * ndtri(p)

    def cquantile(self, p: Array) -> Array:
        return self.loc - self.scale * ndtri(p)

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return self.scale * self.scale

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        return 0.0

    def entropy(self) -> Array:
        return np.log(self.scale) + (0.5 + HALF_LOG_2PI)

    def mgf(self, t: Array) -> Array:
        return np.exp(t * self.loc + 0.5 * (t * self.scale) ** 2)

    def cf(self, t: Array) -> Array:
        return np.exp(1j * t * self.loc - 0.5 * (t * self.scale) ** 2)

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(
            normal_statistics, normal_parameters(self.loc, self.scale), normal_partition(self.loc, self.scale)
        )

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return located(rng.standard_normal(shape), self.loc, self.scale)

    @classmethod
    def start_statistics(cls, *means: Array) -> dict[str, Any]:
        return normal_start(*means)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        mean = np.sum(w * x)
        return cls(mean, np.sqrt(np.sum(w * (x - mean) ** 2)))


def normal_statistics(x: Array) -> tuple[Array, Array]:
    """The sufficient statistics of x, shared with the families of which a function is normal, as is what follows."""
    return x, x * x


def normal_parameters(loc: Array, scale: Array) -> tuple[Array, Array]:
    """The natural parameters."""
    return loc / scale**2, -0.5 / scale**2


def normal_partition(loc: Array, scale: Array) -> Array:
    """The log-partition."""
    return 0.5 * (loc / scale) ** 2 + np.log(scale)


def normal_start(mean: Array, square: Array) -> dict[str, Any]:
    """Where a fit from averages of the statistics begins."""
    return {"loc": mean, "scale": np.sqrt(np.maximum(square - mean * mean, 0.0))}


@closed_form(Normal, Normal)
def _divergence(p: Normal, q: Normal) -> Array:
    ratio = p.scale / q.scale
    return 0.5 * (ratio**2 - 1 + ((p.loc - q.loc) / q.scale) ** 2) - np.log(ratio)
