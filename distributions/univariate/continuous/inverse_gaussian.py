"""Inverse Gaussian (Wald): the time at which a Brownian motion with drift first passes a level."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.mills import erfcx_drop, smooth_erfcx
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2
from probdiff.distributions.support import Positive, positive
from probdiff.tree import Array

SQRT_HALF = math.sqrt(0.5)


class InverseGaussian(Continuous):
    """p(x) = sqrt(shape / (2π x³)) exp(-shape (x - loc)² / (2 loc² x)),  x > 0.

    loc    positive  mean
    shape  positive  the variance is loc³ / shape; or mean and sd in place of both

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 15.
    """

    loc: Positive
    shape: Positive = 1.0

    support = positive

    @alternative
    def by_moments(mean: Positive, sd: Positive) -> dict[str, Any]:
        return {"loc": mean, "shape": mean * (mean / sd) ** 2}

    def logpdf(self, x: Array) -> Array:
        u = x / self.loc - 1
        return 0.5 * (np.log(self.shape) - self.shape / x * u * u) - 1.5 * np.log(x) - HALF_LOG_2PI

    # With a, b = sqrt(shape / (2 x)) (x / loc -+ 1), which differ by sqrt(2 shape / x), the textbook's
    # exp(2 shape / loc) erfc(b) is exp(-a²) erfcx(b): nothing overflows, and the tails are sums of positive terms.

    def logcdf(self, x: Array) -> Array:
        a, b, _ = self._ends(x)
        below = -a * a - LOG_2 + np.log(smooth_erfcx(-a) + smooth_erfcx(b))
        return np.where(a < 0, below, np.log1p(-self._upper(x)))

    def logccdf(self, x: Array) -> Array:
        a, b, width = self._ends(x)
        above = -a * a - LOG_2 + np.log(erfcx_drop(a, width))
        lower = 0.5 * np.exp(-a * a) * (smooth_erfcx(-a) + smooth_erfcx(b))
        return np.where(a > -1, above, np.log1p(-lower))

    def _upper(self, x: Array) -> Array:
        a, _, width = self._ends(x)
        return 0.5 * np.exp(-a * a) * erfcx_drop(a, width)

    def _ends(self, x: Array) -> tuple[Array, Array, Array]:
        root = SQRT_HALF * np.sqrt(self.shape) / np.sqrt(x)
        z = x / self.loc
        return root * (z - 1), root * (z + 1), 2 * root

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return self.loc * self.loc * (self.loc / self.shape)

    def mode(self) -> Array:
        r = 1.5 * self.loc / self.shape
        return self.loc / (np.sqrt(1 + r * r) + r)

    def skewness(self) -> Array:
        return 3 * np.sqrt(self.loc / self.shape)

    def kurtosis(self) -> Array:
        return 15 * self.loc / self.shape

    def mgf(self, t: Array) -> Array:
        ratio = self.shape / self.loc
        inside = 1 - 2 * self.loc * t / ratio
        return np.where(inside >= 0, np.exp(ratio * (1 - np.sqrt(inside))), np.inf)

    def cf(self, t: Array) -> Array:
        ratio = self.shape / self.loc
        return np.exp(ratio * (1 - np.sqrt(1 - 2j * self.loc * t / ratio)))

    def exponential_form(self) -> ExponentialForm:
        c = self.shape
        return ExponentialForm(
            lambda x: (x, 1 / x), (-0.5 * c / self.loc**2, -0.5 * c), -c / self.loc - 0.5 * np.log(c)
        )

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # Michael, Schucany & Haas (1976): one of the two roots x and loc² / x of the square that is chi-squared.
        w = 0.5 * self.loc / self.shape * rng.standard_normal(shape) ** 2
        share = 1 / (1 + w + np.sqrt(w * (2 + w)))
        return self.loc * np.where(rng.random(shape) * (1 + share) <= 1, share, 1 / share)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        loc = np.sum(w * x)
        return cls(loc, 1 / np.sum(w * (x - loc) ** 2 / (loc * loc * x)))
