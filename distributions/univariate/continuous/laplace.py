"""Laplace: the difference of two exponential variables."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.draws import located, open_uniform
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Positive, Real, real
from probdiff.tree import Array


class Laplace(Continuous):
    """p(x) = exp(-|z|) / (2 scale),  z = (x - loc) / scale.

    loc    real      median and mode
    scale  positive  mean distance from loc

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 24.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = real

    def logpdf(self, x: Array) -> Array:
        return -abs(x - self.loc) / self.scale - np.log(self.scale) - LOG_2

    def cdf(self, x: Array) -> Array:
        return lower_tail((x - self.loc) / self.scale)

    def ccdf(self, x: Array) -> Array:
        return lower_tail((self.loc - x) / self.scale)

    def logcdf(self, x: Array) -> Array:
        return log_lower_tail((x - self.loc) / self.scale)

    def logccdf(self, x: Array) -> Array:
        return log_lower_tail((self.loc - x) / self.scale)

    def quantile(self, p: Array) -> Array:
        return self.loc + self.scale * standard_quantile(p)

    def cquantile(self, p: Array) -> Array:
        return self.loc - self.scale * standard_quantile(p)

    def kinks(self) -> tuple[Array, ...]:
        return (self.loc,)

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return 2 * self.scale * self.scale

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        return 3.0

    def entropy(self) -> Array:
        return 1 + LOG_2 + np.log(self.scale)

    def mgf(self, t: Array) -> Array:
        return np.where(abs(t * self.scale) < 1, np.exp(t * self.loc) / (1 - (t * self.scale) ** 2), np.inf)

    def cf(self, t: Array) -> Array:
        return np.exp(1j * t * self.loc) / (1 + (t * self.scale) ** 2)

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(lambda x: (abs(x - self.loc),), (-1 / self.scale,), np.log(self.scale), held=("loc",))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        u = open_uniform(shape, rng)
        u -= 0.5
        z = -2 * np.absolute(u)
        np.copysign(np.log1p(z), u, out=u)
        return located(u, self.loc, self.scale)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        order = np.argsort(x)
        # The median of weights: any point where half lies on either side; the middle of them.
        below = np.cumsum(w[order])
        first, last = np.searchsorted(below, [0.5 - 1e-12, 0.5 + 1e-12])
        center = 0.5 * (x[order][first] + x[order][min(last, x.size - 1)])
        return cls(center, np.sum(w * abs(x - center)))


def log_lower_tail(z: Array) -> Array:
    """log P(Z <= z) of the standard law."""
    return np.where(z < 0, z - LOG_2, np.log1p(-0.5 * np.exp(-abs(z))))


def lower_tail(z: Array) -> Array:
    """P(X <= z) of the standard law."""
    half = 0.5 * np.exp(np.where(z < 0, z, -z))
    return np.where(z < 0, half, 1 - half)


def standard_quantile(p: Array) -> Array:
    """The inverse of the standard distribution function."""
    height = np.log(2 * np.where(p < 0.5, p, 1 - p))
    return np.where(p < 0.5, height, -height)


@closed_form(Laplace, Laplace)
def _divergence(p: Laplace, q: Laplace) -> Array:
    distance = abs(p.loc - q.loc)
    ratio = p.scale / q.scale
    return ratio * np.exp(-distance / p.scale) + distance / q.scale - np.log(ratio) - 1
