"""Log-uniform (reciprocal): a positive variable whose logarithm is uniform, for scales of unknown magnitude."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.between import Between
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.stable import log_ratio
from probdiff.distributions.support import Positive
from probdiff.errors import DataError
from probdiff.tree import Array


class LogUniform(Between):
    """p(x) = 1 / (x log(high / low)),  low <= x <= high.

    low   positive
    high  positive  greater than low

    Hamming, On the distribution of numbers, Bell System Technical Journal 49 (1970).
    """

    low: Positive
    high: Positive

    def logpdf(self, x: Array) -> Array:
        return -np.log(x) - np.log(self._length())

    def cdf(self, x: Array) -> Array:
        return log_ratio(x, self.low) / self._length()

    def ccdf(self, x: Array) -> Array:
        return log_ratio(self.high, x) / self._length()

    def quantile(self, p: Array) -> Array:
        root = np.exp(0.5 * p * self._length())  # the square of which may overflow
        return self.low * root * root

    def cquantile(self, p: Array) -> Array:
        root = np.exp(-0.5 * p * self._length())
        return self.high * root * root

    def mean(self) -> Array:
        return (self.high - self.low) / self._length()

    def var(self) -> Array:
        return 0.5 * (self.high - self.low) * (self.high + self.low) / self._length() - self.mean() ** 2

    def mode(self) -> Array:
        return self.low

    def entropy(self) -> Array:
        return np.log(self._length()) + 0.5 * (np.log(self.low) + np.log(self.high))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.clip(self.quantile(rng.random(shape)), self.low, self.high)

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.log(self.low) + self._length() * rng.random(shape)

    @classmethod
    def ends(cls, x: Array) -> dict[str, Any]:
        least = np.min(x)
        if not 0 < least < np.max(x):
            raise DataError(
                f"LogUniform.fit needs observations that are positive and not all the same, got {float(least)!r}."
            )
        return {"low": least, "high": np.max(x)}

    def _length(self) -> Array:
        return log_ratio(self.high, self.low)


@closed_form(LogUniform, LogUniform)
def _divergence(p: LogUniform, q: LogUniform) -> Array:
    inside = (q.low <= p.low) & (p.high <= q.high)
    return np.where(inside, np.log(log_ratio(q.high, q.low) / log_ratio(p.high, p.low)), np.inf)
