"""Triangular: between two bounds, with straight sides that meet at a peak."""

from __future__ import annotations

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Interval, Real, interval
from probdiff.tree import Array


class Triangular(Continuous):
    """p(x) = 2 (x - low) / ((high - low) (peak - low)) up to the peak, 2 (high - x) / ((high - low) (high - peak)) on.

    low   real
    high  real  greater than low
    peak  real  in [low, high], the mode

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 26.9.
    """

    low: Real = 0.0
    high: Real = 1.0
    peak: Real = 0.5

    relation = "low <= peak <= high and low < high"

    def related(self) -> Array:
        return (self.low <= self.peak) & (self.peak <= self.high) & (self.low < self.high)

    @property
    def support(self) -> Interval:
        return interval(self.low, self.high)

    def logpdf(self, x: Array) -> Array:
        rising = np.log((x - self.low) / (self.peak - self.low))
        falling = np.log((self.high - x) / (self.high - self.peak))
        side = np.where(x < self.peak, rising, np.where(x > self.peak, falling, 0.0))
        return LOG_2 - np.log(self.high - self.low) + side

    def logcdf(self, x: Array) -> Array:
        return np.where(x < self.peak, self._below(x), np.log1p(-np.exp(self._above(x))))

    def logccdf(self, x: Array) -> Array:
        return np.where(x < self.peak, np.log1p(-np.exp(self._below(x))), self._above(x))

    def quantile(self, p: Array) -> Array:
        low, high, peak = self.low, self.high, self.peak
        width = high - low
        rising = low + np.sqrt(p * (peak - low)) * np.sqrt(width)
        return np.where(p * width < peak - low, rising, high - np.sqrt((1 - p) * (high - peak)) * np.sqrt(width))

    def cquantile(self, p: Array) -> Array:
        low, high, peak = self.low, self.high, self.peak
        width = high - low
        falling = high - np.sqrt(p * (high - peak)) * np.sqrt(width)
        return np.where(p * width < high - peak, falling, low + np.sqrt((1 - p) * (peak - low)) * np.sqrt(width))

    def mean(self) -> Array:
        return (self.low + self.high + self.peak) / 3

    def var(self) -> Array:
        return ((self.high - self.low) ** 2 - (self.high - self.peak) * (self.peak - self.low)) / 18

    def mode(self) -> Array:
        return self.peak

    def skewness(self) -> Array:
        a, b, c = self.low, self.high, self.peak
        third = ((a - c) + (b - c)) * ((a - b) + (a - c)) * ((a - b) + (c - b))
        return np.sqrt(2.0) / 5 * third / (18 * self.var()) ** 1.5

    def kurtosis(self) -> Array:
        return -0.6

    def entropy(self) -> Array:
        return 0.5 - LOG_2 + np.log(self.high - self.low)

    def _below(self, x: Array) -> Array:
        """log P(X <= x), for x up to the peak."""
        return 2 * np.log(x - self.low) - np.log(self.high - self.low) - np.log(self.peak - self.low)

    def _above(self, x: Array) -> Array:
        """log P(X > x), for x from the peak on."""
        return 2 * np.log(self.high - x) - np.log(self.high - self.low) - np.log(self.high - self.peak)
