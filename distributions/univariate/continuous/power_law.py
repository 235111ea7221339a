"""Power law between two bounds, of any exponent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import log_ratio
from probdiff.distributions.support import Interval, Nonnegative, Positive, Real, interval
from probdiff.tree import Array

# log(sinh(v) / v) in powers of v².
SERIES = [1 / 6, -1 / 180, 1 / 2835, -1 / 37800, 1 / 467775, -691 / 3831077250, 2 / 127702575]


class PowerLaw(Continuous):
    """p(x) = x^alpha / ∫ t^alpha dt,  low <= x <= high, the integral over the same interval.

    alpha  real         any exponent, -1 being the log-uniform distribution; above -1 where low is 0
    low    nonnegative
    high   positive     greater than low

    Without an upper bound it is `Pareto`, with exponent -shape - 1.
    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 20.
    """

    alpha: Real
    low: Nonnegative = 0.0
    high: Positive = 1.0

    relation = "low < high, and alpha > -1 where low is 0"

    def related(self) -> Array:
        return (self.low < self.high) & ((self.low > 0) | (self.alpha > -1))

    @property
    def support(self) -> Interval:
        return interval(self.low, self.high)

    def logpdf(self, x: Array) -> Array:
        return xlogy(self.alpha, x) - self._whole()

    def logcdf(self, x: Array) -> Array:
        return np.minimum(log_area(self.alpha + 1, self.low, x) - self._whole(), 0.0)

    def logccdf(self, x: Array) -> Array:
        return np.minimum(log_area(self.alpha + 1, x, self.high) - self._whole(), 0.0)

    def guess(self, lower: Array, lp: Array) -> Array:
        p = np.where(lower, np.exp(lp), -np.expm1(lp))
        b = self.alpha + 1 + 1e-12  # the limit at zero, to more digits than a guess needs
        far = b * np.log(self.low / self.high)
        return self.high * np.exp(np.log(p + (1 - p) * np.exp(far)) / b)

    def mean(self) -> Array:
        return self._moment(1)

    def var(self) -> Array:
        return self._moment(2) - self._moment(1) ** 2

    def mode(self) -> Array:
        return np.where(self.alpha > 0, self.high, self.low)

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(lambda x: (np.log(x),), (self.alpha,), self._whole(), held=("low", "high"))

    @classmethod
    def ends(cls, x: Array) -> dict[str, Any]:
        return {"low": np.min(x), "high": np.max(x)}

    def _whole(self) -> Array:
        return log_area(self.alpha + 1, self.low, self.high)

    def _moment(self, i: int) -> Array:
        """E[X^i]."""
        return np.exp(log_area(self.alpha + 1 + i, self.low, self.high) - self._whole())


def log_area(b: Array, low: Array, high: Array) -> Array:
    """log ∫ t^(b - 1) dt from low to high, without cancellation near b = 0; low = 0 for b > 0 only."""
    length = log_ratio(high, low)
    v = abs(0.5 * b * length)
    square, series = v * v, 0.0
    for coefficient in reversed(SERIES):
        series = square * (coefficient + series)
    curved = np.where(v < 0.3, series, v + np.log(-np.expm1(-2 * v)) - np.log(2 * v))
    inside = 0.5 * b * (np.log(low) + np.log(high)) + np.log(length) + curved
    return np.where(low == 0, b * np.log(high) - np.log(b), np.where(low < high, inside, -math.inf))
