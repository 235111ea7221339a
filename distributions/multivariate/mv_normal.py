"""Multivariate normal: correlated normal variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import CovarianceMatrix, RealVector, TriangularFactor, real_vector
from probdiff.tree import Array


class MvNormal(Multivariate):
    """p(x) = exp(-|w|² / 2) / ((2π)^(K/2) det L),  L w = x - loc.

    loc         vector, the mean
    scale_tril  L, lower triangular with positive diagonal; or covariance = L L'

    Mardia, Kent & Bibby, Multivariate Analysis, ch. 3.
    """

    loc: RealVector
    scale_tril: TriangularFactor

    support = real_vector
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
        from probdiff.linalg import solve_triangular

        w = solve_triangular(self.scale_tril, np.expand_dims(x - self.loc, -1), lower=True)[..., 0]
        k = self.loc.shape[-1]
        return -0.5 * np.sum(w * w, axis=-1) - np.sum(np.log(self._diagonal()), axis=-1) - k * HALF_LOG_2PI

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return np.sum(self.scale_tril**2, axis=-1)

    def cov(self) -> Array:
        """The covariance matrix, L L'."""
        return self.scale_tril @ np.swapaxes(self.scale_tril, -1, -2)

    def mode(self) -> Array:
        return self.loc

    def entropy(self) -> Array:
        return np.sum(np.log(self._diagonal()), axis=-1) + self.loc.shape[-1] * (0.5 + HALF_LOG_2PI)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        z = rng.standard_normal((*shape, *self.event_shape, 1))
        return self.loc + (self.scale_tril @ z)[..., 0]

    def _diagonal(self) -> Array:
        index = np.arange(self.scale_tril.shape[-1])
        return self.scale_tril[..., index, index]
