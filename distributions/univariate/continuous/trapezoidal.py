"""Trapezoidal: a density that rises, stays and falls in straight lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Interval, Real, interval
from probdiff.tree import Array


class Trapezoidal(Continuous):
    """p(x) = height min(1, (x - low) / (left - low), (high - x) / (high - right)),
    height = 2 / (high + right - left - low),  low <= x <= high.

    low    real
    left   real  from here to right the density is flat; not below low
    right  real  not below left
    high   real  not below right, and above low

    Kacker & Lawrence, Trapezoidal and triangular distributions for Type B evaluation of standard uncertainty,
    Metrologia 44 (2007).
    """

    low: Real
    left: Real
    right: Real
    high: Real

    relation = "low <= left <= right <= high and low < high"

    def related(self) -> Array:
        rising = (self.low <= self.left) & (self.left <= self.right) & (self.right <= self.high)
        return rising & (self.low < self.high)

    @property
    def support(self) -> Interval:
        return interval(self.low, self.high)

    def logpdf(self, x: Array) -> Array:
        below, above = x < self.left, x > self.right
        share = np.where(below, (x - self.low) / self._rise(), (self.high - x) / self._fall())
        return np.log(self._height() * np.where(below | above, share, 1.0))

    def cdf(self, x: Array) -> Array:
        return self._lower(x, self._upper(x, 0.0))

    def ccdf(self, x: Array) -> Array:
        return self._upper(x, self._lower(x, 0.0))

    def quantile(self, p: Array) -> Array:
        return self._place(p, 1 - p)

    def cquantile(self, p: Array) -> Array:
        return self._place(1 - p, p)

    def mean(self) -> Array:
        a, b = self.low - self._middle(), self.left - self._middle()
        c, d = self.right - self._middle(), self.high - self._middle()
        return self._middle() + self._height() / 6 * (c * c + c * d + d * d - a * a - a * b - b * b)

    def mode(self) -> Array:
        return 0.5 * (self.left + self.right)

    def kinks(self) -> tuple[Array, ...]:
        return (self.left, self.right)

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        low, high = np.min(x), np.max(x)
        room = 0.05 * (high - low)
        left, right = (low + share * (high - low) for share in (1 / 3, 2 / 3))
        return {"low": low - room, "left": left, "right": right, "high": high + room}

    def _height(self) -> Array:
        return 2 / (self.high - self.low + self.right - self.left)

    def _middle(self) -> Array:
        return 0.5 * (self.low + self.high)

    def _rise(self) -> Array:
        return np.where(self.left > self.low, self.left - self.low, 1.0)

    def _fall(self) -> Array:
        return np.where(self.high > self.right, self.high - self.right, 1.0)

    def _lower(self, x: Array, upper: Array) -> Array:
        """P(X <= x), from the upper tail right of the flat part."""
        rising = 0.5 * (x - self.low) ** 2 / self._rise()
        flat = x - self.left + 0.5 * (self.left - self.low)
        return np.where(
            x < self.left, self._height() * rising, np.where(x > self.right, 1 - upper, self._height() * flat)
        )

    def _upper(self, x: Array, lower: Array) -> Array:
        """P(X > x), from the lower tail left of the flat part."""
        falling = 0.5 * (self.high - x) ** 2 / self._fall()
        flat = self.right - x + 0.5 * (self.high - self.right)
        return np.where(
            x > self.right, self._height() * falling, np.where(x < self.left, 1 - lower, self._height() * flat)
        )

    def _place(self, p: Array, q: Array) -> Array:
        """The quantile at p = 1 - q."""
        h = self._height()
        rising = self.low + np.sqrt(2 * p * (self.left - self.low) / h)
        falling = self.high - np.sqrt(2 * q * (self.high - self.right) / h)
        flat = np.where(p < q, 0.5 * (self.left + self.low) + p / h, 0.5 * (self.right + self.high) - q / h)
        first, last = 0.5 * h * (self.left - self.low), 0.5 * h * (self.high - self.right)
        return np.where(p < first, rising, np.where(q < last, falling, flat))
