"""Binomial: the number of successes in n trials."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betainc, expit, log_expit

from probdiff.distributions.base import Discrete
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.inversion import by_inversion, one_number
from probdiff.distributions.stable import binomial_log_mass
from probdiff.distributions.support import Integers, NonnegativeInteger, Probability, Real, integer_interval
from probdiff.special import log_betainc, log_betaincc
from probdiff.tree import Array


class Binomial(Discrete):
    """P(k) = C(n, k) p^k (1 - p)^(n - k),  k = 0, …, n.

    n       nonnegative integer  trials
    p       in [0, 1]            probability of success
    logits  real                 log(p / (1 - p)), in place of p; precise also where p rounds to 0 or 1

    Johnson, Kemp & Kotz, Univariate Discrete Distributions, ch. 3.
    """

    n: NonnegativeInteger
    p: Probability = None
    logits: Real = None

    exclusive = ("p", "logits")

    @property
    def support(self) -> Integers:
        return integer_interval(0.0, self.n)

    def logpdf(self, x: Array) -> Array:
        p, q = self._success(), self._failure()
        return binomial_log_mass(x, self.n - x, p, q, self._log_success(), self._log_failure())

    def cdf(self, x: Array) -> Array:
        return betainc(self.n - x, x + 1, self._failure())

    def ccdf(self, x: Array) -> Array:
        return betainc(x + 1, self.n - x, self._success())

    def logcdf(self, x: Array) -> Array:
        k, m, p, q = x + 1, self.n - x, self._success(), self._failure()
        return np.where(p < 0.5, log_betaincc(k, m, p), log_betainc(m, k, q))

    def logccdf(self, x: Array) -> Array:
        k, m, p, q = x + 1, self.n - x, self._success(), self._failure()
        return np.where(p < 0.5, log_betainc(k, m, p), log_betaincc(m, k, q))

    def mean(self) -> Array:
        return self.n * self._success()

    def var(self) -> Array:
        return self.n * self._success() * self._failure()

    def mode(self) -> Array:
        return np.minimum(np.floor((self.n + 1) * self._success()), self.n)

    def skewness(self) -> Array:
        return (self._failure() - self._success()) / self.std()

    def kurtosis(self) -> Array:
        return 1 / self.var() - 6 / self.n

    def mgf(self, t: Array) -> Array:
        return (self._failure() + self._success() * np.exp(t)) ** self.n

    def cf(self, t: Array) -> Array:
        return (self._failure() + self._success() * np.exp(1j * t)) ** self.n

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(
            lambda x: (x,), (self._log_success() - self._log_failure(),), -self.n * self._log_failure(), held=("n",)
        )

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        n, p, q = self.n, self._success(), self._failure()
        if one_number(n) and one_number(p) and q > 0:
            odds = float(p) / float(q)
            drawn = by_inversion(np.exp(n * self._log_failure()), lambda k: (n + 1 - k) / k * odds, shape, rng)
            if drawn is not None:
                return drawn
        return rng.binomial(n, p, shape)

    def _success(self) -> Array:
        return expit(self.logits) if self.p is None else self.p

    def _failure(self) -> Array:
        return expit(-self.logits) if self.p is None else 1 - self.p

    def _log_success(self) -> Array:
        return log_expit(self.logits) if self.p is None else np.log(self.p)

    def _log_failure(self) -> Array:
        return log_expit(-self.logits) if self.p is None else np.log1p(-self.p)
