"""Logistic normal: proportions whose log-ratios are normal."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.multivariate.mv_normal import MvNormal
from probdiff.distributions.parameters import alternative
from probdiff.distributions.support import CovarianceMatrix, RealVector, TriangularFactor, simplex
from probdiff.errors import DataError
from probdiff.tree import Array


class LogisticNormal(Multivariate):
    """p(x) = N(y; loc, L L') / Π_k x_k,  y_k = log(x_k / x_K) for k < K: the density of any K - 1 of the K proportions.

    loc         vector of length K - 1, the mean of the log-ratios
    scale_tril  L (K - 1, K - 1), lower triangular with positive diagonal; or covariance = L L'

    Aitchison & Shen (1980), Logistic-normal distributions: some properties and uses, Biometrika 67.
    """

    loc: RealVector
    scale_tril: TriangularFactor

    support = simplex
    relation = "loc and scale_tril of one length"

    @alternative
    def by_covariance(covariance: CovarianceMatrix) -> dict[str, Any]:
        return {"scale_tril": np.linalg.cholesky(covariance)}

    def related(self) -> Array:
        return self.loc.shape[-1] == self.scale_tril.shape[-1]

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.loc.shape[-1]) + 1,)

    def logpdf(self, x: Array) -> Array:
        # At the edge the density vanishes, and a log-ratio is infinite.
        inner = np.all(x > 0, axis=-1)
        log_x = np.log(np.where(np.expand_dims(inner, -1), x, 1.0))
        ratios = log_x[..., :-1] - log_x[..., -1:]
        return np.where(inner, self._ratios().logpdf(ratios) - np.sum(log_x, axis=-1), -np.inf)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        from probdiff.special import softmax

        y = self._ratios().draw(shape, rng)
        return softmax(np.concatenate([y, np.zeros_like(y[..., :1])], axis=-1), axis=-1)

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The mean and the covariance of the log-ratios of observations, one a row."""
        inside = simplex.contains(x) & np.all(x > 0, axis=-1)
        if not np.all(inside):
            first = x[np.argmin(inside)].tolist()
            raise DataError(
                f"LogisticNormal.fit: an observation must be positive numbers that sum to one, got {first}."
            )
        ratios = MvNormal.estimate(np.log(x[:, :-1]) - np.log(x[:, -1:]), w)
        return cls(ratios.loc, ratios.scale_tril)

    def _ratios(self) -> MvNormal:
        return MvNormal(self.loc, self.scale_tril, check=False)
