"""Wishart: the scatter matrix of normal vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.multivariate.location_scale import square
from probdiff.distributions.multivariate.scatter import (
    Scatter,
    bartlett,
    factor_inside,
    log_determinant,
    mean_log_chi,
    wishart_fit,
)
from probdiff.distributions.parameters import alternative
from probdiff.distributions.support import CovarianceMatrix, Positive, TriangularFactor, covariance_matrix
from probdiff.errors import DataError
from probdiff.tree import Array


class Wishart(Scatter):
    """p(X) = |X|^((df - K - 1) / 2) exp(-tr(V⁻¹ X) / 2) / (2^(df K / 2) |V|^(df / 2) Γ_K(df / 2)),  V = L L'.

    df          larger than K - 1  degrees of freedom
    scale_tril  L, lower triangular with positive diagonal; or scale = V, such that the mean is df V

    X is symmetric and positive definite; the density is over its entries on and below the diagonal. In models, take
    `WishartCholesky`, which factorises no matrix.

    Gupta & Nagar, Matrix Variate Distributions, ch. 3.
    """

    df: Positive
    scale_tril: TriangularFactor

    support = covariance_matrix
    statistic_names = ("log|X|", "X")
    relation = "df > K - 1 for K variables"

    @alternative
    def by_scale(scale: CovarianceMatrix) -> dict[str, Any]:
        return {"scale_tril": np.linalg.cholesky(scale)}

    def logpdf(self, x: Array) -> Array:
        from probdiff.linalg import solve_triangular

        factor = factor_inside(self.support, x)
        return self.log_matrix_density(solve_triangular(self.scale_tril, factor), log_determinant(factor))

    def mean(self) -> Array:
        return np.expand_dims(self.df, (-2, -1)) * square(self.scale_tril)

    def var(self) -> Array:
        scale = square(self.scale_tril)
        diagonal = np.expand_dims(np.linalg.diagonal(scale), -1)
        return np.expand_dims(self.df, (-2, -1)) * (scale**2 + diagonal * np.swapaxes(diagonal, -1, -2))

    def mode(self) -> Array:
        excess = np.expand_dims(self.df - self.scale_tril.shape[-1] - 1, (-2, -1))
        return np.where(excess > 0, excess, np.nan) * square(self.scale_tril)

    def entropy(self) -> Array:
        return self.matrix_entropy(np.sum(self.scale_log_diagonal() + mean_log_chi(self.freedom()), axis=-1))

    def exponential_form(self) -> ExponentialForm:
        dim = self.scale_tril.shape[-1]
        log_partition = self.df * np.sum(self.scale_log_diagonal(), axis=-1) + self.log_constant()
        parameters = (0.5 * (self.df - dim - 1), -0.5 * self.inverse_scale())
        return ExponentialForm(wishart_statistics, parameters, log_partition)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return square(self.scale_tril @ bartlett(self.freedom(), shape, rng))

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The degrees of freedom by a root, the scale from the mean of the matrices."""
        if not np.all(cls.support.contains(x)):
            raise DataError("Wishart.fit: an observation must be a symmetric and positive definite matrix.")
        return cls.from_statistics(*(np.tensordot(w, each, 1) for each in wishart_statistics(x)))

    @classmethod
    def from_statistics(cls, *means: Array) -> Self:
        df, scale = wishart_fit(cls, *means)
        return cls(df, scale=scale)


def wishart_statistics(x: Array) -> tuple[Array, Array]:
    """log|X| and X."""
    return 2 * log_determinant(factor_inside(covariance_matrix, x)), x
