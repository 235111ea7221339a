"""Dirac: one value, for certain."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.distributions.support import Points, Real
from probdiff.tree import Array


class Dirac(Discrete):
    """P(value) = 1.

    value  real
    """

    value: Real = 0.0

    @property
    def support(self) -> Points:
        return Points("points", "the value", values=np.expand_dims(self.value, -1))

    def logpdf(self, x: Array) -> Array:
        return 0 * x

    def cdf(self, x: Array) -> Array:
        return np.where(x >= self.value, 1.0, 0.0)

    def ccdf(self, x: Array) -> Array:
        return np.where(x >= self.value, 0.0, 1.0)

    def quantile(self, p: Array) -> Array:
        return self.value + 0 * p

    def cquantile(self, p: Array) -> Array:
        return self.value + 0 * p

    def mean(self) -> Array:
        return self.value

    def var(self) -> Array:
        return 0.0

    def mode(self) -> Array:
        return self.value

    def entropy(self) -> Array:
        return 0.0

    def mgf(self, t: Array) -> Array:
        return np.exp(t * self.value)

    def cf(self, t: Array) -> Array:
        return np.exp(1j * t * self.value)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.broadcast_to(self.value, shape).copy()
