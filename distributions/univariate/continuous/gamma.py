"""Gamma: the wait for several events, and the conjugate prior of rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, gammaln, psi, xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import LARGE, gamma_log_kernel
from probdiff.distributions.support import Positive, nonnegative
from probdiff.tree import Array


class Gamma(Continuous):
    """p(x) = x^(shape - 1) exp(-x / scale) / (Γ(shape) scale^shape),  x >= 0.

    shape  positive
    scale  positive  mean is shape * scale; or rate = 1 / scale; or mean and sd in place of both

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 1, ch. 17.
    """

    shape: Positive
    scale: Positive = 1.0

    support = nonnegative

    @alternative
    def by_rate(rate: Positive) -> dict[str, Any]:
        return {"scale": 1 / rate}

    @alternative
    def by_moments(mean: Positive, sd: Positive) -> dict[str, Any]:
        return {"shape": (mean / sd) ** 2, "scale": sd * (sd / mean)}

    def logpdf(self, x: Array) -> Array:
        return gamma_logpdf(self.shape, x, x / self.scale, np.log(self.scale))

    def cdf(self, x: Array) -> Array:
        return gammainc(self.shape, x / self.scale)

    def ccdf(self, x: Array) -> Array:
        return gammaincc(self.shape, x / self.scale)

    def quantile(self, p: Array) -> Array:
        return self.scale * gammaincinv(self.shape, p)

    def cquantile(self, p: Array) -> Array:
        return self.scale * gammainccinv(self.shape, p)

    def mean(self) -> Array:
        return self.shape * self.scale

    def var(self) -> Array:
        return self.shape * self.scale * self.scale

    def mode(self) -> Array:
        return np.maximum(self.shape - 1, 0.0) * self.scale

    def skewness(self) -> Array:
        return 2 / np.sqrt(self.shape)

    def kurtosis(self) -> Array:
        return 6 / self.shape

    def entropy(self) -> Array:
        a = self.shape
        return a + np.log(self.scale) + gammaln(a) + (1 - a) * psi(a)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale * rng.standard_gamma(self.shape, shape)


def gamma_logpdf(shape: Array, x: Array, z: Array, log_scale: Array) -> Array:
    """The log-density of a gamma variable at x = z * scale, shared with its special cases."""
    # log x and log scale apart: z may overflow.
    direct = xlogy(shape - 1, x) - shape * log_scale - z - gammaln(shape)
    return np.where(shape < LARGE, direct, gamma_log_kernel(shape, z) - np.log(x))
