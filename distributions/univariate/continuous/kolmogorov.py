"""Kolmogorov: the largest distance between an empirical distribution function of many draws and the true one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Positive, positive
from probdiff.special import log1mexp
from probdiff.tree import Array

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
MIDDLE = 1.0  # both series have converged: the next term is below exp(-40) of the first
ODD = (3, 5, 7)
EVEN = (2, 3, 4, 5)


class Kolmogorov(Continuous):
    """P(X <= x) = sqrt(2π) / z Σ exp(-(2 k - 1)² π² / (8 z²)) = 1 - 2 Σ (-1)^(k - 1) exp(-2 k² z²),  z = x / scale.

    scale  positive  1 / sqrt(n) for the largest distance of the distribution function of n draws, asymptotically

    The first series, over k >= 1, is taken below z = 1, the second above. Marsaglia, Tsang & Wang, Evaluating
    Kolmogorov's distribution (2003).
    """

    scale: Positive = 1.0

    support = positive
    tail_rates = (np.inf, np.inf)

    def logpdf(self, x: Array) -> Array:
        z = x / self.scale
        return np.where(z < MIDDLE, _log_density_below(z), _log_density_above(z)) - np.log(self.scale)

    def logcdf(self, x: Array) -> Array:
        z = x / self.scale
        return np.where(z < MIDDLE, _log_below(z), log1mexp(_log_above(np.where(z < MIDDLE, MIDDLE, z))))

    def logccdf(self, x: Array) -> Array:
        z = x / self.scale
        return np.where(z < MIDDLE, log1mexp(_log_below(np.where(z < MIDDLE, z, MIDDLE))), _log_above(z))

    def mean(self) -> Array:
        return self.scale * math.sqrt(math.pi / 2) * math.log(2)

    def var(self) -> Array:
        return self.scale**2 * (math.pi**2 / 12 - math.pi / 2 * math.log(2) ** 2)


def _log_below(z: Array) -> Array:
    """The log of the first series; its first term is taken out, so that the rest cannot underflow with it."""
    w = math.pi**2 / 8 / z / z
    rest: Any = sum(np.exp(-(k * k - 1) * w) for k in ODD)
    return LOG_SQRT_2PI - np.log(z) - w + np.log1p(rest)


def _log_density_below(z: Array) -> Array:
    """The log of the derivative of the first series: its terms times ((2 k - 1)² π² / (4 z²) - 1) / z."""
    w = math.pi**2 / 8 / z / z
    rest: Any = sum(np.exp(-(k * k - 1) * w) * (2 * k * k * w - 1) for k in ODD)
    return LOG_SQRT_2PI - 2 * np.log(z) - w + np.log(2 * w - 1 + rest)


def _log_above(z: Array) -> Array:
    """The log of the second series."""
    rest: Any = sum((-1) ** (k - 1) * np.exp(-2 * (k * k - 1) * z * z) for k in EVEN)
    return math.log(2) - 2 * z * z + np.log1p(rest)


def _log_density_above(z: Array) -> Array:
    """The log of minus the derivative of the second series."""
    rest: Any = sum((-1) ** (k - 1) * k * k * np.exp(-2 * (k * k - 1) * z * z) for k in EVEN)
    return math.log(8) + np.log(z) - 2 * z * z + np.log1p(rest)
