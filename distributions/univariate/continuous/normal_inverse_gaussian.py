"""Normal-inverse Gaussian: a normal variable whose variance is inverse Gaussian, heavy-tailed and skewed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from probdiff.distributions.base import Continuous
from probdiff.distributions.bessel import log_k1e
from probdiff.distributions.log_sums import log_integral, smaller_first
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Positive, Real, real
from probdiff.tree import Array

LOG_PI = math.log(math.pi)


class NormalInverseGaussian(Continuous):
    """p(x) = alpha scale K_1(alpha r) / (π r) exp(scale γ + beta (x - loc)),  r² = scale² + (x - loc)².

    loc    real
    alpha  positive           steepness of the tails; γ² = alpha² - beta²
    beta   between ± alpha    skewness
    scale  positive           delta

    x is Normal(loc + beta V, sqrt(V)), V inverse Gaussian with mean scale / γ and shape scale². Barndorff-Nielsen,
    Normal inverse Gaussian distributions and stochastic volatility modelling (1997).
    """

    loc: Real
    alpha: Positive
    beta: Real = 0.0
    scale: Positive = 1.0

    support = real
    relation = "beta between -alpha and alpha"

    def related(self) -> Array:
        return abs(self.beta) < self.alpha

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        # Symmetric, with the variance scale / alpha of the data.
        spread = np.sqrt(np.sum(w * (x - np.sum(w * x)) ** 2))
        return {"alpha": 1 / spread, "beta": 0.0, "scale": spread}

    def _gamma(self) -> Array:
        return np.sqrt((self.alpha - self.beta) * (self.alpha + self.beta))

    def logpdf(self, x: Array) -> Array:
        a, b, s = self.alpha, self.beta, self.scale
        y = x - self.loc
        r = np.hypot(s, y)
        # gamma s + b y - a r <= 0 as the negative of a square over a positive sum, which does not cancel.
        gamma = self._gamma()
        exponent = -((gamma * y - b * s) ** 2) / (a * r + gamma * s + b * y)
        return np.log(a) + np.log(s) - np.log(r) - LOG_PI + log_k1e(a * r) + exponent

    def logcdf(self, x: Array) -> Array:
        return smaller_first(*self._tails(x))

    def logccdf(self, x: Array) -> Array:
        return smaller_first(*self._tails(x)[::-1])

    def _tails(self, x: Array) -> tuple[Array, Array]:
        gamma, b, s, y = self._gamma(), self.beta, self.scale, x - self.loc
        return (
            log_integral(tail_height, gamma, b, s, y, knees=knees),
            log_integral(tail_height, gamma, -b, s, -y, knees=knees),
        )

    def mean(self) -> Array:
        return self.loc + self.scale * self.beta / self._gamma()

    def var(self) -> Array:
        gamma = self._gamma()
        return self.scale * (self.alpha / gamma) ** 2 / gamma

    def skewness(self) -> Array:
        return 3 * self.beta / (self.alpha * np.sqrt(self.scale * self._gamma()))

    def kurtosis(self) -> Array:
        return 3 * (1 + 4 * (self.beta / self.alpha) ** 2) / (self.scale * self._gamma())

    def mgf(self, t: Array) -> Array:
        b = self.beta + t
        inside = np.exp(t * self.loc + self.scale * (self._gamma() - np.sqrt((self.alpha - b) * (self.alpha + b))))
        return np.where(abs(b) <= self.alpha, inside, np.inf)

    def cf(self, t: Array) -> Array:
        root = np.sqrt(self.alpha**2 - (self.beta + 1j * t) ** 2)
        return np.exp(1j * t * self.loc + self.scale * (self._gamma() - root))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        variance = rng.wald(self.scale / self._gamma(), self.scale**2, shape)
        return self.loc + self.beta * variance + np.sqrt(variance) * rng.standard_normal(shape)


def tail_height(u: Array, gamma: Array, b: Array, s: Array, y: Array) -> Array:
    """The log of the density of u = log V times P(X - loc <= y | V)."""
    root = np.exp(0.5 * u)
    density = np.log(s) - HALF_LOG_2PI - 0.5 * u - 0.5 * (s / root - gamma * root) ** 2
    return density + log_ndtr(y / root - b * root)


def knees(gamma: Array, b: Array, s: Array, y: Array) -> tuple[Array, Array]:
    """Where the conditional mean passes y, and how slowly."""
    ahead = b * y > 0
    steep = np.maximum(np.sqrt(np.where(ahead, b * y, 1.0)), 1.0)
    return np.where(ahead, np.log(y / b), 2 * np.log(abs(y))), 1 / steep
