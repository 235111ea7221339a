"""Log-series (logarithmic): how many species have k members (Fisher)."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.distributions.log_sums import log_integral
from probdiff.distributions.support import OpenUnit, positive_integers
from probdiff.special import log1mexp
from probdiff.tree import Array


class LogSeries(Discrete):
    """P(k) = p^k / (-k log(1 - p)),  k = 1, 2, ….

    p  in (0, 1)

    P(X > k) is the integral of t^k / (1 - t) from 0 to p over -log(1 - p). Johnson, Kemp & Kotz, Univariate Discrete
    Distributions, ch. 7.
    """

    p: OpenUnit

    support = positive_integers

    def logpdf(self, x: Array) -> Array:
        return x * np.log(self.p) - np.log(x) - self._log_total()

    def logccdf(self, x: Array) -> Array:
        return log_integral(tail_height, x + 1, self.p, knees=knees) + (x + 1) * np.log(self.p) - self._log_total()

    def logcdf(self, x: Array) -> Array:
        return log1mexp(self.logccdf(x))

    def mean(self) -> Array:
        return self.p / (1 - self.p) / np.exp(self._log_total())

    def var(self) -> Array:
        mean = self.mean()
        return mean * (1 / (1 - self.p) - mean)

    def mode(self) -> Array:
        return 1.0

    def mgf(self, t: Array) -> Array:
        raised = self.p * np.exp(t)
        return np.where(raised < 1, np.log1p(-np.where(raised < 1, raised, 0.0)) / np.log1p(-self.p), np.inf)

    def cf(self, t: Array) -> Array:
        return np.log1p(-self.p * np.exp(1j * t)) / np.log1p(-self.p)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.logseries(np.broadcast_to(self.p, shape))

    def _log_total(self) -> Array:
        return np.log(-np.log1p(-self.p))


def tail_height(u: Array, k: Array, p: Array) -> Array:
    """With t = p exp(-s), s = exp(u): the log of s exp(-k s) / (1 - p exp(-s))."""
    s = np.exp(u)
    return u - k * s - np.log1p(-p - p * np.expm1(-s))


def knees(k: Array, p: Array) -> tuple[Array, Array]:
    """Where p exp(-s) begins to differ from p."""
    return np.log1p(-p), 0 * p + 1
