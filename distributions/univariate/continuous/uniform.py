"""Uniform: all values of an interval alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.between import Between
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.draws import located
from probdiff.distributions.support import Real
from probdiff.tree import Array


class Uniform(Between):
    """p(x) = 1 / (high - low),  low <= x <= high.

    low   real
    high  real  greater than low
    """

    low: Real = 0.0
    high: Real = 1.0

    def logpdf(self, x: Array) -> Array:
        return -np.log(self.high - self.low)

    def cdf(self, x: Array) -> Array:
        return (x - self.low) / (self.high - self.low)

    def ccdf(self, x: Array) -> Array:
        return (self.high - x) / (self.high - self.low)

    def quantile(self, p: Array) -> Array:
        return self.low + p * (self.high - self.low)

    def cquantile(self, p: Array) -> Array:
        return self.high - p * (self.high - self.low)

    def mean(self) -> Array:
        return 0.5 * (self.low + self.high)

    def var(self) -> Array:
        return (self.high - self.low) ** 2 / 12

    def mode(self) -> Array:
        return 0.5 * (self.low + self.high)

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        return -1.2

    def entropy(self) -> Array:
        return np.log(self.high - self.low)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return located(rng.random(shape), self.low, self.high - self.low)

    @classmethod
    def ends(cls, x: Array) -> dict[str, Any]:
        return {"low": np.min(x), "high": np.max(x)}


@closed_form(Uniform, Uniform)
def _divergence(p: Uniform, q: Uniform) -> Array:
    inside = (q.low <= p.low) & (p.high <= q.high)
    return np.where(inside, np.log((q.high - q.low) / (p.high - p.low)), np.inf)
