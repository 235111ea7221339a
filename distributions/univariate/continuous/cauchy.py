"""Cauchy: the ratio of two normal variables; it has no mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.stable import log1p_square
from probdiff.distributions.support import Positive, Real, real
from probdiff.tree import Array

LOG_PI = math.log(math.pi)


class Cauchy(Continuous):
    """p(x) = 1 / (π scale (1 + z²)),  z = (x - loc) / scale.

    loc    real      median and mode
    scale  positive  half the distance between the quartiles

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 16.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = real
    tail_rates = (0.0, 0.0)

    def logpdf(self, x: Array) -> Array:
        return -log1p_square((x - self.loc) / self.scale) - np.log(self.scale) - LOG_PI

    def cdf(self, x: Array) -> Array:
        return np.arctan2(1.0, (self.loc - x) / self.scale) / math.pi

    def ccdf(self, x: Array) -> Array:
        return np.arctan2(1.0, (x - self.loc) / self.scale) / math.pi

    def quantile(self, p: Array) -> Array:
        return self.loc + self.scale * standard_quantile(p)

    def cquantile(self, p: Array) -> Array:
        return self.loc - self.scale * standard_quantile(p)

    def mean(self) -> Array:
        return math.nan

    def var(self) -> Array:
        return math.nan

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return math.nan

    def kurtosis(self) -> Array:
        return math.nan

    def entropy(self) -> Array:
        return np.log(self.scale) + math.log(4 * math.pi)

    def cf(self, t: Array) -> Array:
        return np.exp(1j * t * self.loc - self.scale * abs(t))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.loc + self.scale * np.tan(math.pi * (rng.random(shape) - 0.5))


def standard_quantile(p: Array) -> Array:
    """-cot(π p), from the side where the argument keeps its digits."""
    tail = np.where(p < 0.5, p, 1 - p)
    far = tail < 0.25
    t = np.tan(math.pi * np.where(far, tail, 0.5 - tail))
    size = np.where(far, 1 / t, t)
    return np.where(p < 0.5, -size, size)


@closed_form(Cauchy, Cauchy)
def _divergence(p: Cauchy, q: Cauchy) -> Array:
    square = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return np.log(square) - np.log(4 * p.scale) - np.log(q.scale)
