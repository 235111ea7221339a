"""Negative binomial: failures before the r-th success, counts more dispersed than Poisson's."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betainc, expit, log_expit

from probdiff.distributions.base import Discrete
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.inversion import by_inversion, one_number
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import binomial_log_mass
from probdiff.distributions.support import Positive, PositiveProbability, Real, nonnegative_integers
from probdiff.special import log_betainc, log_betaincc
from probdiff.tree import Array

SHORT = 0.1  # probability of success from which on tables of masses have few entries


class NegativeBinomial(Discrete):
    """P(k) = Γ(k + r) / (k! Γ(r)) p^r (1 - p)^k,  k = 0, 1, ….

    r       positive   successes to wait for; need not be whole
    p       in (0, 1]  probability of success
    logits  real       log(p / (1 - p)), in place of p

    In place of both: mean, and dispersion = r (variance is mean + mean² / dispersion).

    Johnson, Kemp & Kotz, Univariate Discrete Distributions, ch. 5.
    """

    r: Positive
    p: PositiveProbability = None
    logits: Real = None

    exclusive = ("p", "logits")
    support = nonnegative_integers

    @alternative
    def by_mean(mean: Positive, dispersion: Positive) -> dict[str, Any]:
        return {"r": dispersion, "logits": np.log(dispersion) - np.log(mean)}

    def logpdf(self, x: Array) -> Array:
        p, q = self._success(), self._failure()
        # r / (r + k) turns the mass of k failures and r successes in any order into that with a success at the end.
        return binomial_log_mass(x, self.r, q, p, self._log_failure(), self._log_success()) - np.log1p(x / self.r)

    def cdf(self, x: Array) -> Array:
        return betainc(self.r, x + 1, self._success())

    def ccdf(self, x: Array) -> Array:
        return betainc(x + 1, self.r, self._failure())

    def logcdf(self, x: Array) -> Array:
        p, q = self._success(), self._failure()
        return np.where(p < 0.5, log_betainc(self.r, x + 1, p), log_betaincc(x + 1, self.r, q))

    def logccdf(self, x: Array) -> Array:
        p, q = self._success(), self._failure()
        return np.where(p < 0.5, log_betaincc(self.r, x + 1, p), log_betainc(x + 1, self.r, q))

    def mean(self) -> Array:
        return self.r * self._odds_of_failure()

    def var(self) -> Array:
        return self.mean() / self._success()

    def mode(self) -> Array:
        return np.floor(np.maximum(self.r - 1, 0.0) * self._odds_of_failure())

    def skewness(self) -> Array:
        return (1 + self._failure()) / np.sqrt(self.r * self._failure())

    def kurtosis(self) -> Array:
        return 6 / self.r + self._success() ** 2 / (self.r * self._failure())

    def mgf(self, t: Array) -> Array:
        return np.where(
            self._failure() * np.exp(t) < 1, (self._success() / (1 - self._failure() * np.exp(t))) ** self.r, np.inf
        )

    def cf(self, t: Array) -> Array:
        return (self._success() / (1 - self._failure() * np.exp(1j * t))) ** self.r

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(lambda x: (x,), (self._log_failure(),), -self.r * self._log_success(), held=("r",))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        p = self._success()
        if one_number(self.r) and one_number(p) and p >= SHORT:
            r, q = float(self.r), float(self._failure())
            drawn = by_inversion(np.exp(r * self._log_success()), lambda k: (r + (k - 1)) / k * q, shape, rng)
            if drawn is not None:
                return drawn
        return rng.poisson(self._odds_of_failure() * rng.standard_gamma(self.r, shape))

    def _success(self) -> Array:
        return expit(self.logits) if self.p is None else self.p

    def _failure(self) -> Array:
        return expit(-self.logits) if self.p is None else 1 - self.p

    def _log_success(self) -> Array:
        return log_expit(self.logits) if self.p is None else np.log(self.p)

    def _log_failure(self) -> Array:
        return log_expit(-self.logits) if self.p is None else np.log1p(-self.p)

    def _odds_of_failure(self) -> Array:
        return np.exp(-self.logits) if self.p is None else (1 - self.p) / self.p
