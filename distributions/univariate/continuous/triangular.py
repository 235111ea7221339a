"""Triangular: between two bounds, with straight sides that meet at a peak."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Interval, Real, interval
from probdiff.errors import DataError
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

    def kinks(self) -> tuple[Array, ...]:
        return (self.peak,)

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

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        low, high = np.min(x), np.max(x)
        margin = 0.1 * (high - low)
        return {"low": low - margin, "high": high + margin, "peak": np.sum(w * x)}

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        # For given ends the best peak is an observation (van Dorp & Kotz, The Standard Two-Sided Power Distribution and
        # its Properties, The American Statistician 56, 2002); so the ends are searched for the best of these.
        from scipy.optimize import minimize

        order = np.argsort(x)
        x, w = x[order], w[order]
        width = x[-1] - x[0]
        if width == 0:
            raise DataError(f"Triangular.fit needs observations that are not all the same, got {float(x[0])!r}.")

        def heights(u: Any) -> Any:
            low, high = x[0] - width * np.exp(u[0]), x[-1] + width * np.exp(u[1])
            below, above = np.log(x - low), np.log(high - x)
            left = np.cumsum(w * below) - np.cumsum(w) * below
            right = np.cumsum((w * above)[::-1])[::-1] - np.cumsum(w[::-1])[::-1] * above
            return left + right - np.log(high - low)

        def loss(u: Any) -> Any:
            return -np.max(heights(u))

        found = minimize(loss, [-2.0, -2.0], method="Nelder-Mead")
        return cls.fit(x, w, peak=x[np.argmax(heights(found.x))])

    def _below(self, x: Array) -> Array:
        """log P(X <= x), for x up to the peak."""
        return 2 * np.log(x - self.low) - np.log(self.high - self.low) - np.log(self.peak - self.low)

    def _above(self, x: Array) -> Array:
        """log P(X > x), for x from the peak on."""
        return 2 * np.log(self.high - x) - np.log(self.high - self.low) - np.log(self.high - self.peak)
