"""Exponentiated Weibull: lifetimes whose hazard may fall and rise again, the maximum of several Weibull ones."""

from __future__ import annotations

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.generating import stretched_rate
from probdiff.distributions.powers import log_ratio
from probdiff.distributions.stable import log1mexpexp
from probdiff.distributions.support import Positive, nonnegative
from probdiff.special import log1mexp
from probdiff.tree import Array

FAR = 4.0  # log of the cumulated hazard: beyond, P(X > x) is exponent exp(-hazard) to rounding


class ExponentiatedWeibull(Continuous):
    """P(X <= x) = (1 - exp(-z^shape))^exponent,  z = x / scale >= 0.

    exponent  positive  1 is Weibull
    shape     positive
    scale     positive

    Mudholkar & Srivastava, Exponentiated Weibull family for analyzing bathtub failure-rate data, IEEE Trans. Rel. 42
    (1993).
    """

    exponent: Positive
    shape: Positive
    scale: Positive = 1.0

    support = nonnegative

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return np.inf, stretched_rate(self.shape, self.scale)

    def logpdf(self, x: Array) -> Array:
        a, c = self.exponent, self.shape
        y = np.where(x > 0, x, 1.0)
        v = c * log_ratio(y, self.scale)
        inside = np.log(a) + np.log(c) + v - np.exp(v) + (a - 1) * log1mexpexp(v) - np.log(y)
        power = a * c - 1
        at_zero = np.where(power == 0, np.log(a) + np.log(c) - a * c * np.log(self.scale), -np.inf * power)
        return np.where(x > 0, inside, at_zero)

    def logcdf(self, x: Array) -> Array:
        return self.exponent * log1mexpexp(self._log_hazard(x))

    def logccdf(self, x: Array) -> Array:
        v = self._log_hazard(x)
        return np.where(
            v > FAR, np.log(self.exponent) - np.exp(v), log1mexp(self.exponent * log1mexpexp(np.minimum(v, FAR)))
        )

    def quantile(self, p: Array) -> Array:
        return self._from_log(np.log(p))

    def cquantile(self, p: Array) -> Array:
        return np.where(
            p < 1e-18,
            self.scale * (np.log(self.exponent) - np.log(p)) ** (1 / self.shape),
            self._from_log(np.log1p(-p)),
        )

    def _log_hazard(self, x: Array) -> Array:
        return self.shape * log_ratio(x, self.scale)

    def _from_log(self, lp: Array) -> Array:
        return self.scale * (-log1mexp(lp / self.exponent)) ** (1 / self.shape)
