"""Discrete Laplace: whole numbers whose probabilities fall geometrically on both sides of zero."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import arcsinh
from probdiff.distributions.support import Positive, integers
from probdiff.errors import DataError
from probdiff.special import log1mexp
from probdiff.tree import Array


class DiscreteLaplace(Discrete):
    """P(k) = tanh(rate / 2) exp(-rate |k|),  rate = 1 / scale,  k = …, -1, 0, 1, ….

    scale  positive; or rate: two numbers that differ by one differ in probability by no more than exp(rate)

    The difference of two independent Geometric variables. Inusah & Kozubowski, A discrete analogue of the Laplace
    distribution, J. Stat. Plan. Inference 136 (2006).
    """

    scale: Positive = 1.0

    support = integers

    @alternative
    def by_rate(rate: Positive) -> dict[str, Any]:
        return {"scale": 1 / rate}

    def logpdf(self, x: Array) -> Array:
        return self._log_peak() - abs(x) / self.scale

    def logcdf(self, x: Array) -> Array:
        return np.where(x < 0, self._beyond(-x), log1mexp(self._beyond(x + 1)))

    def logccdf(self, x: Array) -> Array:
        return np.where(x < 0, log1mexp(self._beyond(-x)), self._beyond(x + 1))

    def mean(self) -> Array:
        return 0.0

    def var(self) -> Array:
        return 0.5 / np.sinh(0.5 / self.scale) ** 2

    def mode(self) -> Array:
        return 0.0

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        return 2 + np.cosh(1 / self.scale)

    def entropy(self) -> Array:
        rate = 1 / self.scale
        return 2 * rate * np.exp(-rate) / -np.expm1(-2 * rate) - self._log_peak()

    def mgf(self, t: Array) -> Array:
        peak, moved = np.sinh(0.5 / self.scale), np.sinh(0.5 * t)
        return np.where(abs(t) * self.scale < 1, 1 / (1 - (moved / peak) ** 2), np.inf)

    def cf(self, t: Array) -> Array:
        return 1 / (1 + (np.sin(0.5 * t) / np.sinh(0.5 / self.scale)) ** 2)

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(lambda x: (abs(x),), (-1 / self.scale,), -self._log_peak())

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        up, down = rng.standard_exponential((2, *shape))
        return np.floor(up * self.scale) - np.floor(down * self.scale)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The scale whose mean distance, 1 / sinh(rate), is that of the observations."""
        distance = float(np.sum(w * abs(x)))
        if distance == 0:
            raise DataError("DiscreteLaplace.fit found no maximum: all observations are zero.")
        return cls(1 / arcsinh(1 / distance))

    def _log_peak(self) -> Array:
        rate = 1 / self.scale
        return log1mexp(-rate) - np.log1p(np.exp(-rate))

    def _beyond(self, k: Array) -> Array:
        """log P(X >= k), k > 0."""
        return -k / self.scale - np.log1p(np.exp(-1 / self.scale))
