"""Matrix normal: a normal matrix whose rows have one covariance and whose columns another."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.multivariate.two_sided import TwoSided
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import CovarianceMatrix, RealMatrix, TriangularFactor, real_matrix
from probdiff.tree import Array


class MatrixNormal(TwoSided):
    """p(X) = exp(-|W|² / 2) / ((2π)^(M N / 2) |L|^N |R|^M),  L W R' = X - loc.

    loc                matrix (M, N), the mean
    scale_tril_row     L (M, M), lower triangular with positive diagonal; or row_covariance = L L'
    scale_tril_column  R (N, N), lower triangular with positive diagonal; or column_covariance = R R'

    Row by row, the entries are normal with covariance kron(L L', R R').

    Gupta & Nagar, Matrix Variate Distributions, ch. 2.
    """

    loc: RealMatrix
    scale_tril_row: TriangularFactor
    scale_tril_column: TriangularFactor

    support = real_matrix
    relation = "scale_tril_row as high as loc and scale_tril_column as high as loc is wide"

    @alternative
    def by_row_covariance(row_covariance: CovarianceMatrix) -> dict[str, Any]:
        return {"scale_tril_row": np.linalg.cholesky(row_covariance)}

    @alternative
    def by_column_covariance(column_covariance: CovarianceMatrix) -> dict[str, Any]:
        return {"scale_tril_column": np.linalg.cholesky(column_covariance)}

    def logpdf(self, x: Array) -> Array:
        w = self.whitened(x)
        return -0.5 * np.sum(w * w, axis=(-2, -1)) - self.log_scale() - self.size() * HALF_LOG_2PI

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return self.scale_variances()

    def mode(self) -> Array:
        return self.loc

    def entropy(self) -> Array:
        return self.log_scale() + self.size() * (0.5 + HALF_LOG_2PI)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.loc + self.coloured(rng.standard_normal((*shape, *self.event_shape)))
