"""Folded Cauchy: the size of a Cauchy variable."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import LOG_2, log1p_square
from probdiff.distributions.support import Positive, Real, nonnegative
from probdiff.tree import Array


class FoldedCauchy(Continuous):
    """p(x) = [1 / (1 + (z - m)²) + 1 / (1 + (z + m)²)] / (π scale),  z = x / scale >= 0,  m = loc / scale.

    loc    real      median of the Cauchy variable that is folded; its sign does not matter
    scale  positive

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 16.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = nonnegative
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        z, m = x / self.scale, abs(self.loc) / self.scale
        near, far = log1p_square((x - abs(self.loc)) / self.scale), log1p_square(z + m)
        apart = np.log1p(np.exp(near - far)) - near
        # Near z = 0 or m = 0 the two terms are alike, and their slopes would cancel: as one fraction instead.
        s = 1 + z * z + m * m
        w = 2 * z * m / s
        alike = LOG_2 - np.log(s) - np.log1p(-w * w)
        return np.where((w < 0.5) & (s < 1e300), alike, apart) - np.log(self.scale) - math.log(math.pi)

    # With θ the probability times π: cot θ = (1 + m² - z²) / (2 z), the sum of two arctangents.

    def cdf(self, x: Array) -> Array:
        return np.arctan2(2.0, self._cotangent(x)) / math.pi

    def ccdf(self, x: Array) -> Array:
        return np.arctan2(2.0, -self._cotangent(x)) / math.pi

    def _cotangent(self, x: Array) -> Array:
        """(1 + m² - z²) / z."""
        z, m = x / self.scale, abs(self.loc) / self.scale
        return 1 / z + (abs(self.loc) - x) / self.scale * (1 + m / z)

    def quantile(self, p: Array) -> Array:
        return self._root(np.where(p < 0.5, 1 / np.tan(math.pi * p), -1 / np.tan(math.pi * (1 - p))))

    def cquantile(self, p: Array) -> Array:
        return self._root(np.where(p < 0.5, -1 / np.tan(math.pi * p), 1 / np.tan(math.pi * (1 - p))))

    def _root(self, k: Array) -> Array:
        """The positive x with z² + 2 k z = 1 + m²."""
        r = np.hypot(1.0, self.loc / self.scale)
        h = np.hypot(k, r)
        return self.scale * np.where(k > 0, r * (r / (k + h)), h - k)

    def mean(self) -> Array:
        return math.inf

    def var(self) -> Array:
        return math.inf

    def mode(self) -> Array:
        # Where the slope in z² vanishes, (1 + m² + z²)² = 4 m² (1 + m²).
        m = abs(self.loc) / self.scale
        return self.scale * np.sqrt(np.maximum(2 * m * np.hypot(1.0, m) - (1 + m * m), 0.0))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return abs(self.loc + self.scale * rng.standard_cauchy(shape))
