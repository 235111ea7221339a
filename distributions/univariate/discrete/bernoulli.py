"""Bernoulli: one trial that succeeds or fails."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import entr, expit, log_expit, rel_entr

from probdiff.distributions.base import Discrete
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.support import Probability, Real, boolean
from probdiff.tree import Array


class Bernoulli(Discrete):
    """P(1) = p, P(0) = 1 - p.

    p       in [0, 1]  probability of success
    logits  real       log(p / (1 - p)), in place of p; precise also where p rounds to 0 or 1
    """

    p: Probability = None
    logits: Real = None

    exclusive = ("p", "logits")
    support = boolean

    def logpdf(self, x: Array) -> Array:
        if self.p is None:
            return log_expit(np.where(x == 1, self.logits, -self.logits))
        return np.where(x == 1, np.log(self.p), np.log1p(-self.p))

    def cdf(self, x: Array) -> Array:
        return self._failure()

    def ccdf(self, x: Array) -> Array:
        return self._success()

    def logcdf(self, x: Array) -> Array:
        return log_expit(-self.logits) if self.p is None else np.log1p(-self.p)

    def logccdf(self, x: Array) -> Array:
        return log_expit(self.logits) if self.p is None else np.log(self.p)

    def quantile(self, p: Array) -> Array:
        return np.where((p <= self._failure()) & (p < 1), 0.0, 1.0)

    def cquantile(self, p: Array) -> Array:
        return np.where((p >= self._success()) & (p > 0), 0.0, 1.0)

    def mean(self) -> Array:
        return self._success()

    def var(self) -> Array:
        return self._success() * self._failure()

    def mode(self) -> Array:
        return np.where(self._success() > 0.5, 1.0, 0.0)

    def skewness(self) -> Array:
        p, q = self._success(), self._failure()
        return (q - p) / np.sqrt(p * q)

    def kurtosis(self) -> Array:
        variance = self._success() * self._failure()
        return 1 / variance - 6

    def entropy(self) -> Array:
        return entr(self._success()) + entr(self._failure())

    def mgf(self, t: Array) -> Array:
        return self._failure() + self._success() * np.exp(t)

    def cf(self, t: Array) -> Array:
        return self._failure() + self._success() * np.exp(1j * t)

    def exponential_form(self) -> ExponentialForm:
        log_odds = np.log(self.p) - np.log1p(-self.p) if self.logits is None else self.logits
        return ExponentialForm(lambda x: (x,), (log_odds,), -np.log(self._failure()))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return (rng.random(shape) < self._success()).astype(np.int64) if shape else int(rng.random() < self._success())

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        return cls(np.sum(w * x))

    def _success(self) -> Array:
        return expit(self.logits) if self.p is None else self.p

    def _failure(self) -> Array:
        return expit(-self.logits) if self.p is None else 1 - self.p


@closed_form(Bernoulli, Bernoulli)
def _divergence(p: Bernoulli, q: Bernoulli) -> Array:
    success, failure = p._success(), p._failure()
    return rel_entr(success, q._success()) + rel_entr(failure, q._failure())
