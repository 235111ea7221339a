"""Raised cosine: one period of a cosine, raised to touch zero at its ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Interval, Positive, Real, interval
from probdiff.tree import Array


class RaisedCosine(Continuous):
    """p(x) = (1 + cos(π z)) / (2 scale),  z = (x - loc) / scale,  |z| <= 1.

    loc    real      mean and mode
    scale  positive  half the width of the support

    Rinne, Location-Scale Distributions (2010), ch. 5.2.2.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    @property
    def support(self) -> Interval:
        return interval(self.loc - self.scale, self.loc + self.scale)

    def logpdf(self, x: Array) -> Array:
        # 1 + cos(π z) is 2 sin²(π e / 2), where e = 1 - |z| is the distance to the nearer end.
        e = (self.scale - abs(x - self.loc)) / self.scale
        return 2 * np.log(np.sin(0.5 * math.pi * e)) - np.log(self.scale)

    def cdf(self, x: Array) -> Array:
        return mass_near_end((self.scale + (x - self.loc)) / self.scale)

    def ccdf(self, x: Array) -> Array:
        return mass_near_end((self.scale - (x - self.loc)) / self.scale)

    def guess(self, lower: Array, lp: Array) -> Array:
        # The mass near an end is π² e³ / 12 and a little less.
        e = np.minimum(np.exp(lp / 3) * (12 / math.pi**2) ** (1 / 3), 1.0)
        return self.loc + self.scale * np.where(lower, e - 1, 1 - e)

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return self.scale**2 * (1 / 3 - 2 / math.pi**2)

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        return 1.2 * (90 - math.pi**4) / (math.pi**2 - 6) ** 2

    def entropy(self) -> Array:
        return np.log(4 * self.scale) - 1

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        low, high = np.min(x), np.max(x)
        return {"loc": 0.5 * (low + high), "scale": 0.6 * (high - low)}

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # The densities at u and 1 - u add up to a constant: what is not accepted at u belongs to 1 - u.
        u, keep = rng.random(shape), rng.random(shape)
        size = np.where(keep < np.cos(0.5 * math.pi * u) ** 2, u, 1 - u)
        return self.loc + self.scale * np.where(rng.random(shape) < 0.5, -size, size)


def mass_near_end(e: Array) -> Array:
    """(e - sin(π e) / π) / 2, the probability within e scales of an end."""
    y = math.pi * e
    s = y * y
    # y - sin(y) is y³ / 6 (1 - y² / 20 (1 - y² / 42 (…))).
    series: Array = 1 - s / 342
    for k in range(16, 3, -2):
        series = 1 - s / (k * (k + 1)) * series
    return np.where(y < 1, y * s / 6 * series, y - np.sin(y)) / (2 * math.pi)
