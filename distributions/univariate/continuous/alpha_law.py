"""Alpha: the reciprocal of a normal variable cut off at zero, of tool lives."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from probdiff.distributions.base import Continuous
from probdiff.distributions.log_sums import NODES, WEIGHTS
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Positive, positive
from probdiff.special import log1mexp
from probdiff.tree import Array


class Alpha(Continuous):
    """p(x) = exp(-(shape - 1 / z)² / 2) / (z² Φ(shape) sqrt(2π) scale),  z = x / scale.

    shape  positive
    scale  positive

    P(X <= x) = Φ(shape - 1 / z) / Φ(shape); neither mean nor variance is finite. Johnson, Kotz & Balakrishnan,
    Continuous Univariate Distributions 1; documentation of SciPy, alpha.
    """

    shape: Positive
    scale: Positive = 1.0

    support = positive
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        t = self.scale / x
        rest = log_ndtr(self.shape) + HALF_LOG_2PI + np.log(self.scale)
        return -0.5 * (self.shape - t) ** 2 + 2 * np.log(t) - rest

    def logcdf(self, x: Array) -> Array:
        return log_ndtr(self.shape - self.scale / x) - log_ndtr(self.shape)

    def logccdf(self, x: Array) -> Array:
        # The normal variable is between 0 and t, a small interval far out.
        t = self.scale / x
        far = np.log(t) + log_mean_density(self.shape, np.minimum(t, 0.5)) - log_ndtr(self.shape)
        return np.where(t < 0.5, far, log1mexp(np.where(t < 0.5, -1.0, self.logcdf(x))))

    def guess(self, lower: Array, lp: Array) -> Array:
        shift = log_ndtr(self.shape)
        below = np.where(lower, lp, np.log(-np.expm1(np.where(lower, -1.0, lp))))
        t = self.shape - ndtri_exp(below + shift)
        far = np.exp(lp + shift + 0.5 * self.shape**2 + HALF_LOG_2PI)
        return self.scale / np.where(~lower & (far < 1e-3), far, t)

    def mean(self) -> Array:
        return np.inf

    def var(self) -> Array:
        return np.inf

    def mode(self) -> Array:
        # 1 / z solves t² - shape t - 2 = 0.
        return self.scale * 2 / (self.shape + np.sqrt(self.shape**2 + 8))


def log_mean_density(a: Array, t: Array) -> Array:
    """log of the mean of the normal density between a - t and a, for t <= 1/2, by Gauss's rule."""
    total = 0.0
    for node, weight in zip(NODES, WEIGHTS, strict=True):
        s = 0.5 * t * (1 + node)
        total = total + 0.5 * weight * np.exp(a * s - 0.5 * s * s)
    return np.log(total) - 0.5 * a * a - HALF_LOG_2PI
