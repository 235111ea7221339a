"""Pareto: sizes above a threshold, with a tail that is a power."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import log_ratio
from probdiff.distributions.support import Interval, Positive
from probdiff.distributions.univariate.continuous.lomax import pareto_kurtosis, pareto_skewness, pareto_variance
from probdiff.errors import DataError
from probdiff.tree import Array


class Pareto(Continuous):
    """p(x) = shape scale^shape / x^(shape + 1),  x >= scale.

    shape  positive  the moments of smaller order exist
    scale  positive  lower end

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 20.
    """

    shape: Positive = 1.0
    scale: Positive = 1.0

    tail_rates = (np.inf, 0.0)

    @property
    def support(self) -> Interval:
        return Interval("interval", "at least scale", self.scale, closed_lower=True)

    def logpdf(self, x: Array) -> Array:
        return np.log(self.shape) - np.log(x) - self.shape * log_ratio(x, self.scale)

    def logccdf(self, x: Array) -> Array:
        return -self.shape * log_ratio(x, self.scale)

    def quantile(self, p: Array) -> Array:
        return self.scale * np.exp(-np.log1p(-p) / self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.scale * np.exp(-np.log(p) / self.shape)

    def mean(self) -> Array:
        return np.where(self.shape > 1, self.scale * self.shape / (self.shape - 1), math.inf)

    def var(self) -> Array:
        return self.scale**2 * pareto_variance(self.shape)

    def mode(self) -> Array:
        return self.scale

    def skewness(self) -> Array:
        return pareto_skewness(self.shape)

    def kurtosis(self) -> Array:
        return pareto_kurtosis(self.shape)

    def entropy(self) -> Array:
        return np.log(self.scale) - np.log(self.shape) + 1 / self.shape + 1

    def exponential_form(self) -> ExponentialForm:
        a = self.shape
        return ExponentialForm(lambda x: (np.log(x),), (-a - 1,), -np.log(a) - a * np.log(self.scale), held=("scale",))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        y = rng.standard_exponential(shape)
        y /= self.shape
        np.exp(y, out=y)
        y *= self.scale
        return y

    @classmethod
    def ends(cls, x: Array) -> dict[str, Any]:
        return {"scale": np.min(x)}

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        least = np.min(x)
        if not 0 < least < np.max(x):
            raise DataError(
                f"Pareto.fit needs observations that are positive and not all the same, got {float(least)!r}."
            )
        return cls(1 / np.sum(w * np.log(x / least)), least)
