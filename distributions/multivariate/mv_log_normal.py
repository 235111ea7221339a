"""Multivariate lognormal: positive variables whose logs are a normal vector."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.multivariate.location_scale import square
from probdiff.distributions.multivariate.mv_normal import MvNormal
from probdiff.distributions.parameters import alternative
from probdiff.distributions.support import CovarianceMatrix, RealVector, TriangularFactor, positive_vector
from probdiff.errors import DataError
from probdiff.tree import Array


class MvLogNormal(Multivariate):
    """p(x) = N(log x; loc, L L') / Π_k x_k,  x a vector of positive numbers.

    loc         vector, the mean of the logs
    scale_tril  L, lower triangular with positive diagonal; or covariance = L L', that of the logs

    Kotz, Balakrishnan & Johnson, Continuous Multivariate Distributions 1, ch. 45.
    """

    loc: RealVector
    scale_tril: TriangularFactor

    support = positive_vector
    relation = "loc and scale_tril of one length"

    @alternative
    def by_covariance(covariance: CovarianceMatrix) -> dict[str, Any]:
        return {"scale_tril": np.linalg.cholesky(covariance)}

    def related(self) -> Array:
        return self.loc.shape[-1] == self.scale_tril.shape[-1]

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.loc.shape[-1:])

    def logpdf(self, x: Array) -> Array:
        # Outside, the log of a number that is put in place has no NaN for a derivative.
        log_x = np.log(np.where(x > 0, x, 1.0))
        return self._logs().logpdf(log_x) - np.sum(log_x, axis=-1)

    def mean(self) -> Array:
        return np.exp(self.loc + 0.5 * self._logs().var())

    def var(self) -> Array:
        return self.mean() ** 2 * np.expm1(self._logs().var())

    def cov(self) -> Array:
        """The covariance matrix, m_i m_j (exp(C_ij) - 1) with the mean m and the covariance C of the logs."""
        m = self.mean()
        return np.expand_dims(m, -1) * np.expand_dims(m, -2) * np.expm1(square(self.scale_tril))

    def mode(self) -> Array:
        # Where the slope of the log-density in log x vanishes: C⁻¹ (log x - loc) = -1.
        return np.exp(self.loc - np.sum(square(self.scale_tril), axis=-1))

    def entropy(self) -> Array:
        return self._logs().entropy() + np.sum(self.loc, axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.exp(self._logs().draw(shape, rng))

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The mean and the covariance of the logs of observations, one a row."""
        if not np.all(x > 0):
            first = x[np.argmin(np.all(x > 0, axis=-1))].tolist()
            raise DataError(f"MvLogNormal.fit: an observation must be positive numbers, got {first}.")
        logs = MvNormal.estimate(np.log(x), w)
        return cls(logs.loc, logs.scale_tril)

    def _logs(self) -> MvNormal:
        return MvNormal(self.loc, self.scale_tril, check=False)
