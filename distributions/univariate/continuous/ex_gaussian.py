"""Ex-Gaussian: a normal variable plus an exponential one, response times and chromatographic peaks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr

from probdiff.distributions.base import Continuous
from probdiff.distributions.mills import FAR, erfcx_drop, falling_short, smooth_erfcx
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2
from probdiff.distributions.support import Positive, Real, real
from probdiff.tree import Array

SQRT_HALF = math.sqrt(0.5)


class ExGaussian(Continuous):
    """p(x) = rate exp(k (k / 2 - z)) Φ(z - k),  z = (x - loc) / scale,  k = rate scale.

    loc    real      mean of the normal part
    scale  positive  standard deviation of the normal part
    rate   positive  of the exponential part, whose mean is 1 / rate; or tau = 1 / rate

    Grushka, Characterization of exponentially modified Gaussian peaks in chromatography,
    Analytical Chemistry 44 (1972).
    """

    loc: Real = 0.0
    scale: Positive = 1.0
    rate: Positive = 1.0

    support = real

    @alternative
    def by_tau(tau: Positive) -> dict[str, Any]:
        return {"rate": 1 / tau}

    # Below z = k the exponential and Φ are huge and tiny: exp(k (k / 2 - z)) Φ(z - k) is
    # exp(-z² / 2) erfcx((k - z) / sqrt(2)) / 2, and the distribution function a difference of two erfcx.

    def logpdf(self, x: Array) -> Array:
        z, k = self._standard(x)
        t = SQRT_HALF * (k - z)
        near = np.log(self.rate) - LOG_2 + np.log(erfcx(t))
        # Far out rate and erfcx(t) nearly cancel; what is left is the normal density.
        far = np.log1p(-falling_short(t)) - np.log1p(-z / k) - np.log(self.scale) - HALF_LOG_2PI
        below = np.where(t < FAR, near, far) - 0.5 * z * z
        return np.where(z < k, below, np.log(self.rate) + self._log_lift(x) + log_ndtr(z - k))

    def cdf(self, x: Array) -> Array:
        return self._lower(x)[0]

    def ccdf(self, x: Array) -> Array:
        z, _ = self._standard(x)
        return np.where(z < 0, 1 - self._lower(x)[0], np.exp(self._log_upper(x)))

    def logcdf(self, x: Array) -> Array:
        z, _ = self._standard(x)
        p, drop = self._lower(x)
        above = np.where(p < 0.5, np.log(p), np.log1p(-np.exp(self._log_upper(x))))
        return np.where(z < 0, -0.5 * z * z - LOG_2 + np.log(drop), above)

    def logccdf(self, x: Array) -> Array:
        z, _ = self._standard(x)
        return np.where(z < 0, np.log1p(-self._lower(x)[0]), self._log_upper(x))

    def mean(self) -> Array:
        return self.loc + 1 / self.rate

    def var(self) -> Array:
        return self.scale**2 + self.rate**-2.0

    def skewness(self) -> Array:
        return 2 / (1 + (self.rate * self.scale) ** 2) ** 1.5

    def kurtosis(self) -> Array:
        return 6 / (1 + (self.rate * self.scale) ** 2) ** 2

    def mgf(self, t: Array) -> Array:
        finite = np.exp(t * self.loc + 0.5 * (t * self.scale) ** 2) / (1 - t / self.rate)
        return np.where(t < self.rate, finite, np.inf)

    def cf(self, t: Array) -> Array:
        return np.exp(1j * t * self.loc - 0.5 * (t * self.scale) ** 2) / (1 - 1j * t / self.rate)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.loc + self.scale * rng.standard_normal(shape) + rng.standard_exponential(shape) / self.rate

    def _standard(self, x: Array) -> tuple[Array, Array]:
        return (x - self.loc) / self.scale, self.rate * self.scale

    def _log_lift(self, x: Array) -> Array:
        """k (k / 2 - z), as a function of scale without terms that cancel."""
        return self.rate * (0.5 * self.rate * self.scale * self.scale - (x - self.loc))

    def _lower(self, x: Array) -> tuple[Array, Array]:
        """P(X <= x), and the drop of erfcx that it is exp(-z² / 2) / 2 times of, for z < 1."""
        z, k = self._standard(x)
        drop = erfcx_drop(SQRT_HALF * np.where(z < 1, -z, z - k), SQRT_HALF * k)
        share = 0.5 * np.exp(-0.5 * z * z) * drop
        above = np.where(z > k, share - np.expm1(self._log_lift(x)), 1 - np.exp(self._log_upper(x)))
        return np.where(z < 1, share, above), drop

    def _log_upper(self, x: Array) -> Array:
        """log P(X > x), for z >= 0."""
        z, k = self._standard(x)
        below = -0.5 * z * z - LOG_2 + np.log(smooth_erfcx(SQRT_HALF * z) + smooth_erfcx(SQRT_HALF * (k - z)))
        return np.where(z < k, below, np.logaddexp(log_ndtr(-z), self._log_lift(x) + log_ndtr(z - k)))
