"""Wishart over Cholesky factors: scatter matrices by their triangular factor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln

from probdiff.distributions.multivariate.scatter import (
    Scatter,
    bartlett,
    log_determinant,
    log_jacobian,
    mean_log_chi,
)
from probdiff.distributions.parameters import alternative
from probdiff.distributions.support import CovarianceMatrix, Positive, TriangularFactor, covariance_cholesky
from probdiff.tree import Array


class WishartCholesky(Scatter):
    """p(C) = p_W(C C') 2^K Π_i C_ii^(K - i + 1),  i = 1 … K,  p_W the density of `Wishart`, C lower triangular.

    df          larger than K - 1  degrees of freedom
    scale_tril  L, lower triangular with positive diagonal; or scale = L L'

    The density is over the entries of C on and below the diagonal. C = L A with independent entries of A: A_ii is chi
    with df - i + 1 degrees of freedom, those below are standard normal.

    Bartlett (1933), On the theory of statistical regression, Proc. R. Soc. Edinburgh 53.
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

        w = solve_triangular(self.scale_tril, x)
        return self.log_matrix_density(w, log_determinant(x)) + log_jacobian(np.log(np.linalg.diagonal(x)))

    def mean(self) -> Array:
        return self.scale_tril * np.expand_dims(self._mean_chi(), -2)

    def var(self) -> Array:
        # C_ij = Σ_k L_ik A_kj over k >= j, whose terms have variance L_ik² but for the chi one, k = j.
        squares = self.scale_tril**2
        beyond = np.flip(np.cumsum(np.flip(squares, -1), axis=-1), -1) - squares
        chi = np.expand_dims(self.freedom() - self._mean_chi() ** 2, -2)
        return np.tril(beyond + squares * chi)

    def entropy(self) -> Array:
        log_diagonal = self.scale_log_diagonal() + mean_log_chi(self.freedom())
        return self.matrix_entropy(np.sum(log_diagonal, axis=-1)) - log_jacobian(log_diagonal)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale_tril @ bartlett(self.freedom(), shape, rng)

    def _mean_chi(self) -> Array:
        half = 0.5 * self.freedom()
        return math.sqrt(2.0) * np.exp(gammaln(half + 0.5) - gammaln(half))
