"""Studentized range: the range of normal variables over an independent estimate of their scale (Tukey's test)."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from scipy.special import log_ndtr, ndtri, ndtri_exp

from probdiff.distributions.base import Continuous
from probdiff.distributions.log_sums import log_integral, log_smooth_integral, near_maximum
from probdiff.distributions.powers import exp_excess
from probdiff.distributions.raw_moments import kurtosis_of, skewness_of, variance_of
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2, log_gamma_step, stirling_error
from probdiff.distributions.support import Interval, PositiveOrInfinite, nonnegative
from probdiff.special import log1mexp
from probdiff.tree import Array

SHARP = 1e15  # degrees of freedom beyond which S is 1 to rounding
NARROW = 0.35  # half ranges below take a quadrature of the normal density, exact to rounding
NODES, WEIGHTS = (v[4:].tolist() for v in np.polynomial.legendre.leggauss(8))


class StudentizedRange(Continuous):
    """(max Z_i - min Z_i) / S,  Z_1 … Z_k standard normal,  df S² chi-squared with df degrees of freedom.

    groups  greater than 1        k; need not be whole
    df      positive or infinite  infinite: the range of k normal variables

    P(X <= x) = ∫ f(s) k ∫ φ(z) [Φ(z) - Φ(z - x s)]^(k - 1) dz ds, f the density of S, and the upper tail and the
    density likewise, as integrals of positive terms. Copenhaver & Holland, Computation of the distribution of the
    maximum studentized range statistic, J. Stat. Comput. Simul. 30 (1988).
    """

    groups: Annotated[Any, Interval("above_one", "greater than 1", 1.0)]
    df: PositiveOrInfinite

    support = nonnegative
    costly = True

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return np.inf, np.where(self.df == np.inf, np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        k, tiny = self.groups, 1e-30
        inside = log_integral(density_height, k, self._half(), np.maximum(x, tiny), peak=density_peak)
        return np.where((x > 0) | (k == 2), inside, math.inf * (2 - k))

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def _tails(self, x: Array) -> tuple[Array, Array]:
        """Logs of both tails; the smaller one is integrated, as far as the range of typical variables tells."""
        k = self.groups
        below = x < 2 * ndtri((k - 0.375) / (k + 0.25))
        tail = log_integral(tail_height, k, self._half(), x, below + 0 * x, peak=tail_peak)
        rest = log1mexp(tail)
        return np.where(below, tail, rest), np.where(below, rest, tail)

    def mean(self) -> Array:
        return self._moment(1)

    def var(self) -> Array:
        return variance_of(self._moment(1), self._moment(2))

    def skewness(self) -> Array:
        return skewness_of(*(self._moment(j) for j in (1, 2, 3)))

    def kurtosis(self) -> Array:
        return kurtosis_of(*(self._moment(j) for j in (1, 2, 3, 4)))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # The largest of k, and the smallest of the k - 1 others, which are less.
        log_top = -rng.standard_exponential(shape) / self.groups
        log_bottom = log_top + log1mexp(-rng.standard_exponential(shape) / (self.groups - 1))
        df = np.minimum(self.df, SHARP)
        return (ndtri_exp(log_top) - ndtri_exp(log_bottom)) / np.sqrt(rng.chisquare(df, shape) / df)

    def _half(self) -> Array:
        return 0.5 * np.minimum(self.df, SHARP)

    def _moment(self, j: int) -> Array:
        """E[X^j] = E[S^-j] E[W^j], W the range of normal variables."""
        h = self._half()
        rest = np.maximum(h - 0.5 * j, 1e-300)
        log_inverse = -log_gamma_step(rest, 0.5 * j + 0 * h) - 0.5 * j * np.log(rest / h)
        log_range = log_smooth_integral(moment_height, moment_peak, self.groups, float(j) + 0 * h)
        return np.where(2 * h > j, np.exp(log_inverse + log_range), math.inf)


# Over u = log S. Each has the range of normal variables, w = x S, within.


def log_spread(u: Array, h: Array) -> Array:
    """The log-density of u = log S, for 2 h degrees of freedom."""
    return 0.5 * np.log(h) - stirling_error(h) - HALF_LOG_2PI + LOG_2 - h * exp_excess(2 * u)


def density_height(u: Array, k: Array, h: Array, x: Array) -> Array:
    return log_spread(u, h) + u + log_range_density(k, x * np.exp(u))


def tail_height(u: Array, k: Array, h: Array, x: Array, below: Array) -> Array:
    return log_spread(u, h) + log_smooth_integral(range_tail, range_tail_peak, k, x * np.exp(u), below)


def between(at: Any, k: Any, h: Any, x: Any) -> Any:
    """The maximum over u: S alone has it at 0, the range draws S² to 1 + k / (2 h) or, far out, 4 h / (4 h + x²)."""
    spread = 1 / np.sqrt(h)
    return near_maximum(at, -0.5 * np.log1p(0.25 * x * x / h) - spread, 0.5 * np.log1p(k / h) + spread)


def density_peak(k: Any, h: Any, x: Any) -> Any:
    return between(lambda u: density_height(u, k, h, x), k, h, x)


def tail_peak(k: Any, h: Any, x: Any, below: Any) -> Any:
    return between(lambda u: tail_height(u, k, h, x, below), k, h, x)


# The range W of normal variables, over the largest of them, z, or the middle of the two extremes, z - w / 2.


def log_range_density(k: Array, w: Array) -> Array:
    return log_smooth_integral(range_density, range_density_peak, k, w)


def range_density(t: Array, k: Array, w: Array) -> Array:
    h = 0.5 * w
    return np.log(k * (k - 1)) - t * t - h * h - 2 * HALF_LOG_2PI + (k - 2) * log_strip(t, h)


def range_density_peak(k: Any, w: Any) -> Any:
    return 0.0 * w


def range_tail(z: Array, k: Array, w: Array, below: Array) -> Array:
    """All the others are within w of the largest, z; or they are not, but all below it."""
    h, log_below = 0.5 * w, log_ndtr(z)
    log_strip_below = log_strip(z - h, h)
    log_share = log_ndtr(z - w) - log_below
    log_within = np.where(log_share < -0.7, np.log1p(-np.exp(log_share)), log_strip_below - log_below)
    log_without = np.where(log_share < -40, np.log(k - 1) + log_share, log1mexp((k - 1) * log_within))
    some = (k - 1) * np.where(below > 0, log_strip_below, log_below) + np.where(below > 0, 0.0, log_without)
    return np.log(k) - 0.5 * z * z - HALF_LOG_2PI + some


def range_tail_peak(k: Any, w: Any, below: Any) -> Any:
    low = np.where(below > 0, 0.0, np.maximum(0.5 * w - 2, -1.0))
    high = np.where(below > 0, 0.5 * np.minimum(w, 15.0), np.maximum(0.5 * w + 1, 8.0))
    return near_maximum(lambda z: range_tail(z, k, w, below), low, high)


def log_strip(t: Array, h: Array) -> Array:
    """log [Φ(t + h) - Φ(t - h)], h > 0."""
    a = abs(t)
    far = log_ndtr(h - a) + np.log1p(-np.exp(log_ndtr(-a - h) - log_ndtr(h - a)))
    near_h = np.where(h < NARROW, h, NARROW)
    curve = sum(
        w * np.exp(-0.5 * (x * near_h) ** 2) * np.cosh(x * near_h * t) for x, w in zip(NODES, WEIGHTS, strict=True)
    )
    near = np.log(2 * near_h) - 0.5 * t * t - HALF_LOG_2PI + np.log(curve)
    return np.where(h < NARROW, near, far)


def moment_height(y: Array, k: Array, j: Array) -> Array:
    """The log of w^j times the density of y = 2 log w, which ends like exp(-exp(y))."""
    return 0.5 * (j + 1) * y - LOG_2 + log_range_density(k, np.exp(0.5 * y))


def moment_peak(k: Any, j: Any) -> Any:
    return near_maximum(lambda y: moment_height(y, k, j), -6.0 + 0.0 * k, 6.0 + 0.0 * k)
