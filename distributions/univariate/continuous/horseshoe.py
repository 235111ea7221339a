"""Horseshoe: a normal law whose scale is half-Cauchy, which shrinks noise and leaves signals alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from probdiff.distributions.base import Continuous
from probdiff.distributions.log_sums import log_integral
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Positive, real
from probdiff.special import log1mexp
from probdiff.tree import Array

LOG_CONSTANT = -0.5 * math.log(2 * math.pi**3)


class Horseshoe(Continuous):
    """scale λ Z,  λ half-Cauchy,  Z standard normal: p(x) = exp(s) E1(s) / (sqrt(2 π³) scale),  s = (x / scale)² / 2.

    scale  positive

    The density has a pole at 0, and tails like 1 / x², so that there is no mean. Carvalho, Polson & Scott, The
    horseshoe estimator for sparse signals, Biometrika 97 (2010).
    """

    scale: Positive = 1.0

    support = real
    costly = True
    tail_rates = (0.0, 0.0)

    def logpdf(self, x: Array) -> Array:
        z = x / self.scale
        s = 0.5 * z * z
        inside: Array = np.where(s < 1, log_near(s), log_integral(far_height, np.maximum(s, 1.0)))
        return inside + LOG_CONSTANT - np.log(self.scale)

    def logcdf(self, x: Array) -> Array:
        return np.where(x < 0, self._beyond(x), log1mexp(self._beyond(x)))

    def logccdf(self, x: Array) -> Array:
        return np.where(x > 0, self._beyond(x), log1mexp(self._beyond(x)))

    def kinks(self) -> tuple[Array, ...]:
        return (0.0 * self.scale,)

    def mean(self) -> Array:
        return math.nan

    def var(self) -> Array:
        return math.nan

    def skewness(self) -> Array:
        return math.nan

    def kurtosis(self) -> Array:
        return math.nan

    def mode(self) -> Array:
        return 0.0 * self.scale

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale * rng.standard_normal(shape) * rng.standard_cauchy(shape)

    def _beyond(self, x: Array) -> Array:
        """The log of the tail on the side of x."""
        z = np.maximum(abs(x) / self.scale, 1e-300)
        return log_integral(tail_height, np.log(z), knees=bend)


def log_near(s: Array) -> Array:
    """log of exp(s) E1(s) for s < 1, by its series (DLMF 6.6.2)."""
    t = np.minimum(s, 1.0)
    series: Array = 0.0
    for k in range(20, 0, -1):
        series = (-1) ** (k + 1) / (k * math.factorial(k)) + t * series
    return t + np.log(t * series - np.euler_gamma - np.log(t))


def far_height(u: Array, s: Array) -> Array:
    """exp(s) E1(s) = ∫ exp(-s t) / (1 + t) dt over t = exp(u)."""
    return u - s * np.exp(u) - np.log1p(np.exp(u))


def tail_height(u: Array, log_z: Array) -> Array:
    """P(Z > z / λ) times the density of u = log λ."""
    return log_ndtr(-np.exp(log_z - u)) + (LOG_2 - math.log(math.pi)) - np.logaddexp(u, -u)


def bend(log_z: Any) -> tuple[Any, Any]:
    return log_z, 0.3 + 0 * log_z
