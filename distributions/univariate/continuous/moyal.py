"""Moyal: minus the logarithm of a squared normal variable, near the energy loss of fast particles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import erf, erfc, erfinv, gammaln, loggamma, ndtri

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2
from probdiff.distributions.support import Positive, Real, real
from probdiff.distributions.univariate.continuous.gumbel import APERY
from probdiff.distributions.univariate.continuous.levy import SQRT_2, log_erf, log_erfc
from probdiff.tree import Array


class Moyal(Continuous):
    """p(x) = exp(-(z + exp(-z)) / 2) / (sqrt(2π) scale),  z = (x - loc) / scale.

    loc    real      mode
    scale  positive  standard deviation is π scale / sqrt(2)

    Moyal, Theory of ionization fluctuations, Philosophical Magazine 46 (1955).
    """

    loc: Real = 0.0
    scale: Positive = 1.0

    support = real

    def logpdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        return -0.5 * (z + np.exp(-z)) - np.log(self.scale) - HALF_LOG_2PI

    # P(X > x) = P(|N| < exp(-z / 2)), with N standard normal.

    def cdf(self, x: Array) -> Array:
        return erfc(np.exp(-0.5 * (x - self.loc) / self.scale) / SQRT_2)

    def ccdf(self, x: Array) -> Array:
        return erf(np.exp(-0.5 * (x - self.loc) / self.scale) / SQRT_2)

    def logcdf(self, x: Array) -> Array:
        return log_erfc(np.exp(-0.5 * (x - self.loc) / self.scale) / SQRT_2)

    def logccdf(self, x: Array) -> Array:
        half = 0.5 * (x - self.loc) / self.scale
        return np.where(half > 40, LOG_2 - HALF_LOG_2PI - half, log_erf(np.exp(-half) / SQRT_2))

    def quantile(self, p: Array) -> Array:
        return self.loc - 2 * self.scale * np.log(-ndtri(0.5 * p))

    def cquantile(self, p: Array) -> Array:
        return self.loc - 2 * self.scale * np.log(SQRT_2 * erfinv(p))

    def mean(self) -> Array:
        return self.loc + self.scale * (np.euler_gamma + LOG_2)

    def var(self) -> Array:
        return 0.5 * (math.pi * self.scale) ** 2

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return 28 * SQRT_2 * APERY / math.pi**3

    def kurtosis(self) -> Array:
        return 4.0

    def entropy(self) -> Array:
        return np.log(self.scale) + HALF_LOG_2PI + 0.5 * (1 + np.euler_gamma + LOG_2)

    def mgf(self, t: Array) -> Array:
        s = t * self.scale
        inside = np.exp(t * self.loc - s * math.log(2) + gammaln(0.5 - s)) / math.sqrt(math.pi)
        return np.where(s < 0.5, inside, np.inf)

    def cf(self, t: Array) -> Array:
        s = 1j * t * self.scale
        return np.exp(1j * t * self.loc - s * math.log(2) + loggamma(0.5 - s)) / math.sqrt(math.pi)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.loc - 2 * self.scale * np.log(abs(rng.standard_normal(shape)))
