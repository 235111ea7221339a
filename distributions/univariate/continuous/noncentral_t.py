"""Noncentral t: a normal variable with a mean over an independent estimate of its scale, the law of a t statistic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from probdiff.distributions.base import Continuous
from probdiff.distributions.log_sums import log_integral, near_maximum
from probdiff.distributions.raw_moments import kurtosis_of, skewness_of
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2, log_gamma_step
from probdiff.distributions.support import Positive, Real, real
from probdiff.ops.saddle import gamma_kernel
from probdiff.special import log1mexp
from probdiff.tree import Array


class NoncentralT(Continuous):
    """(Z + noncentrality) / S,  Z standard normal and df S² chi-squared, times scale plus loc.

    df             positive
    noncentrality  real
    loc            real
    scale          positive

    Density and tails are integrals over log S. Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2,
    ch. 31.
    """

    df: Positive
    noncentrality: Real = 0.0
    loc: Real = 0.0
    scale: Positive = 1.0

    support = real
    tail_rates = (0.0, 0.0)

    def logpdf(self, x: Array) -> Array:
        return self._log_density(x) - np.log(self.scale)

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def _log_density(self, x: Array) -> Array:
        return log_integral(density_height, 0.5 * self.df, self.noncentrality, self._z(x), peak=density_peak)

    def _z(self, x: Array) -> Array:
        return (x - self.loc) / self.scale

    def _tails(self, x: Array) -> tuple[Array, Array]:
        """Logs of both tails; that on whose side of the noncentrality t lies is integrated."""
        h, d, t = 0.5 * self.df, self.noncentrality, self._z(x)
        below = t < d
        sign = np.where(below, 1.0, -1.0)
        tail = log_integral(tail_height, h, sign * d, sign * t, peak=tail_peak, knees=knees)
        rest = log1mexp(tail)
        return np.where(below, tail, rest), np.where(below, rest, tail)

    def mean(self) -> Array:
        return np.where(self.df > 1, self.loc + self.scale * self._moment(1), math.nan)

    def var(self) -> Array:
        d, shift = self.noncentrality, (self.mean() - self.loc) / self.scale
        finite = (1 + d * d) / (1 - 2 / self.df) - shift * shift
        return np.where(self.df > 2, self.scale**2 * finite, np.where(self.df > 1, math.inf, math.nan))

    def skewness(self) -> Array:
        return skewness_of(*(self._moment(j) for j in (1, 2, 3)))

    def kurtosis(self) -> Array:
        return kurtosis_of(*(self._moment(j) for j in (1, 2, 3, 4)))

    def _moment(self, order: int) -> Array:
        """E[((x - loc) / scale)^order] = E[(Z + noncentrality)^order] E[S^-order]."""
        h, d = 0.5 * self.df, self.noncentrality
        normal = (d, d * d + 1, d * (d * d + 3), (d * d + 6) * d * d + 3)[order - 1]
        rest = np.maximum(h - 0.5 * order, 1e-300)
        inverse = np.exp(-log_gamma_step(rest, 0.5 * order + 0 * h) - 0.5 * order * np.log(rest / h))
        return np.where(self.df > order, normal * inverse, math.inf)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        spread = np.sqrt(rng.chisquare(self.df, shape) / self.df)
        return self.loc + self.scale * (rng.standard_normal(shape) + self.noncentrality) / spread


def log_spread(u: Array, h: Array) -> Array:
    """The log-density of u = log S, for 2 h degrees of freedom."""
    return gamma_kernel(h, h * np.exp(2 * u)) + LOG_2


def density_height(u: Array, h: Array, d: Array, t: Array) -> Array:
    """The log-density of (u, t)."""
    return log_spread(u, h) + u - 0.5 * (t * np.exp(u) - d) ** 2 - HALF_LOG_2PI


def density_peak(h: Array, d: Array, t: Array) -> Array:
    """u where (2 h + t²) s² - t d s = 2 h + 1, s = exp(u)."""
    b, n = 0.5 * t * d, 2 * h + t * t
    root = np.sqrt(b * b + n * (2 * h + 1))
    return np.log(np.where(b > 0, (b + root) / n, (2 * h + 1) / (root - b)))


def tail_height(u: Array, h: Array, d: Array, t: Array) -> Array:
    """The log of the density of u times P(T <= t | u)."""
    return log_spread(u, h) + log_ndtr(t * np.exp(u) - d)


def tail_peak(h: Array, d: Array, t: Array) -> Array:
    """The maximum is near 0, where S alone has it, that of the density, or between them."""
    other, spread = density_peak(h, d, t), 1 / np.sqrt(h)
    low, high = np.minimum(other, 0.0) - spread, np.maximum(other, 0.0) + spread
    return near_maximum(lambda u: tail_height(u, h, d, t), low, high)


def knees(h: Array, d: Array, t: Array) -> tuple[Array, Array]:
    """Where t S passes the noncentrality, and how slowly."""
    ahead = d * t > 0
    return np.log(np.where(ahead, d / t, 1 / abs(t))), 1 / np.where(ahead, np.maximum(abs(d), 1.0), 1.0)
