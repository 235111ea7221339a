"""Gompertz: lifetimes whose hazard grows exponentially with age."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.parameters import alternative
from probdiff.distributions.support import Positive, nonnegative
from probdiff.tree import Array


class Gompertz(Continuous):
    """p(x) = shape / scale exp(z - shape (exp(z) - 1)),  z = x / scale >= 0.

    shape  positive  the hazard at 0, per scale
    scale  positive  the time in which the hazard grows by a factor e; or rate = 1 / scale

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 22.8.
    """

    shape: Positive
    scale: Positive = 1.0

    support = nonnegative
    tail_rates = (np.inf, np.inf)

    @alternative
    def by_rate(rate: Positive) -> dict[str, Any]:
        return {"scale": 1 / rate}

    def logpdf(self, x: Array) -> Array:
        z = x / self.scale
        return np.log(self.shape) - np.log(self.scale) + z - self.shape * np.expm1(z)

    def logccdf(self, x: Array) -> Array:
        return -self.shape * np.expm1(x / self.scale)

    def quantile(self, p: Array) -> Array:
        return self.scale * np.log1p(-np.log1p(-p) / self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.scale * np.log1p(-np.log(p) / self.shape)

    def mode(self) -> Array:
        return self.scale * np.maximum(-np.log(self.shape), 0.0)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale * np.log1p(rng.standard_exponential(shape) / self.shape)
