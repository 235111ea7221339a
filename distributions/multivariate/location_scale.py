"""What normal and t vectors share: loc + A z, with z spherical and A given by a factor of A A', or of its inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.tree import Array

__all__ = ["LocationScale", "divided", "rows_times", "square"]


class LocationScale(Multivariate, abstract=True):
    """x = loc + A z. One of three fields is set.

    scale_tril      A itself, lower triangular
    precision_tril  C, lower triangular, with (A A')⁻¹ = C C': A is the inverse of C', and no density divides by it
    scale_diag      the diagonal of A, which has nothing beside it
    """

    loc: Any
    scale_tril: Any
    precision_tril: Any
    scale_diag: Any

    def related(self) -> Array:
        given = next(f for f in (self.scale_tril, self.precision_tril, self.scale_diag) if f is not None)
        return self.loc.shape[-1] == given.shape[-1]

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.loc.shape[-1:])

    def squares(self, residual: Array) -> Array:
        """|A⁻¹ r|² for the vectors r along the last axis."""
        if self.scale_diag is not None:
            w = residual / self.scale_diag
        elif self.precision_tril is not None:
            w = rows_times(residual, self.precision_tril)
        else:
            w = divided(self.scale_tril, residual)
        return np.sum(w * w, axis=-1)

    def log_scale(self) -> Array:
        """log det A."""
        if self.scale_diag is not None:
            return np.sum(np.log(self.scale_diag), axis=-1)
        if self.precision_tril is not None:
            return -np.sum(np.log(np.linalg.diagonal(self.precision_tril)), axis=-1)
        return np.sum(np.log(np.linalg.diagonal(self.scale_tril)), axis=-1)

    def factor(self) -> Array:
        """A, which is upper triangular where the precision is given."""
        if self.scale_diag is not None:
            return np.expand_dims(self.scale_diag, -1) * np.eye(self.event_shape[0])
        if self.precision_tril is None:
            return self.scale_tril
        from probdiff.linalg import solve_triangular

        identity = np.broadcast_to(np.eye(self.event_shape[0]), self.precision_tril.shape)
        return np.swapaxes(solve_triangular(self.precision_tril, identity), -1, -2)

    def precision_matrix(self) -> Array:
        """(A A')⁻¹."""
        if self.scale_diag is not None:
            return np.expand_dims(self.scale_diag**-2.0, -1) * np.eye(self.event_shape[0])
        if self.precision_tril is not None:
            return square(self.precision_tril)
        from probdiff.linalg import solve_triangular

        identity = np.broadcast_to(np.eye(self.event_shape[0]), self.scale_tril.shape)
        return square(np.swapaxes(solve_triangular(self.scale_tril, identity), -1, -2))

    def scale_variances(self) -> Array:
        """The diagonal of A A'."""
        return np.sum(self.factor() ** 2, axis=-1)

    def coloured(self, z: Array) -> Array:
        """A z, along the last axis."""
        if self.scale_diag is not None:
            return self.scale_diag * z
        if self.precision_tril is not None:
            return divided(self.precision_tril, z, transpose=True)
        return (self.scale_tril @ np.expand_dims(z, -1))[..., 0]


def divided(factor: Array, b: Array, transpose: bool = False) -> Array:
    """L⁻¹ b, or L'⁻¹ b, for a lower triangular factor L (..., k, k) and vectors b (..., k)."""
    from probdiff.linalg import solve_triangular

    if factor.ndim == 2 and b.ndim > 1:
        # One factor for many vectors: they are the columns of one right-hand side.
        columns = solve_triangular(factor, np.reshape(b, (-1, b.shape[-1])).T, transpose=transpose)
        return np.reshape(columns.T, b.shape)
    return solve_triangular(factor, np.expand_dims(b, -1), transpose=transpose)[..., 0]


def square(factor: Array) -> Array:
    """L L'."""
    return factor @ np.swapaxes(factor, -1, -2)


def rows_times(b: Array, factor: Array) -> Array:
    """b' C for a matrix C (..., k, r) and vectors b (..., k)."""
    return b @ factor if factor.ndim == 2 else (np.expand_dims(b, -2) @ factor)[..., 0, :]
