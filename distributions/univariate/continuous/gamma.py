"""Gamma: the wait for several events, and the conjugate prior of rates."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln, psi, xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import LARGE, either, gamma_log_kernel
from probdiff.distributions.support import Positive, nonnegative
from probdiff.ops.incomplete_rows import inverse
from probdiff.special import log_gammainc, log_gammaincc
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

    def logcdf(self, x: Array) -> Array:
        return log_gammainc(self.shape, x / self.scale)

    def logccdf(self, x: Array) -> Array:
        return log_gammaincc(self.shape, x / self.scale)

    def quantile(self, p: Array) -> Array:
        return self.scale * inverse("gammaincinv", self.shape, p)

    def cquantile(self, p: Array) -> Array:
        return self.scale * inverse("gammainccinv", self.shape, p)

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

    def mgf(self, t: Array) -> Array:
        return np.where(t * self.scale < 1, np.exp(-self.shape * np.log1p(-t * self.scale)), np.inf)

    def cf(self, t: Array) -> Array:
        return (1 - 1j * t * self.scale) ** -self.shape

    def exponential_form(self) -> ExponentialForm:
        a = self.shape
        return ExponentialForm(lambda x: (np.log(x), x), (a - 1, -1 / self.scale), gammaln(a) + a * np.log(self.scale))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        y = rng.standard_gamma(self.shape, shape)
        y *= self.scale
        return y

    def log_draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.log(self.scale) + log_standard_gamma(self.shape, shape, rng)


def log_standard_gamma(a: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """The logs of gamma variables, where these may be too small for a number: G(a) is G(a + 1) U^(1/a)."""
    return np.log(rng.standard_gamma(a + 1, shape)) - rng.standard_exponential(shape) / a


def gamma_logpdf(shape: Array, x: Array, z: Array, log_scale: Array) -> Array:
    """The log-density of a gamma variable at x = z * scale, shared with its special cases."""

    # log x and log scale apart: z may overflow.
    def direct() -> Array:
        return xlogy(shape - 1, x) - shape * log_scale - z - gammaln(shape)

    return either(shape < LARGE, direct, lambda: gamma_log_kernel(shape, z) - np.log(x))


@closed_form(Gamma, Gamma)
def _divergence(p: Gamma, q: Gamma) -> Array:
    a, b = p.shape, q.shape
    ratio = p.scale / q.scale
    return (a - b) * psi(a) - gammaln(a) + gammaln(b) - b * np.log(ratio) + a * (ratio - 1)
