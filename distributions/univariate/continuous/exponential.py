"""Exponential: the wait for an event that does not age."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.parameters import alternative
from probdiff.distributions.support import Positive, nonnegative
from probdiff.tree import Array


class Exponential(Continuous):
    """p(x) = exp(-x / scale) / scale,  x >= 0.

    scale  positive  mean; or rate = 1 / scale

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 19.
    """

    scale: Positive = 1.0

    support = nonnegative

    @alternative
    def by_rate(rate: Positive) -> dict[str, Any]:
        return {"scale": 1 / rate}

    def logpdf(self, x: Array) -> Array:
        return -x / self.scale - np.log(self.scale)

    def cdf(self, x: Array) -> Array:
        return -np.expm1(-x / self.scale)

    def logccdf(self, x: Array) -> Array:
        return -x / self.scale

    def quantile(self, p: Array) -> Array:
        return -self.scale * np.log1p(-p)

    def cquantile(self, p: Array) -> Array:
        return -self.scale * np.log(p)

    def mean(self) -> Array:
        return self.scale

    def var(self) -> Array:
        return self.scale * self.scale

    def mode(self) -> Array:
        return 0.0

    def skewness(self) -> Array:
        return 2.0

    def kurtosis(self) -> Array:
        return 6.0

    def entropy(self) -> Array:
        return 1 + np.log(self.scale)

    def mgf(self, t: Array) -> Array:
        return np.where(t * self.scale < 1, 1 / (1 - t * self.scale), np.inf)

    def cf(self, t: Array) -> Array:
        return 1 / (1 - 1j * t * self.scale)

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(lambda x: (x,), (-1 / self.scale,), np.log(self.scale))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        y = rng.standard_exponential(shape)
        y *= self.scale
        return y

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        return cls(np.sum(w * x))


@closed_form(Exponential, Exponential)
def _divergence(p: Exponential, q: Exponential) -> Array:
    ratio = p.scale / q.scale
    return ratio - 1 - np.log(ratio)
