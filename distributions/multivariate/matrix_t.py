"""Matrix t: a normal matrix over an independent estimate of the covariance of its rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln, psi

from probdiff.distributions.multivariate.scatter import bartlett
from probdiff.distributions.multivariate.two_sided import TwoSided
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import log_beta
from probdiff.distributions.support import CovarianceMatrix, Positive, RealMatrix, TriangularFactor, real_matrix
from probdiff.tree import Array


class MatrixT(TwoSided):
    """p(X) = Γ_M(b) / (π^(M N / 2) Γ_M(b - N / 2) |L|^N |R|^M) |1 + W W'|^-b,  L W R' = X - loc.

    df                 positive, degrees of freedom; b = (df + M + N - 1) / 2
    loc                matrix (M, N)
    scale_tril_row     L (M, M), lower triangular with positive diagonal; or row_scale = L L'
    scale_tril_column  R (N, N), lower triangular with positive diagonal; or column_scale = R R'

    The covariance is kron(L L', R R') / (df - 2), row by row: a matrix of one column is `MvStudentT` with the scale
    matrix L L' / df.

    Gupta & Nagar, Matrix Variate Distributions, ch. 4.
    """

    df: Positive
    loc: RealMatrix
    scale_tril_row: TriangularFactor
    scale_tril_column: TriangularFactor

    support = real_matrix
    relation = "scale_tril_row as high as loc and scale_tril_column as high as loc is wide"

    @alternative
    def by_row_scale(row_scale: CovarianceMatrix) -> dict[str, Any]:
        return {"scale_tril_row": np.linalg.cholesky(row_scale)}

    @alternative
    def by_column_scale(column_scale: CovarianceMatrix) -> dict[str, Any]:
        return {"scale_tril_column": np.linalg.cholesky(column_scale)}

    def logpdf(self, x: Array) -> Array:
        rows, columns = self.event_shape
        # Infinities and NaN, which are outside, have no factorisation.
        inside = np.expand_dims(self.support.contains(x), (-2, -1))
        w = self.whitened(np.where(inside, x, self.loc))
        # The determinant is that of 1 + W'W, too: take the smaller one.
        w = w if rows <= columns else np.swapaxes(w, -1, -2)
        factor = np.linalg.cholesky(np.eye(min(rows, columns), dtype=w.dtype) + w @ np.swapaxes(w, -1, -2))
        log_det = 2 * np.sum(np.log(np.linalg.diagonal(factor)), axis=-1)
        return -self._exponent() * log_det - self._log_constant()

    def mean(self) -> Array:
        return np.where(np.expand_dims(self.df, (-2, -1)) > 1, self.loc, math.nan)

    def var(self) -> Array:
        df = np.expand_dims(self.df, (-2, -1))
        finite = self.scale_variances() / (df - 2)
        return np.where(df > 2, finite, np.where(df > 1, math.inf, math.nan))

    def mode(self) -> Array:
        return self.loc

    def entropy(self) -> Array:
        a = self._halves()
        # 1 / |1 + W W'| is a product of independent beta variables.
        mean_log_det = np.sum(psi(a + 0.5 * self.event_shape[1]) - psi(a), axis=-1)
        return self._exponent() * mean_log_det + self._log_constant()

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        from probdiff.linalg import solve_triangular

        rows = self.event_shape[0]
        freedom = np.expand_dims(self.df + (rows - 1), -1) - np.arange(rows)
        z = rng.standard_normal((*shape, *self.event_shape))
        return self.loc + self.coloured(solve_triangular(bartlett(freedom, shape, rng), z, transpose=True))

    def _exponent(self) -> Array:
        return 0.5 * (self.df + (sum(self.event_shape) - 1))

    def _halves(self) -> Array:
        """(df + j) / 2 for j = 0 … M - 1."""
        return 0.5 * (np.expand_dims(self.df, -1) + np.arange(self.event_shape[0], dtype=self.df.dtype))

    def _log_constant(self) -> Array:
        # Γ(a + N / 2) / Γ(a) by a beta function, in which large degrees of freedom do not cancel.
        c = np.asarray(0.5 * self.event_shape[1], dtype=self.df.dtype)
        ratio = np.sum(gammaln(c) - log_beta(self._halves(), c), axis=-1)
        return self.log_scale() + 0.5 * self.size() * math.log(math.pi) - ratio
