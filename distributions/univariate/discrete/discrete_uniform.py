"""DiscreteUniform: whole numbers between two bounds, all equally likely."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.distributions.support import Integer, Integers, integer_interval
from probdiff.tree import Array


class DiscreteUniform(Discrete):
    """P(k) = 1 / (high - low + 1),  k = low, …, high.

    low   integer
    high  integer, not less than low
    """

    low: Integer
    high: Integer

    relation = "low <= high"

    def related(self) -> Array:
        return self.low <= self.high

    @property
    def support(self) -> Integers:
        return integer_interval(self.low, self.high)

    def logpdf(self, x: Array) -> Array:
        return -np.log(self._count() + 0 * x)

    def cdf(self, x: Array) -> Array:
        return (x - self.low + 1) / self._count()

    def ccdf(self, x: Array) -> Array:
        return (self.high - x) / self._count()

    def mean(self) -> Array:
        return 0.5 * self.low + 0.5 * self.high

    def var(self) -> Array:
        n = self._count() * 1.0
        return (n - 1) * (n + 1) / 12

    def mode(self) -> Array:
        return self.low * 1.0

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        n = self._count() * 1.0
        return -1.2 * (n * n + 1) / ((n - 1) * (n + 1))

    def entropy(self) -> Array:
        return np.log(self._count())

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.integers(self.low, self.high, shape, endpoint=True)

    @classmethod
    def ends(cls, x: Array) -> dict[str, Any]:
        return {"low": np.min(x), "high": np.max(x)}

    def _count(self) -> Array:
        return self.high - self.low + 1
