"""Bijectors of matrices: triangular factors, correlations and covariances, from a vector of reals.

Coordinates are the entries of the lower triangle, row by row, along the last axis. The log-Jacobian is that of the
entries on and below the diagonal that are free: all of them for covariances, those below it for correlations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from probdiff.distributions.bijectors import Bijector, Shape
from probdiff.tree import Array

__all__ = ["MATRICES", "CorrelationCholesky", "CorrelationMatrix", "CovarianceCholesky", "CovarianceMatrix"]


@dataclass(frozen=True)
class CovarianceCholesky(Bijector):
    """L_ij = u_ij below the diagonal, L_ii = exp(u_ii)."""

    def unconstrained_shape(self, shape: Shape) -> Shape:
        size = shape[-1]
        return (*shape[:-2], size * (size + 1) // 2)

    def forward(self, u: Array) -> Array:
        size = _size(u, 1)
        # A number beside the coordinates stands for what is above the diagonal.
        filled = np.concatenate([u, np.zeros_like(u[..., :1])], axis=-1)[..., _places(size, 1)]
        return np.where(np.eye(size, dtype=bool), np.exp(filled), filled)

    def inverse(self, x: Array) -> Array:
        size = x.shape[-1]
        i, j = np.tril_indices(size)
        x = np.where(np.eye(size, dtype=bool), np.log(np.where(np.eye(size, dtype=bool), x, 1.0)), x)
        return x[..., i, j]

    def log_jacobian(self, u: Array) -> Array:
        return np.sum(self.diagonal(u), axis=-1)

    def diagonal(self, u: Array) -> Array:
        """The logarithms of the diagonal."""
        size = _size(u, 1)
        return u[..., np.cumsum(np.arange(1, size + 1)) - 1]


@dataclass(frozen=True)
class CovarianceMatrix(Bijector):
    """S = L L', L by `CovarianceCholesky`:  |dS/dL| = 2^K Π_i L_ii^(K - i + 1),  i = 1 … K."""

    factor = CovarianceCholesky()

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return self.factor.unconstrained_shape(shape)

    def forward(self, u: Array) -> Array:
        return _square(self.factor.forward(u))

    def inverse(self, x: Array) -> Array:
        return self.factor.inverse(np.linalg.cholesky(x))

    def log_jacobian(self, u: Array) -> Array:
        diagonal = self.factor.diagonal(u)
        size = diagonal.shape[-1]
        # One power more than in |dS/dL|, for L_ii = exp(u_ii).
        return size * math.log(2.0) + np.sum(np.arange(size + 1.0, 1.0, -1.0) * diagonal, axis=-1)


@dataclass(frozen=True)
class CorrelationCholesky(Bijector):
    """L_ij = tanh(u_ij) Π_{k<j} sech(u_ik) below the diagonal, L_ii = Π_{k<i} sech(u_ik): rows of length one.

    Products of sech are sums of logarithms, so that a row that lies along one axis keeps its digits.
    Lewandowski, Kurowicka & Joe (2009), Generating random correlation matrices based on vines and extended onion
    method.
    """

    def unconstrained_shape(self, shape: Shape) -> Shape:
        size = shape[-1]
        return (*shape[:-2], size * (size - 1) // 2)

    def forward(self, u: Array) -> Array:
        size = _size(u, -1)
        filled, log_sech = self.triangles(u)
        left = np.cumsum(log_sech, axis=-1) - log_sech
        return np.where(np.eye(size, dtype=bool), 1.0, np.tanh(filled)) * np.exp(left)

    def inverse(self, x: Array) -> Array:
        i, j = np.tril_indices(x.shape[-1], -1)
        # The length of what follows in the row, summed from the far end: sinh(u_ij) = L_ij over it.
        following = np.flip(np.cumsum(np.flip(x * x, axis=-1), axis=-1), axis=-1)
        return np.arcsinh(x[..., i, j] / np.sqrt(following[..., i, j + 1]))

    def log_jacobian(self, u: Array) -> Array:
        size = _size(u, -1)
        i, j = np.tril_indices(size, -1)
        return np.sum((1.0 + i - j) * _log_sech(u), axis=-1)

    def triangles(self, u: Array) -> tuple[Array, Array]:
        """The coordinates and their log sech as matrices, zero on the diagonal and above it."""
        places = _places(_size(u, -1), -1)
        if u.shape[-1] == 0:
            return np.zeros(u.shape[:-1] + places.shape), np.zeros(u.shape[:-1] + places.shape)
        filled = np.concatenate([u, np.zeros_like(u[..., :1])], axis=-1)[..., places]
        return filled, _log_sech(filled)


@dataclass(frozen=True)
class CorrelationMatrix(Bijector):
    """C = L L', L by `CorrelationCholesky`:  |dC/dL| = Π_j L_jj^(K - j),  j = 1 … K."""

    factor = CorrelationCholesky()

    def unconstrained_shape(self, shape: Shape) -> Shape:
        return self.factor.unconstrained_shape(shape)

    def forward(self, u: Array) -> Array:
        square = _square(self.factor.forward(u))
        return np.where(np.eye(square.shape[-1], dtype=bool), 1.0, square)

    def inverse(self, x: Array) -> Array:
        return self.factor.inverse(np.linalg.cholesky(x))

    def log_jacobian(self, u: Array) -> Array:
        size = _size(u, -1)
        _, j = np.tril_indices(size, -1)
        # Each sech(u_ij) is a factor of the Jacobian of L and of L_ii^(K - i): K - j in all, j counted from zero.
        return np.sum((float(size) - j) * _log_sech(u), axis=-1)


def _log_sech(u: Array) -> Array:
    """log(2 / (exp(u) + exp(-u)))."""
    return math.log(2.0) - np.logaddexp(u, -u)


def _square(factor: Array) -> Array:
    return factor @ np.swapaxes(factor, -1, -2)


def _size(u: Array, diagonal: int) -> int:
    """K, from K (K + diagonal) / 2 coordinates."""
    root = math.isqrt(8 * int(u.shape[-1]) + 1)
    return (root - diagonal) // 2


def _places(size: int, diagonal: int) -> np.ndarray:
    """Where each entry of the matrix is among the coordinates; one past the last for what is not."""
    count = size * (size + diagonal) // 2
    places = np.full((size, size), count)
    places[np.tril_indices(size, 0 if diagonal == 1 else -1)] = np.arange(count)
    return places


MATRICES: dict[str, Bijector] = {
    "lower_cholesky": CovarianceCholesky(),
    "covariance_cholesky": CovarianceCholesky(),
    "correlation_cholesky": CorrelationCholesky(),
    "positive_definite": CovarianceMatrix(),
    "covariance_matrix": CovarianceMatrix(),
    "correlation_matrix": CorrelationMatrix(),
}
