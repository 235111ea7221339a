"""Generalised normal, or exponential power: between Laplace, normal and uniform by its power."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammainccinv, gammaincinv, gammaln

from probdiff.distributions.base import Continuous
from probdiff.distributions.gamma_powers import log_upper_gamma
from probdiff.distributions.generating import stretched_rate
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Positive, Real, real
from probdiff.distributions.univariate.continuous.gamma import log_standard_gamma
from probdiff.tree import Array


class GeneralizedNormal(Continuous):
    """p(x) = exp(-|z|^shape) / (2 scale Γ(1 + 1 / shape)),  z = (x - loc) / scale.

    loc    real      mean, median and mode
    scale  positive
    shape  positive  1 is Laplace, 2 is Normal(loc, scale / sqrt(2)), the limit of large shapes uniform

    Nadarajah, A generalized normal distribution, Journal of Applied Statistics 32 (2005).
    """

    loc: Real = 0.0
    scale: Positive = 1.0
    shape: Positive = 2.0

    support = real

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        rate = stretched_rate(self.shape, self.scale)
        return rate, rate

    def logpdf(self, x: Array) -> Array:
        z = abs(x - self.loc) / self.scale
        # A cusp, for shape < 1, has no slope at its top.
        power = np.where(z == 0, 0.0, z**self.shape)
        return -power - np.log(self.scale) - gammaln(1 + 1 / self.shape) - LOG_2

    def logcdf(self, x: Array) -> Array:
        return self._log_tail((self.loc - x) / self.scale)

    def logccdf(self, x: Array) -> Array:
        return self._log_tail((x - self.loc) / self.scale)

    def _log_tail(self, z: Array) -> Array:
        """log P(Z > z) of the standard law."""
        size = abs(z)
        upper = log_upper_gamma(1 / self.shape, size**self.shape, np.log(size)) - LOG_2
        return np.where(z == 0, -LOG_2, np.where(z > 0, upper, np.log1p(-np.exp(upper))))

    def quantile(self, p: Array) -> Array:
        return self.loc - self.scale * self._beyond(p)

    def cquantile(self, p: Array) -> Array:
        return self.loc + self.scale * self._beyond(p)

    def _beyond(self, p: Array) -> Array:
        """The z with probability p beyond it, of the standard law."""
        a = 1 / self.shape
        tail = np.minimum(p, 1 - p)
        inner = abs(1 - 2 * p)
        r = np.where(tail < 0.25, gammainccinv(a, 2 * tail), gammaincinv(a, inner))
        # Where r = z^shape is too small, the density is flat as far as z.
        size = np.where(r > 1e-290, r**a, inner * np.exp(gammaln(1 + a)))
        return np.where(p < 0.5, size, -size)

    def kinks(self) -> tuple[Array, ...]:
        return (self.loc,)

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        a = 1 / self.shape
        return self.scale**2 * np.exp(gammaln(3 * a) - gammaln(a))

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return 0.0

    def kurtosis(self) -> Array:
        a = 1 / self.shape
        return np.exp(gammaln(5 * a) + gammaln(a) - 2 * gammaln(3 * a)) - 3

    def entropy(self) -> Array:
        a = 1 / self.shape
        return a + np.log(self.scale) + gammaln(1 + a) + LOG_2

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        with np.errstate(over="ignore"):
            size = np.exp(log_standard_gamma(1 / self.shape, shape, rng) / self.shape)
            return self.loc + self.scale * np.where(rng.random(shape) < 0.5, -size, size)
