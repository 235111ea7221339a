"""Low-rank multivariate normal: a few common factors, and an independent part for each variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.multivariate.location_scale import divided, rows_times, square
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import PositiveVector, RealMatrix, RealVector, real_vector
from probdiff.tree import Array


class LowRankMvNormal(Multivariate):
    """The multivariate normal with covariance W W' + diag(d), in O(K R²) operations.

    loc         vector of length K, the mean
    cov_factor  W, of shape (K, R), R common factors
    cov_diag    d, vector of K positive variances

    With F = W / sqrt(d) and z = (x - loc) / sqrt(d), the quadratic form is |z - F a|² + |a|² for the a that makes it
    smallest, (1 + F'F) a = F'z: two sums of squares, which do not cancel as those of Woodbury's identity do.

    Bartholomew, Knott & Moustaki, Latent Variable Models and Factor Analysis, ch. 3.
    """

    loc: RealVector
    cov_factor: RealMatrix
    cov_diag: PositiveVector

    support = real_vector
    relation = "loc, cov_diag and the rows of cov_factor of one length"

    def related(self) -> Array:
        return self.loc.shape[-1] == self.cov_diag.shape[-1] == self.cov_factor.shape[-2]

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.loc.shape[-1:])

    def logpdf(self, x: Array) -> Array:
        factor, capacitance = self._whitened()
        z = (x - self.loc) / np.sqrt(self.cov_diag)
        a = divided(capacitance, divided(capacitance, rows_times(z, factor)), transpose=True)
        rest = z - rows_times(a, np.swapaxes(factor, -1, -2))
        squares = np.sum(rest * rest, axis=-1) + np.sum(a * a, axis=-1)
        return -0.5 * squares - self._log_scale(capacitance) - self.loc.shape[-1] * HALF_LOG_2PI

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return np.sum(self.cov_factor**2, axis=-1) + self.cov_diag

    def cov(self) -> Array:
        """The covariance matrix, W W' + diag(d)."""
        return square(self.cov_factor) + np.expand_dims(self.cov_diag, -1) * np.eye(self.event_shape[0])

    def mode(self) -> Array:
        return self.loc

    def entropy(self) -> Array:
        return self._log_scale(self._whitened()[1]) + self.loc.shape[-1] * (0.5 + HALF_LOG_2PI)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        common = self.cov_factor @ rng.standard_normal((*shape, self.cov_factor.shape[-1], 1))
        own = np.sqrt(self.cov_diag) * rng.standard_normal((*shape, *self.event_shape))
        return self.loc + common[..., 0] + own

    def _whitened(self) -> tuple[Array, Array]:
        """F, and the Cholesky factor of 1 + F'F."""
        factor = self.cov_factor / np.sqrt(np.expand_dims(self.cov_diag, -1))
        inner = np.swapaxes(factor, -1, -2) @ factor
        return factor, np.linalg.cholesky(inner + np.eye(inner.shape[-1], dtype=inner.dtype))

    def _log_scale(self, capacitance: Array) -> Array:
        """Half the log-determinant of the covariance."""
        inner = np.sum(np.log(np.linalg.diagonal(capacitance)), axis=-1)
        return inner + 0.5 * np.sum(np.log(self.cov_diag), axis=-1)
