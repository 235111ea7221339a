"""Arcsine: where a sine wave is found at a random time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import i0e, j0

from probdiff.distributions.between import Between
from probdiff.distributions.support import Real
from probdiff.tree import Array

HALF_PI = 0.5 * math.pi


class Arcsine(Between):
    """p(x) = 1 / (π sqrt((x - low) (high - x))),  low <= x <= high.

    low   real
    high  real  greater than low

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 25.
    """

    low: Real = 0.0
    high: Real = 1.0

    def logpdf(self, x: Array) -> Array:
        return -0.5 * (np.log(x - self.low) + np.log(self.high - x)) - math.log(math.pi)

    def cdf(self, x: Array) -> Array:
        return np.arctan2(np.sqrt(x - self.low), np.sqrt(self.high - x)) / HALF_PI

    def ccdf(self, x: Array) -> Array:
        return np.arctan2(np.sqrt(self.high - x), np.sqrt(x - self.low)) / HALF_PI

    def quantile(self, p: Array) -> Array:
        # Each half from its own end.
        near, far = np.sin(HALF_PI * p) ** 2, np.sin(HALF_PI * (1 - p)) ** 2
        width = self.high - self.low
        return np.where(p < 0.5, self.low + width * near, self.high - width * far)

    def cquantile(self, p: Array) -> Array:
        near, far = np.sin(HALF_PI * p) ** 2, np.sin(HALF_PI * (1 - p)) ** 2
        width = self.high - self.low
        return np.where(p < 0.5, self.high - width * near, self.low + width * far)

    def mean(self) -> Array:
        return 0.5 * (self.low + self.high)

    def var(self) -> Array:
        return (self.high - self.low) ** 2 / 8

    def mode(self) -> Array:
        return self.low

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        return -1.5

    def entropy(self) -> Array:
        return np.log(self.high - self.low) + math.log(math.pi / 4)

    def mgf(self, t: Array) -> Array:
        half = 0.5 * t * (self.high - self.low)
        return i0e(half) * np.exp(t * self.mean() + abs(half))

    def cf(self, t: Array) -> Array:
        return np.exp(1j * t * self.mean()) * j0(0.5 * t * (self.high - self.low))

    @classmethod
    def ends(cls, x: Array) -> dict[str, Any]:
        return {"low": np.min(x), "high": np.max(x)}

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.quantile(rng.random(shape))
