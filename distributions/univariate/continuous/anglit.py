"""Anglit: half a period of a cosine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Interval, Positive, Real, interval
from probdiff.tree import Array


class Anglit(Continuous):
    """p(x) = cos(2 z) / scale,  z = (x - loc) / scale,  |z| <= π / 4.

    loc    real      mean and mode
    scale  positive  the width of the support is π / 2 scales

    Documentation of SciPy, anglit.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    @property
    def support(self) -> Interval:
        half = 0.25 * math.pi * self.scale
        return interval(self.loc - half, self.loc + half)

    def logpdf(self, x: Array) -> Array:
        return np.log(np.sin(2 * self._room(abs(x - self.loc)))) - np.log(self.scale)

    def cdf(self, x: Array) -> Array:
        return np.sin(self._room(self.loc - x)) ** 2

    def ccdf(self, x: Array) -> Array:
        return np.sin(self._room(x - self.loc)) ** 2

    def quantile(self, p: Array) -> Array:
        return self.loc - self.scale * distance(p)

    def cquantile(self, p: Array) -> Array:
        return self.loc + self.scale * distance(p)

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return self.scale**2 * (math.pi**2 / 16 - 0.5)

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        return -2 * (math.pi**4 - 96) / (math.pi**2 - 8) ** 2

    def mode(self) -> Array:
        return self.loc

    def entropy(self) -> Array:
        return 1 - math.log(2) + np.log(self.scale)

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        low, high = np.min(x), np.max(x)
        return {"loc": 0.5 * (low + high), "scale": 0.7 * (high - low)}

    def _room(self, t: Array) -> Array:
        """From a distance t on one side of loc to the end there, in scales."""
        return (0.25 * math.pi * self.scale - t) / self.scale


def distance(p: Array) -> Array:
    """π / 4 - arcsin √p, which has the probability p beyond it: half the arc sine of 1 - 2 p."""
    return np.where(p < 0.25, 0.25 * math.pi - np.arcsin(np.sqrt(p)), 0.5 * np.arcsin(1 - 2 * p))
