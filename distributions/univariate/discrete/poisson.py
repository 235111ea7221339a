"""Poisson: the number of events that happen independently at a rate."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import gammainc, gammaincc

from probdiff.distributions.base import Discrete
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.inversion import by_inversion, one_number
from probdiff.distributions.stable import HALF_LOG_2PI, deviance, either, stirling_error
from probdiff.distributions.support import Nonnegative, Real, nonnegative_integers
from probdiff.special import log_gammainc, log_gammaincc
from probdiff.tree import Array


class Poisson(Discrete):
    """P(k) = rate^k exp(-rate) / k!,  k = 0, 1, ….

    rate      nonnegative  mean and variance
    log_rate  real         in place of rate; precise also where the rate is no number

    Johnson, Kemp & Kotz, Univariate Discrete Distributions, ch. 4.
    """

    rate: Nonnegative = None
    log_rate: Real = None

    exclusive = ("rate", "log_rate")
    support = nonnegative_integers

    def logpdf(self, x: Array) -> Array:
        rate = self._rate()
        log_rate = np.log(rate) if self.log_rate is None else self.log_rate

        def tiny() -> Array:
            return x * (np.log(x) - log_rate) - x

        def saddle() -> Array:
            deviation = either(rate < 1e-300, tiny, lambda: deviance(x, rate))
            return -deviation - stirling_error(x) - 0.5 * np.log(x) - HALF_LOG_2PI

        return either(x == 0, lambda: -rate, saddle)

    def cdf(self, x: Array) -> Array:
        return gammaincc(x + 1, self._rate())

    def ccdf(self, x: Array) -> Array:
        return gammainc(x + 1, self._rate())

    def logcdf(self, x: Array) -> Array:
        return log_gammaincc(x + 1, self._rate())

    def logccdf(self, x: Array) -> Array:
        return log_gammainc(x + 1, self._rate())

    def mean(self) -> Array:
        return self._rate()

    def var(self) -> Array:
        return self._rate()

    def mode(self) -> Array:
        return np.floor(self._rate())

    def skewness(self) -> Array:
        return 1 / np.sqrt(self._rate())

    def kurtosis(self) -> Array:
        return 1 / self._rate()

    def mgf(self, t: Array) -> Array:
        return np.exp(self._rate() * np.expm1(t))

    def cf(self, t: Array) -> Array:
        return np.exp(self._rate() * np.expm1(1j * t))

    def exponential_form(self) -> ExponentialForm:
        log_rate = np.log(self.rate) if self.log_rate is None else self.log_rate
        return ExponentialForm(lambda x: (x,), (log_rate,), self._rate())

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        rate = self._rate()
        if one_number(rate):
            drawn = by_inversion(np.exp(-rate), lambda k: float(rate) / k, shape, rng)
            if drawn is not None:
                return drawn
        return rng.poisson(rate, shape)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        return cls(np.sum(w * x))

    def _rate(self) -> Array:
        return np.exp(self.log_rate) if self.rate is None else self.rate


@closed_form(Poisson, Poisson)
def _divergence(p: Poisson, q: Poisson) -> Array:
    return deviance(p._rate(), q._rate())
