"""Irwin-Hall and Bates: the sum, and the mean, of uniform variables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.between import Between
from probdiff.distributions.counted import log_above, log_below, log_density
from probdiff.distributions.support import Interval, PositiveInteger, Real, interval
from probdiff.tree import Array

Numbers = np.ndarray[Any, Any]


class IrwinHall(Continuous):
    """The sum of n uniform variables on (0, 1): p(x) = Σ_k (-1)^k C(n, k) (x - k)^(n - 1) / (n - 1)! over k < x.

    n  positive integer

    The density is a B-spline, and comes from its recursion of positive terms in about n x steps. Johnson, Kotz &
    Balakrishnan, Continuous Univariate Distributions 2, ch. 26; de Boor, A Practical Guide to Splines, ch. X.
    """

    n: PositiveInteger

    @property
    def support(self) -> Interval:
        return interval(0.0, 1.0 * self.n)

    def logpdf(self, x: Array) -> Array:
        return _log_density(self.n, x)

    def logcdf(self, x: Array) -> Array:
        return log_below(uniform_sum, self.n, x)

    def logccdf(self, x: Array) -> Array:
        return log_above(uniform_sum, self.n, x)

    def mean(self) -> Array:
        return 0.5 * self.n

    def var(self) -> Array:
        return self.n / 12

    def skewness(self) -> Array:
        return 0.0 * self.n

    def kurtosis(self) -> Array:
        return -1.2 / self.n

    def mode(self) -> Array:
        return 0.5 * self.n

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return _drawn(self.n, shape, rng)


class Bates(Between):
    """The mean of n uniform variables on (low, high).

    n     positive integer
    low   real
    high  real  greater than low

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 26.
    """

    n: PositiveInteger
    low: Real = 0.0
    high: Real = 1.0

    def logpdf(self, x: Array) -> Array:
        return _log_density(self.n, self._sum(x)) + np.log(self.n / (self.high - self.low))

    def logcdf(self, x: Array) -> Array:
        return log_below(uniform_sum, self.n, self._sum(x))

    def logccdf(self, x: Array) -> Array:
        return log_above(uniform_sum, self.n, self._sum(x))

    def mean(self) -> Array:
        return 0.5 * (self.low + self.high)

    def var(self) -> Array:
        return (self.high - self.low) ** 2 / (12 * self.n)

    def skewness(self) -> Array:
        return 0.0 * self.n

    def kurtosis(self) -> Array:
        return -1.2 / self.n

    def mode(self) -> Array:
        return 0.5 * (self.low + self.high)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.low + (self.high - self.low) * _drawn(self.n, shape, rng) / self.n

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        low, high = np.min(x), np.max(x)
        return {"low": 2 * low - high, "high": 2 * high - low}

    def _sum(self, x: Array) -> Array:
        return self.n * ((x - self.low) / (self.high - self.low))


def _log_density(n: Array, x: Array) -> Array:
    at_ends = np.where(n == 1, 0.0, -math.inf)
    return np.where((x > 0) & (x < n), log_density(uniform_sum, n, x), at_ends)


def _drawn(n: Any, shape: tuple[int, ...], rng: np.random.Generator) -> Numbers:
    total = np.zeros(shape)
    for i in range(int(np.max(n))):
        total += np.where(i < n, rng.random(shape), 0.0)
    return total


def uniform_sum(n: Numbers, x: Numbers, order: int) -> tuple[Numbers, Numbers, Numbers]:
    """The smaller tail of the sum, for `counted`."""
    upper = x > 0.5 * n
    t = np.clip(np.where(upper, n - x, x), 1e-300, None)
    log_tail, ratios = np.empty(n.shape), np.empty((order + 1, *n.shape))
    for count in np.unique(n).tolist():
        here = n == count
        log_tail[here], ratios[:, here] = _spline(int(count), t[here], order)
    signs = -((-1.0) ** np.arange(order + 1.0))[:, None]
    return upper, log_tail, np.where(upper, signs, 1.0) * ratios


def _spline(n: int, t: Numbers, order: int) -> tuple[Numbers, Numbers]:
    """log P(X <= t), and its derivatives over it, from the densities f_m of m variables at t, t - 1, …:
    m f_(m + 1)(y) = y f_m(y) + (m + 1 - y) f_m(y - 1), and the distribution function is the sum of f_(n + 1).
    """
    y = t - np.arange(np.max(np.floor(t)) + 2)[:, None]
    f = np.where((y >= 0) & (y < 1), 1.0, 0.0)
    log_scale = np.zeros(t.shape)
    kept = [(f, log_scale)]
    for m in range(1, n + 1):
        below = np.concatenate([f[1:], np.zeros((1, t.size))])
        f = np.where(y > 0, y * f + (m + 1 - y) * below, 0.0) / m
        top = np.max(f, axis=0)
        f, log_scale = f / top, log_scale + np.log(top)
        kept = [*kept[-order:], (f, log_scale)]
    total = np.sum(f, axis=0)
    ratios = [np.ones(t.shape)]
    for k in range(1, order + 1):
        if k > n:
            ratios.append(np.zeros(t.shape))
            continue
        g, scale = kept[-1 - k]
        differences = sum((-1) ** i * math.comb(k - 1, i) * (g[i] if i < len(g) else 0.0) for i in range(k))
        ratios.append(differences / total * np.exp(scale - log_scale))
    return log_scale + np.log(total), np.array(ratios)
