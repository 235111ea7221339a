"""Exp-gamma: the logarithm of a gamma variable."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammainccinv, gammaincinv, gammaln, loggamma, psi

from probdiff.distributions.base import Continuous
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.gamma_powers import log_lower_gamma, log_upper_gamma
from probdiff.distributions.parameters import alternative
from probdiff.distributions.powers import exp_excess
from probdiff.distributions.stable import HALF_LOG_2PI, LARGE, either, stirling_error
from probdiff.distributions.support import Positive, Real, real
from probdiff.distributions.univariate.continuous.gamma import log_standard_gamma
from probdiff.special import polygamma
from probdiff.tree import Array


class ExpGamma(Continuous):
    """p(x) = exp(shape z - exp(z)) / Γ(shape),  z = x - loc.

    shape  positive
    loc    real      the logarithm of the gamma's scale; or that scale, or its rate = 1 / scale, in place of loc

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 22.6.
    """

    shape: Positive
    loc: Real = 0.0

    support = real

    @alternative
    def by_scale(scale: Positive) -> dict[str, Any]:
        return {"loc": np.log(scale)}

    @alternative
    def by_rate(rate: Positive) -> dict[str, Any]:
        return {"loc": -np.log(rate)}

    def logpdf(self, x: Array) -> Array:
        a, z = self.shape, x - self.loc

        def saddle() -> Array:
            # As a distance from the mode, log(shape).
            return 0.5 * np.log(a) - a * exp_excess(z - np.log(a)) - stirling_error(a) - HALF_LOG_2PI

        return either(a < LARGE, lambda: a * z - np.exp(z) - gammaln(a), saddle)

    def logcdf(self, x: Array) -> Array:
        z = x - self.loc
        return log_lower_gamma(self.shape, np.exp(z), self.shape * z)

    def logccdf(self, x: Array) -> Array:
        z = x - self.loc
        return log_upper_gamma(self.shape, np.exp(z), self.shape * z)

    def quantile(self, p: Array) -> Array:
        return self._log(gammaincinv(self.shape, p), np.log(p))

    def cquantile(self, p: Array) -> Array:
        return self._log(gammainccinv(self.shape, p), np.log1p(-p))

    def _log(self, r: Array, log_p: Array) -> Array:
        """loc + log r, or from the leading term of the distribution function where r is too small."""
        return self.loc + np.where(r > 1e-290, np.log(r), (log_p + gammaln(self.shape + 1)) / self.shape)

    def mean(self) -> Array:
        return self.loc + psi(self.shape)

    def var(self) -> Array:
        return polygamma(1, self.shape)

    def mode(self) -> Array:
        return self.loc + np.log(self.shape)

    def skewness(self) -> Array:
        return polygamma(2, self.shape) / polygamma(1, self.shape) ** 1.5

    def kurtosis(self) -> Array:
        return polygamma(3, self.shape) / polygamma(1, self.shape) ** 2

    def entropy(self) -> Array:
        a = self.shape
        return gammaln(a) + a * (1 - psi(a))

    def mgf(self, t: Array) -> Array:
        a = self.shape
        return np.where(a + t > 0, np.exp(gammaln(a + t) - gammaln(a) + t * self.loc), np.inf)

    def cf(self, t: Array) -> Array:
        return np.exp(loggamma(self.shape + 1j * t) - gammaln(self.shape) + 1j * t * self.loc)

    def exponential_form(self) -> ExponentialForm:
        a = self.shape
        return ExponentialForm(lambda x: (x, np.exp(x)), (a, -np.exp(-self.loc)), gammaln(a) + a * self.loc)

    @classmethod
    def start_statistics(cls, *means: Array) -> dict[str, Any]:
        return {"loc": means[0]}

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.loc + log_standard_gamma(self.shape, shape, rng)
