"""Poisson-lognormal: counts whose rate is the exponential of a normal variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.ad.transforms import stop_gradient
from probdiff.distributions.base import Discrete
from probdiff.distributions.log_sums import log_smooth_integral, near_maximum
from probdiff.distributions.stable import HALF_LOG_2PI, deviance, stirling_error
from probdiff.distributions.support import Positive, Real, nonnegative_integers
from probdiff.special import log_gammainc, log_gammaincc
from probdiff.tree import Array


class PoissonLogNormal(Discrete):
    """P(k) = ∫ Poisson(k; exp(u)) Normal(u; loc, scale) du,  k = 0, 1, ….

    loc    real      mean of the log of the rate
    scale  positive  its standard deviation

    Bulmer, On fitting the Poisson lognormal distribution to species-abundance data, Biometrics 30 (1974).
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = nonnegative_integers
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        return log_smooth_integral(mass_height, mass_peak, x, self.loc, self.scale)

    def logcdf(self, x: Array) -> Array:
        return np.minimum(log_smooth_integral(lower_height, lower_peak, x, self.loc, self.scale), 0.0)

    def logccdf(self, x: Array) -> Array:
        return np.minimum(log_smooth_integral(upper_height, upper_peak, x, self.loc, self.scale), 0.0)

    def mean(self) -> Array:
        return np.exp(self.loc + 0.5 * self.scale**2)

    def var(self) -> Array:
        mean = self.mean()
        return mean + mean * mean * np.expm1(self.scale**2)

    def skewness(self) -> Array:
        mean, w = self.mean(), np.exp(self.scale**2)
        third = mean + 3 * mean**2 * (w - 1) + mean**3 * (w - 1) ** 2 * (w + 2)
        return third / self.var() ** 1.5

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        with np.errstate(over="ignore"):
            rate = np.exp(self.loc + self.scale * rng.standard_normal(shape))
        # Beyond 1e17 a Poisson variable is its mean to rounding, and NumPy refuses.
        return np.where(rate < 1e17, rng.poisson(np.minimum(rate, 1e17)), np.floor(rate))


def mass_height(v: Array, k: Array, loc: Array, scale: Array) -> Array:
    """The log-density of the rate's log, loc + scale z with v = stretch z, and the count."""
    rate, normal = _rate(v, loc, scale)
    some = np.where(k > 0, k, 1.0)
    saddle = -deviance(some, rate) - stirling_error(some) - 0.5 * np.log(some) - HALF_LOG_2PI
    return np.where(k > 0, saddle, -rate) + normal


def lower_height(v: Array, k: Array, loc: Array, scale: Array) -> Array:
    """The same of a count of at most k."""
    rate, normal = _rate(v, loc, scale)
    return log_gammaincc(k + 1, rate) + normal


def upper_height(v: Array, k: Array, loc: Array, scale: Array) -> Array:
    """The same of a count above k."""
    rate, normal = _rate(v, loc, scale)
    return log_gammainc(k + 1, rate) + normal


def _rate(v: Array, loc: Array, scale: Array) -> tuple[Array, Array]:
    """The rate, and the log-density of v."""
    stretch = _stretch(scale)
    z = v / stretch
    return np.exp(loc + scale * z), -0.5 * z * z - HALF_LOG_2PI - np.log(stretch)


def _stretch(scale: Array) -> Array:
    """The unit of v: neither z nor the log of the rate moves faster."""
    return stop_gradient(np.maximum(scale, 1.0))


def mass_peak(k: Any, loc: Any, scale: Any) -> Any:
    """Where scale (k - exp(loc + scale z)) = z."""
    from scipy.special import wrightomega

    z = k * scale - wrightomega(loc + k * scale * scale + 2 * np.log(scale)).real / scale
    return z * _stretch(scale)


def lower_peak(k: Any, loc: Any, scale: Any) -> Any:
    """Between loc and where the mass has its peak, if that is lower."""
    low = np.minimum(mass_peak(k, loc, scale), 0.0)
    return near_maximum(lambda v: lower_height(v, k, loc, scale), low, 0 * low)


def upper_peak(k: Any, loc: Any, scale: Any) -> Any:
    """Between loc and where the mass of the next number has its peak, if that is higher."""
    high = np.maximum(mass_peak(k + 1, loc, scale), 0.0)
    return near_maximum(lambda v: upper_height(v, k, loc, scale), 0 * high, high)
