"""Dirichlet: proportions that sum to one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, psi, xlogy

from probdiff.distributions.base import Multivariate
from probdiff.distributions.support import PositiveVector, simplex
from probdiff.distributions.univariate.continuous.gamma import log_standard_gamma
from probdiff.tree import Array


class Dirichlet(Multivariate):
    """p(x) = Γ(Σ a_k) Π x_k^(a_k - 1) / Γ(a_k),  x on the simplex: the density of any K - 1 of the K proportions.

    concentration  vector of positive numbers, a; rows of a matrix are independent distributions

    Kotz, Balakrishnan & Johnson, Continuous Multivariate Distributions 1, ch. 49.
    """

    concentration: PositiveVector

    support = simplex

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

    def entropy(self) -> Array:
        a, total = self.concentration, np.sum(self.concentration, axis=-1)
        log_beta = np.sum(gammaln(a), axis=-1) - gammaln(total)
        return log_beta + np.sum((a - 1) * (psi(self._total()) - psi(a)), axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return proportions(self.concentration, (*shape, *self.event_shape), rng)

    def _total(self) -> Array:
        return np.sum(self.concentration, axis=-1, keepdims=True)


def proportions(concentration: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Random proportions, `shape` of them, by logs of gamma variables: those of tiny shapes may be no numbers."""
    log_part = log_standard_gamma(concentration, shape, rng)
    part = np.exp(log_part - np.max(log_part, axis=-1, keepdims=True))
    return part / np.sum(part, axis=-1, keepdims=True)
