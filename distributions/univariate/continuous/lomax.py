"""Lomax (Pareto of the second kind): a Pareto variable that starts at zero, waits whose rate is gamma."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.support import Positive, nonnegative
from probdiff.tree import Array


class Lomax(Continuous):
    """p(x) = shape / scale (1 + x / scale)^(-shape - 1),  x >= 0.

    shape  positive  the moments of smaller order exist
    scale  positive

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 20.
    """

    shape: Positive
    scale: Positive = 1.0

    support = nonnegative
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        return np.log(self.shape) - np.log(self.scale) - (self.shape + 1) * np.log1p(x / self.scale)

    def logccdf(self, x: Array) -> Array:
        return -self.shape * np.log1p(x / self.scale)

    def quantile(self, p: Array) -> Array:
        return self.scale * np.expm1(-np.log1p(-p) / self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.scale * np.expm1(-np.log(p) / self.shape)

    def mean(self) -> Array:
        return np.where(self.shape > 1, self.scale / (self.shape - 1), math.inf)

    def var(self) -> Array:
        return self.scale**2 * pareto_variance(self.shape)

    def mode(self) -> Array:
        return 0.0

    def skewness(self) -> Array:
        return pareto_skewness(self.shape)

    def kurtosis(self) -> Array:
        return pareto_kurtosis(self.shape)

    def entropy(self) -> Array:
        return np.log(self.scale) - np.log(self.shape) + 1 / self.shape + 1

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(
            lambda x: (np.log1p(x / self.scale),),
            (-self.shape - 1,),
            np.log(self.scale) - np.log(self.shape),
            held=("scale",),
        )

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale * np.expm1(rng.standard_exponential(shape) / self.shape)


def pareto_variance(a: Array) -> Array:
    """The variance for scale one, which a shift does not change: shared with Pareto, as are the next two."""
    return np.where(a > 2, a / ((a - 1) ** 2 * (a - 2)), math.inf)


def pareto_skewness(a: Array) -> Array:
    return np.where(a > 3, 2 * (1 + a) / (a - 3) * np.sqrt((a - 2) / a), math.nan)


def pareto_kurtosis(a: Array) -> Array:
    return np.where(a > 4, 6 * (a**3 + a**2 - 6 * a - 2) / (a * (a - 3) * (a - 4)), math.nan)
