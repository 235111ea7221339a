"""Generalised Pareto: the limit law of excesses over a high threshold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.draws import located
from probdiff.distributions.powers import expm1_over, log1p_over
from probdiff.distributions.stable import either
from probdiff.distributions.support import Interval, Positive, Real
from probdiff.distributions.univariate.continuous.generalized_extreme_value import end_where, finite_end, times_or_zero
from probdiff.tree import Array


class GeneralizedPareto(Continuous):
    """P(X > x) = (1 + shape z)^(-1 / shape),  z = (x - loc) / scale >= 0,  1 + shape z >= 0.

    loc    real      the threshold
    scale  positive
    shape  real      0 is the exponential law; the tail is a power for shape > 0 and ends for shape < 0

    A prior with this law needs a plain number as shape, because the support depends on its sign.

    Coles, An Introduction to Statistical Modeling of Extreme Values (2001), ch. 4.
    """

    loc: Real = 0.0
    scale: Positive = 1.0
    shape: Real = 0.0

    @property
    def support(self) -> Interval:
        upper = end_where(self.shape < 0, lambda: finite_end(self), math.inf)
        return Interval("interval", "in the support", self.loc, upper, True, True)

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return np.inf, np.where(self.shape > 0, 0.0, np.where(self.shape == 0, 1 / self.scale, np.inf))

    def logpdf(self, x: Array) -> Array:
        y = log1p_over((x - self.loc) / self.scale, self.shape)
        # At a finite upper end y is infinite; for shape = -1 the density there is 1 / scale.
        inside = -times_or_zero(1 + self.shape, y) - np.log(self.scale)
        return either(x < math.inf, lambda: inside, lambda: -math.inf)

    def logccdf(self, x: Array) -> Array:
        return -log1p_over((x - self.loc) / self.scale, self.shape)

    def quantile(self, p: Array) -> Array:
        return self.loc + self.scale * expm1_over(-np.log1p(-p), self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.loc + self.scale * expm1_over(-np.log(p), self.shape)

    def mean(self) -> Array:
        return np.where(self.shape < 1, self.loc + self.scale / (1 - self.shape), math.inf)

    def var(self) -> Array:
        k = self.shape
        return np.where(k < 0.5, (self.scale / (1 - k)) ** 2 / (1 - 2 * k), math.inf)

    def mode(self) -> Array:
        # The density falls for shape > -1 and rises to the upper end below.
        return np.where(self.shape < -1, self.loc - self.scale / self.shape, self.loc)

    def skewness(self) -> Array:
        k = self.shape
        finite = 2 * (1 + k) * np.sqrt(1 - 2 * k) / (1 - 3 * k)
        return np.where(3 * k < 1, finite, np.where(2 * k < 1, math.inf, math.nan))

    def kurtosis(self) -> Array:
        k = self.shape
        finite = 3 * (1 - 2 * k) * (2 * k * k + k + 3) / ((1 - 3 * k) * (1 - 4 * k)) - 3
        return np.where(4 * k < 1, finite, np.where(2 * k < 1, math.inf, math.nan))

    def entropy(self) -> Array:
        return np.log(self.scale) + self.shape + 1

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        wait, k = rng.standard_exponential(shape), self.shape
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if np.any(k == 0):
                return located(np.where(k == 0, wait, np.expm1(k * wait) / k), self.loc, self.scale)
            wait *= k
            np.expm1(wait, out=wait)
            wait /= k
            return located(wait, self.loc, self.scale)

    @classmethod
    def ends(cls, x: Array) -> dict[str, Any]:
        # For shape > -1, where the density falls; below there is no maximum.
        return {"loc": np.min(x)}

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        # An exponential law, under which every excess is possible.
        return {"scale": np.sum(w * x) - np.min(x), "shape": 0.0}
