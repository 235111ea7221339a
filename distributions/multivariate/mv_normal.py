"""Multivariate normal: correlated normal variables."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from probdiff.distributions.divergence import closed_form
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.multivariate.fitting import scatter_factor
from probdiff.distributions.multivariate.location_scale import LocationScale, square
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import (
    CovarianceMatrix,
    PositiveVector,
    RealVector,
    TriangularFactor,
    covariance_matrix,
    real_vector,
)
from probdiff.errors import DataError
from probdiff.tree import Array


class MvNormal(LocationScale):
    """p(x) = exp(-|w|² / 2) / ((2π)^(K/2) det L),  L w = x - loc.

    loc             vector, the mean
    scale_tril      L, lower triangular with positive diagonal; or covariance = L L'
    precision_tril  in place of L: C, lower triangular, w = C' (x - loc); or precision = C C'
    scale_diag      in place of L: its diagonal, vector of positive numbers, for independent variables

    A density takes one factorisation of the covariance or of the precision, and none of a factor.

    Mardia, Kent & Bibby, Multivariate Analysis, ch. 3.
    """

    loc: RealVector
    scale_tril: TriangularFactor = None
    precision_tril: TriangularFactor = None
    scale_diag: PositiveVector = None

    support = real_vector
    statistic_names = ("x", "x x'")
    exclusive = ("scale_tril", "precision_tril", "scale_diag")
    relation = "loc and its scale of one length"

    @alternative
    def by_covariance(covariance: CovarianceMatrix) -> dict[str, Any]:
        return {"scale_tril": np.linalg.cholesky(covariance)}

    @alternative
    def by_precision(precision: CovarianceMatrix) -> dict[str, Any]:
        return {"precision_tril": np.linalg.cholesky(precision)}

    def logpdf(self, x: Array) -> Array:
        return -0.5 * self.squares(x - self.loc) - self.log_scale() - self.loc.shape[-1] * HALF_LOG_2PI

    def mean(self) -> Array:
        return self.loc

    def var(self) -> Array:
        return self.scale_variances()

    def cov(self) -> Array:
        """The covariance matrix."""
        return square(self.factor())

    def mode(self) -> Array:
        return self.loc

    def entropy(self) -> Array:
        return self.log_scale() + self.loc.shape[-1] * (0.5 + HALF_LOG_2PI)

    def exponential_form(self) -> ExponentialForm:
        precision = self.precision_matrix()
        towards = (precision @ np.expand_dims(self.loc, -1))[..., 0]
        log_partition = 0.5 * self.squares(self.loc) + self.log_scale()
        return ExponentialForm(outer_products, (towards, -0.5 * precision), log_partition)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.loc + self.coloured(rng.standard_normal((*shape, *self.event_shape)))

    @classmethod
    def estimate(cls, x: Array, w: Array) -> Self:
        """The mean and the covariance (over the total weight) of observations, one a row."""
        loc = w @ x
        return cls(loc, scatter_factor(cls, x - loc, w))

    @classmethod
    def from_statistics(cls, *means: Array) -> Self:
        loc, square_mean = means
        covariance = square_mean - np.outer(loc, loc)
        if not covariance_matrix.contains(covariance):
            raise DataError("MvNormal.fit_statistics: averages of x and x x' must have a positive definite covariance.")
        return cls(loc, covariance=covariance)


def outer_products(x: Array) -> tuple[Array, Array]:
    """x and x x'."""
    return x, np.expand_dims(x, -1) * np.expand_dims(x, -2)


@closed_form(MvNormal, MvNormal)
def _divergence(p: MvNormal, q: MvNormal) -> Array:
    # |A_q⁻¹ A_p|², column by column, is the trace of Q⁻¹ P.
    trace = np.sum(q.squares(np.moveaxis(p.factor(), -1, 0)), axis=0)
    return 0.5 * (trace + q.squares(p.loc - q.loc) - p.loc.shape[-1]) + q.log_scale() - p.log_scale()
