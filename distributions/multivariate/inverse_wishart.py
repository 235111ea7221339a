"""Inverse Wishart: the covariance matrix whose inverse is Wishart."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.multivariate.location_scale import square
from probdiff.distributions.multivariate.scatter import (
    Scatter,
    factor_inside,
    inverse_bartlett,
    log_determinant,
    mean_log_chi,
    wishart_fit,
)
from probdiff.distributions.parameters import alternative
from probdiff.distributions.support import CovarianceMatrix, Positive, TriangularFactor, covariance_matrix
from probdiff.errors import DataError
from probdiff.tree import Array


class InverseWishart(Scatter):
    """p(X) = |S|^(df / 2) exp(-tr(S X⁻¹) / 2) / (2^(df K / 2) |X|^((df + K + 1) / 2) Γ_K(df / 2)),  S = L L'.

    df          larger than K - 1  degrees of freedom
    scale_tril  L, lower triangular with positive diagonal; or scale = S, such that the mean is S / (df - K - 1)

    X⁻¹ is `Wishart` with scale S⁻¹. X is symmetric and positive definite; the density is over its entries on and below
    the diagonal. In models, take `InverseWishartCholesky`, which factorises no matrix.

    Gupta & Nagar, Matrix Variate Distributions, ch. 3.4.
    """

    df: Positive
    scale_tril: TriangularFactor

    support = covariance_matrix
    statistic_names = ("log|X|", "X⁻¹")
    relation = "df > K - 1 for K variables"

    @alternative
    def by_scale(scale: CovarianceMatrix) -> dict[str, Any]:
        return {"scale_tril": np.linalg.cholesky(scale)}

    def logpdf(self, x: Array) -> Array:
        from probdiff.linalg import solve_triangular

        factor = factor_inside(self.support, x)
        return self.log_matrix_density(solve_triangular(factor, self.scale_tril), log_determinant(factor))

    def mean(self) -> Array:
        excess = self._excess()
        return square(self.scale_tril) / np.where(excess > 0, excess, math.nan)

    def var(self) -> Array:
        m = self._excess()
        scale = square(self.scale_tril)
        diagonal = np.expand_dims(np.linalg.diagonal(scale), -1)
        parts = (m + 2) * scale**2 + m * diagonal * np.swapaxes(diagonal, -1, -2)
        return parts / np.where(m > 2, (m + 1) * m * m * (m - 2), math.nan)

    def mode(self) -> Array:
        return square(self.scale_tril) / (self._excess() + 2 * (self.scale_tril.shape[-1] + 1))

    def entropy(self) -> Array:
        return self.matrix_entropy(np.sum(self.scale_log_diagonal() - mean_log_chi(self.freedom()), axis=-1))

    def exponential_form(self) -> ExponentialForm:
        dim = self.scale_tril.shape[-1]
        log_partition = self.log_constant() - self.df * np.sum(self.scale_log_diagonal(), axis=-1)
        parameters = (-0.5 * (self.df + dim + 1), -0.5 * square(self.scale_tril))
        return ExponentialForm(inverse_wishart_statistics, parameters, log_partition)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return square(self.scale_tril @ inverse_bartlett(self.freedom(), shape, rng))

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The degrees of freedom by a root, the scale from the mean of their inverses."""
        if not np.all(cls.support.contains(x)):
            raise DataError("InverseWishart.fit: an observation must be a symmetric and positive definite matrix.")
        return cls.from_statistics(*(np.tensordot(w, each, 1) for each in inverse_wishart_statistics(x)))

    @classmethod
    def from_statistics(cls, *means: Array) -> Self:
        mean_log_det, inverse_mean = means
        df, scale = wishart_fit(cls, -mean_log_det, inverse_mean)
        return cls(df, scale=np.linalg.inv(scale))

    def _excess(self) -> Array:
        """df - K - 1, beside matrices."""
        return np.expand_dims(self.df, (-2, -1)) - (self.scale_tril.shape[-1] + 1)


def inverse_wishart_statistics(x: Array) -> tuple[Array, Array]:
    """log|X| and X⁻¹."""
    return 2 * log_determinant(factor_inside(covariance_matrix, x)), np.linalg.inv(x)
