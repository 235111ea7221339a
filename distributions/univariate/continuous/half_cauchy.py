"""Half-Cauchy: the size of a Cauchy variable around zero, a wide prior for scales."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import log1p_square
from probdiff.distributions.support import Positive, nonnegative
from probdiff.tree import Array

HALF_PI = 0.5 * math.pi


class HalfCauchy(Continuous):
    """p(x) = 2 / (π scale (1 + z²)),  z = x / scale >= 0.

    scale  positive  median

    Gelman, Prior distributions for variance parameters in hierarchical models, Bayesian Analysis 1 (2006).
    """

    scale: Positive = 1.0

    support = nonnegative
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        return -log1p_square(x / self.scale) - np.log(self.scale) - math.log(HALF_PI)

    def cdf(self, x: Array) -> Array:
        return np.arctan(x / self.scale) / HALF_PI

    def ccdf(self, x: Array) -> Array:
        return np.arctan2(1.0, x / self.scale) / HALF_PI

    def quantile(self, p: Array) -> Array:
        return self.scale * np.where(p < 0.5, np.tan(HALF_PI * p), 1 / np.tan(HALF_PI * (1 - p)))

    def cquantile(self, p: Array) -> Array:
        return self.scale * np.where(p < 0.5, 1 / np.tan(HALF_PI * p), np.tan(HALF_PI * (1 - p)))

    def mean(self) -> Array:
        return math.inf

    def var(self) -> Array:
        return math.inf

    def mode(self) -> Array:
        return 0.0

    def entropy(self) -> Array:
        return np.log(self.scale) + math.log(2 * math.pi)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale * np.tan(HALF_PI * rng.random(shape))
