"""Dirichlet-multinomial: counts of labels whose probabilities are themselves uncertain."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.multivariate.dirichlet import proportions
from probdiff.distributions.multivariate.fitting import climbed_vector
from probdiff.distributions.stable import log_beta
from probdiff.distributions.support import Counts, NonnegativeInteger, PositiveVector, counts
from probdiff.errors import DataError
from probdiff.tree import Array


class DirichletMultinomial(Multivariate):
    """P(x) = n B(A, n) / Π_{x_k > 0} x_k B(a_k, x_k),  A = Σ a_k,  x nonnegative integers that sum to n.

    n              nonnegative integer  trials
    concentration  vector of positive numbers, a, of the Dirichlet that the probabilities come from

    Johnson, Kotz & Balakrishnan, Discrete Multivariate Distributions, ch. 35.13 (Pólya-Eggenberger).
    """

    n: NonnegativeInteger
    concentration: PositiveVector

    @property
    def support(self) -> Counts:
        return counts(self.n)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.concentration.shape[-1:])

    def logpdf(self, x: Array) -> Array:
        def log_part(a: Array, k: Array) -> Array:
            some = np.where(k > 0, k * 1.0, 1.0)
            return np.where(k > 0, np.log(some) + log_beta(a, some), 0.0)

        return log_part(self._total(), self.n) - np.sum(log_part(self.concentration, x), axis=-1)

    def mean(self) -> Array:
        return np.expand_dims(self.n, -1) * self._probabilities()

    def var(self) -> Array:
        p = self._probabilities()
        return np.expand_dims(self.n * self._inflation(), -1) * p * (1 - p)

    def cov(self) -> Array:
        """The covariance matrix, n (n + A) / (1 + A) (diag(p) - p p') with p = a / A."""
        p = np.expand_dims(self._probabilities(), -1)
        spread = p * np.eye(self.event_shape[0]) - p * np.swapaxes(p, -1, -2)
        return np.expand_dims(self.n * self._inflation(), (-2, -1)) * spread

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        p = proportions(self.concentration, (*shape, *self.event_shape), rng)
        return rng.multinomial(self.n, p)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The concentration of largest likelihood, of observations of one number of trials.

        DataError where they vary no more than multinomial counts, whose concentration is infinite.
        """
        n = np.sum(x[0])
        if not np.all(counts(n).contains(x)):
            first = x[np.argmin(counts(n).contains(x))].tolist()
            raise DataError(
                f"DirichletMultinomial.fit: an observation must be {counts(n).rule}, n = {n:.0f}, got {first}."
            )
        share = w @ x / max(n, 1.0)
        if n < 2 or not np.all(share > 0):
            raise DataError("DirichletMultinomial.fit found no maximum: it needs two trials, and each label observed.")
        # By the first two moments: the inflation of the variance is (n + A) / (1 + A).
        inflation = np.sum(w @ (x - n * share) ** 2) / np.sum(n * share * (1 - share))
        total = (n - inflation) / (inflation - 1) if 1 < inflation < n else 10.0
        start = np.log(np.maximum(share * total, 1e-3))

        def loss(u: Array) -> Array:
            return -np.sum(w * cls(n, np.exp(u), check=False).logpdf(x))

        return cls(int(n), np.exp(climbed_vector(cls, loss, start)))

    def _total(self) -> Array:
        return np.sum(self.concentration, axis=-1)

    def _probabilities(self) -> Array:
        return self.concentration / np.expand_dims(self._total(), -1)

    def _inflation(self) -> Array:
        return (self.n + self._total()) / (1 + self._total())
