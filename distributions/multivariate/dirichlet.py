"""Dirichlet: proportions that sum to one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.special import gammaln, psi, xlogy

from probdiff.distributions.base import Multivariate
from probdiff.distributions.divergence import closed_form
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.support import PositiveVector, simplex
from probdiff.distributions.univariate.continuous.gamma import log_standard_gamma
from probdiff.errors import DataError
from probdiff.ops.special import polygamma
from probdiff.tree import Array


class Dirichlet(Multivariate):
    """p(x) = Γ(Σ a_k) Π x_k^(a_k - 1) / Γ(a_k),  x on the simplex: the density of any K - 1 of the K proportions.

    concentration  vector of positive numbers, a; rows of a matrix are independent distributions

    Kotz, Balakrishnan & Johnson, Continuous Multivariate Distributions 1, ch. 49.
    """

    concentration: PositiveVector

    support = simplex
    statistic_names = ("log x",)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.concentration.shape[-1:])

    def logpdf(self, x: Array) -> Array:
        a = self.concentration
        return np.sum(xlogy(a - 1, x) - gammaln(a), axis=-1) + gammaln(np.sum(a, axis=-1))

    def mean(self) -> Array:
        return self.concentration / self._total()

    def var(self) -> Array:
        mean = self.mean()
        return mean * (1 - mean) / (1 + self._total())

    def cov(self) -> Array:
        """The covariance matrix, (diag(m) - m m') / (1 + Σ a_k) with the mean m."""
        mean = np.expand_dims(self.mean(), -1)
        spread = mean * np.eye(self.event_shape[0]) - mean * np.swapaxes(mean, -1, -2)
        return spread / np.expand_dims(1 + self._total(), -1)

    def mode(self) -> Array:
        # Proportions of concentration below one are zero there; NaN where no point is higher than all others.
        excess = np.maximum(self.concentration - 1, 0.0)
        return excess / np.sum(excess, axis=-1, keepdims=True)

    def entropy(self) -> Array:
        a, total = self.concentration, np.sum(self.concentration, axis=-1)
        log_beta = np.sum(gammaln(a), axis=-1) - gammaln(total)
        return log_beta + np.sum((a - 1) * (psi(self._total()) - psi(a)), axis=-1)

    def exponential_form(self) -> ExponentialForm:
        a = self.concentration
        return ExponentialForm(
            lambda x: (np.log(x),), (a - 1,), np.sum(gammaln(a), axis=-1) - gammaln(np.sum(a, axis=-1))
        )

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return proportions(self.concentration, (*shape, *self.event_shape), rng)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The concentration of largest likelihood, by Newton's steps (Minka, Estimating a Dirichlet distribution).

        DataError where a proportion is zero, which has no density or an infinite one.
        """
        inside = simplex.contains(x) & np.all(x > 0, axis=-1)
        if not np.all(inside):
            first = x[np.argmin(inside)].tolist()
            raise DataError(f"Dirichlet.fit: an observation must be positive numbers that sum to one, got {first}.")
        mean, log_mean = w @ x, w @ np.log(x)
        var = w @ (x - mean) ** 2
        if not np.all(var > 0):
            raise DataError("Dirichlet.fit found no maximum: a proportion is the same in all observations.")
        return cls(most_likely(log_mean, mean * np.median(mean * (1 - mean) / var)))

    @classmethod
    def from_statistics(cls, *means: Array) -> Self:
        (log_mean,) = means
        if not np.sum(np.exp(log_mean)) < 1 - 1e-12:
            raise DataError("Dirichlet.fit_statistics found no maximum: exp of the averages must sum to less than one.")
        # The missing share tells the spread: E[log x_k] is about log m_k - (1 - m_k) / (2 a_k).
        share = np.exp(log_mean) / np.sum(np.exp(log_mean))
        return cls(most_likely(log_mean, share * 0.5 * (len(share) - 1) / -np.log(np.sum(np.exp(log_mean)))))

    def _total(self) -> Array:
        return np.sum(self.concentration, axis=-1, keepdims=True)


def most_likely(log_mean: Array, start: Array) -> Array:
    """The concentration of largest likelihood, by Newton's steps from `start`."""
    a = start
    for _ in range(200):
        # The second derivatives are diagonal but for a constant.
        slope = psi(np.sum(a)) - psi(a) + log_mean
        curve, shared = -polygamma(1, a), polygamma(1, np.sum(a))
        step = (slope - np.sum(slope / curve) / (1 / shared + np.sum(1 / curve))) / curve
        new = np.where(a > step, a - step, 0.5 * a)
        done = np.max(abs(new - a) / a) < 1e-14
        a = new
        if done:
            break
    return a


@closed_form(Dirichlet, Dirichlet)
def _divergence(p: Dirichlet, q: Dirichlet) -> Array:
    a, b = p.concentration, q.concentration
    total = np.sum(a, axis=-1)
    normalisers = gammaln(total) - gammaln(np.sum(b, axis=-1)) + np.sum(gammaln(b) - gammaln(a), axis=-1)
    return normalisers + np.sum((a - b) * (psi(a) - np.expand_dims(psi(total), -1)), axis=-1)


def proportions(concentration: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Random proportions, `shape` of them, by logs of gamma variables: those of tiny shapes may be no numbers."""
    log_part = log_standard_gamma(concentration, shape, rng)
    part = np.exp(log_part - np.max(log_part, axis=-1, keepdims=True))
    return part / np.sum(part, axis=-1, keepdims=True)
