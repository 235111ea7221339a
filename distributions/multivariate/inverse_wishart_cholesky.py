"""Inverse Wishart over Cholesky factors: covariance matrices by their triangular factor."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.multivariate.scatter import (
    Scatter,
    inverse_bartlett,
    log_determinant,
    log_jacobian,
    mean_log_chi,
)
from probdiff.distributions.parameters import alternative
from probdiff.distributions.support import CovarianceMatrix, Positive, TriangularFactor, covariance_cholesky
from probdiff.tree import Array


class InverseWishartCholesky(Scatter):
    """p(C) = p_IW(C C') 2^K Π_i C_ii^(K - i + 1),  i = 1 … K,  p_IW that of `InverseWishart`, C lower triangular.

    df          larger than K - 1  degrees of freedom
    scale_tril  L, lower triangular with positive diagonal; or scale = L L'

    The density is over the entries of C on and below the diagonal. C = L A⁻¹ with independent entries of the lower
    triangular A: A_ii is chi with df - K + i degrees of freedom, those below are standard normal.

    Gupta & Nagar, Matrix Variate Distributions, ch. 3.4.
    """

    df: Positive
    scale_tril: TriangularFactor

    support = covariance_cholesky
    relation = "df > K - 1 for K variables"

    @alternative
    def by_scale(scale: CovarianceMatrix) -> dict[str, Any]:
        return {"scale_tril": np.linalg.cholesky(scale)}

    def logpdf(self, x: Array) -> Array:
        from probdiff.linalg import solve_triangular

        # What is outside may be singular, and no system can be solved with it.
        inside = np.expand_dims(self.support.contains(x), (-2, -1))
        factor = np.where(inside, x, np.eye(x.shape[-1], dtype=x.dtype))
        w = solve_triangular(factor, self.scale_tril)
        return self.log_matrix_density(w, log_determinant(factor)) + log_jacobian(np.log(np.linalg.diagonal(factor)))

    def entropy(self) -> Array:
        log_diagonal = self.scale_log_diagonal() - mean_log_chi(np.flip(self.freedom(), -1))
        return self.matrix_entropy(np.sum(log_diagonal, axis=-1)) - log_jacobian(log_diagonal)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale_tril @ inverse_bartlett(self.freedom(), shape, rng)
