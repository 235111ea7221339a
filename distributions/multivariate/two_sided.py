"""What normal and t matrices share: loc + L W R', with factors of the scales of rows and of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.tree import Array

__all__ = ["TwoSided"]


class TwoSided(Multivariate, abstract=True):
    """X = loc + L W R' for M x N matrices, L = scale_tril_row, R = scale_tril_column."""

    loc: Any
    scale_tril_row: Any
    scale_tril_column: Any

    def related(self) -> Array:
        return tuple(self.loc.shape[-2:]) == (self.scale_tril_row.shape[-1], self.scale_tril_column.shape[-1])

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.loc.shape[-2:])

    def size(self) -> int:
        """M N."""
        return int(self.loc.shape[-2] * self.loc.shape[-1])

    def whitened(self, x: Array) -> Array:
        """W = L⁻¹ (X - loc) R'⁻¹."""
        from probdiff.linalg import solve_triangular

        half = solve_triangular(self.scale_tril_row, x - self.loc)
        return np.swapaxes(solve_triangular(self.scale_tril_column, np.swapaxes(half, -1, -2)), -1, -2)

    def coloured(self, w: Array) -> Array:
        """L W R'."""
        return self.scale_tril_row @ w @ np.swapaxes(self.scale_tril_column, -1, -2)

    def log_scale(self) -> Array:
        """log(|L|^N |R|^M)."""
        rows, columns = self.loc.shape[-2:]
        log_row = np.sum(np.log(np.linalg.diagonal(self.scale_tril_row)), axis=-1)
        log_column = np.sum(np.log(np.linalg.diagonal(self.scale_tril_column)), axis=-1)
        return columns * log_row + rows * log_column

    def scale_variances(self) -> Array:
        """Entry by entry, (L L')_ii (R R')_jj."""
        row = np.expand_dims(np.sum(self.scale_tril_row**2, axis=-1), -1)
        return row * np.expand_dims(np.sum(self.scale_tril_column**2, axis=-1), -2)
