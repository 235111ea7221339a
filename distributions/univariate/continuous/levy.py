"""Lévy: the time at which a Brownian motion first passes a level; it has no mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erf, erfc, erfinv, log_ndtr, ndtri

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2
from probdiff.distributions.support import Interval, Positive, Real
from probdiff.tree import Array

SQRT_2 = math.sqrt(2)


class Levy(Continuous):
    """p(x) = sqrt(scale / (2π y³)) exp(-scale / (2 y)),  y = x - loc > 0.

    loc    real      lower end
    scale  positive  three times the distance from there to the mode

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 12.
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    tail_rates = (np.inf, 0.0)

    @property
    def support(self) -> Interval:
        return Interval("interval", "above loc", self.loc)

    def logpdf(self, x: Array) -> Array:
        y = x - self.loc
        return 0.5 * (np.log(self.scale) - self.scale / y) - 1.5 * np.log(y) - HALF_LOG_2PI

    def cdf(self, x: Array) -> Array:
        return erfc(self._root(x) / SQRT_2)

    def ccdf(self, x: Array) -> Array:
        return erf(self._root(x) / SQRT_2)

    def logcdf(self, x: Array) -> Array:
        return log_erfc(self._root(x) / SQRT_2)

    def logccdf(self, x: Array) -> Array:
        return log_erf(self._root(x) / SQRT_2)

    def quantile(self, p: Array) -> Array:
        return self.loc + self.scale / ndtri(0.5 * p) ** 2

    def cquantile(self, p: Array) -> Array:
        return self.loc + self.scale / (SQRT_2 * erfinv(p)) ** 2

    def mean(self) -> Array:
        return math.inf

    def var(self) -> Array:
        return math.inf

    def mode(self) -> Array:
        return self.loc + self.scale / 3

    def skewness(self) -> Array:
        return math.nan

    def kurtosis(self) -> Array:
        return math.nan

    def entropy(self) -> Array:
        return np.log(self.scale) + 0.5 * (1 + 3 * np.euler_gamma + math.log(16 * math.pi))

    def cf(self, t: Array) -> Array:
        return np.exp(1j * t * self.loc - np.sqrt(-2j * self.scale * t))

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(
            lambda x: (1 / (x - self.loc),), (-0.5 * self.scale,), -0.5 * np.log(self.scale), held=("loc",)
        )

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        z = rng.standard_normal(shape)
        z *= z
        np.divide(self.scale, z, out=z)
        z += self.loc
        return z

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        # From a little below the least observation to the median, which is 2.2 scales away.
        order = np.argsort(x)
        middle = x[order][np.searchsorted(np.cumsum(w[order]), 0.5)]
        scale = (middle - np.min(x)) / 2
        return {"loc": np.min(x) - 0.1 * scale, "scale": scale}

    def _root(self, x: Array) -> Array:
        # Roots apart: scale / y may underflow.
        return np.sqrt(self.scale) / np.sqrt(x - self.loc)


def log_erf(s: Array) -> Array:
    """log erf(s), s >= 0, from whichever of erf and erfc is smaller; shared with Moyal, as is the next."""
    return np.where(s < 0.5, np.log(erf(s)), np.log1p(-erfc(s)))


def log_erfc(s: Array) -> Array:
    """log erfc(s), s >= 0."""
    return np.where(s < 0.5, np.log1p(-erf(s)), LOG_2 + log_ndtr(-SQRT_2 * s))
