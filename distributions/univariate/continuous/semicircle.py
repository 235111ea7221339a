"""Wigner's semicircle: a coordinate of a uniform point in a disc, the limit of eigenvalues of random matrices."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Interval, Positive, interval
from probdiff.errors import DataError
from probdiff.ops.incomplete_rows import inverse
from probdiff.tree import Array

# (φ - sin φ) / φ³ in powers of φ².
SEGMENT = [(-1.0) ** n / math.factorial(2 * n + 3) for n in range(9)]


class Semicircle(Continuous):
    """p(x) = 2 sqrt(radius² - x²) / (π radius²),  -radius <= x <= radius.

    radius  positive  twice the standard deviation

    Wigner, Characteristic vectors of bordered matrices with infinite dimensions, Annals of Mathematics 62 (1955).
    """

    radius: Positive = 1.0

    @property
    def support(self) -> Interval:
        return interval(-self.radius, self.radius)

    def logpdf(self, x: Array) -> Array:
        r = self.radius
        return math.log(2 / math.pi) - np.log(r) + 0.5 * (np.log((r - x) / r) + np.log((r + x) / r))

    def cdf(self, x: Array) -> Array:
        return np.where(x < 0, self._segment(x), 1 - self._segment(x))

    def ccdf(self, x: Array) -> Array:
        return np.where(x < 0, 1 - self._segment(x), self._segment(x))

    def quantile(self, p: Array) -> Array:
        # (x / radius)² ~ Beta(1/2, 3/2) has the digits of the middle, (1 + x / radius) / 2 ~ Beta(3/2, 3/2) of ends.
        v = 2 * p - 1
        middle, center = abs(v) < 0.5, abs(v) < 1e-8
        level = np.where(middle, np.where(center, 0.25, abs(v)), np.minimum(p, 1 - p))
        x = inverse("betaincinv", np.where(middle, 0.5, 1.5), 1.5, level)
        t = np.where(middle, np.sqrt(np.where(middle, x, 1)), 1 - 2 * x)
        return self.radius * np.where(center, math.pi / 4 * v, np.where(v < 0, -t, t))

    def cquantile(self, p: Array) -> Array:
        return -self.quantile(p)

    def mean(self) -> Array:
        return 0.0

    def var(self) -> Array:
        return self.radius**2 / 4

    def mode(self) -> Array:
        return 0.0

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        return -1.0

    def entropy(self) -> Array:
        return np.log(self.radius) + math.log(math.pi) - 0.5

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.radius * np.sqrt(rng.random(shape)) * np.cos(2 * math.pi * rng.random(shape))

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        from scipy.optimize import brentq

        largest = np.max(x * x)
        if largest == 0:
            raise DataError("Semicircle.fit needs an observation that is not zero.")
        # With r² = largest / (1 - v) the likelihood is stationary where the mean of r² / (r² - x²) is 2. That falls in
        # v to 1, from more than w / v, with w the weight of the largest observation.
        share = x * x / largest
        v = brentq(lambda v: np.sum(w / (1 - share * (1 - v))) - 2, 0.4 * np.min(w), 1.0, xtol=1e-15)
        return cls(np.sqrt(largest / (1 - v)))

    def _segment(self, x: Array) -> Array:
        """The share (φ - sin φ) / (2π) of the disc beyond |x|, with φ the angle that it subtends."""
        phi = 4 * np.arcsin(np.sqrt(0.5 * ((self.radius - abs(x)) / self.radius)))
        square, series = phi * phi, 0.0
        for coefficient in reversed(SEGMENT):
            series = coefficient + square * series
        return np.where(phi < 1.5, phi * square * series, phi - np.sin(phi)) / (2 * math.pi)
