"""Skew Cauchy: a Cauchy density with a scale of its own on either side."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import log1p_square
from probdiff.distributions.support import Interval, Positive, Real, real
from probdiff.tree import Array


class SkewCauchy(Continuous):
    """p(x) = 1 / (π scale (1 + (z / side)²)),  side = 1 + sign(z) skew,  z = (x - loc) / scale.

    loc    real         mode
    scale  positive
    skew   in (-1, 1)   P(X > loc) = (1 + skew) / 2

    Mean and variance do not exist. Arnold & Beaver, The skew-Cauchy distribution, Statistics & Probability Letters 49
    (2000), is another; this is that of Theodossiou's skewed t (Management Science 44, 1998) at one degree of freedom.
    """

    loc: Real = 0.0
    scale: Positive = 1.0
    skew: Annotated[Any, Interval("symmetric_unit", "in (-1, 1)", -1.0, 1.0)] = 0.0

    support = real
    tail_rates = (0.0, 0.0)

    def logpdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        return -log1p_square(z / np.where(z < 0, 1 - self.skew, 1 + self.skew)) - np.log(math.pi * self.scale)

    def cdf(self, x: Array) -> Array:
        return beyond((self.loc - x) / self.scale, 1 - self.skew, 1 + self.skew)

    def ccdf(self, x: Array) -> Array:
        return beyond((x - self.loc) / self.scale, 1 + self.skew, 1 - self.skew)

    def quantile(self, p: Array) -> Array:
        return self.loc - self.scale * distance(p, 1 - self.skew, 1 + self.skew)

    def cquantile(self, p: Array) -> Array:
        return self.loc + self.scale * distance(p, 1 + self.skew, 1 - self.skew)

    def kinks(self) -> tuple[Array, ...]:
        return (self.loc,)

    def mean(self) -> Array:
        return math.nan

    def var(self) -> Array:
        return math.nan

    def skewness(self) -> Array:
        return math.nan

    def kurtosis(self) -> Array:
        return math.nan

    def mode(self) -> Array:
        return self.loc

    def entropy(self) -> Array:
        return np.log(4 * math.pi * self.scale)


def beyond(t: Array, side: Array, other: Array) -> Array:
    """The probability beyond t on the side of that scale, half of which it has at t = 0."""
    far = side * np.arctan2(side, np.maximum(t, 0.0))
    near = side * (0.5 * math.pi) + other * np.arctan(np.maximum(-t, 0.0) / other)
    return np.where(t > 0, far, near) / math.pi


def distance(p: Array, side: Array, other: Array) -> Array:
    """The inverse of `beyond`."""
    # p = side / π arctan(side / t) beyond, and the tangent is taken of the smaller angle.
    far = side / np.tan(math.pi * np.minimum(p, 0.5 * side) / side)
    near = other * np.tan(math.pi * (np.maximum(p, 0.5 * side) - 0.5 * side) / other)
    return np.where(p < 0.5 * side, far, -near)
