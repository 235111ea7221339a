"""LKJ: correlation matrices of K variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.multivariate.lkj_cholesky import (
    LKJCholesky,
    check_dim,
    identity_if_largest,
    log_volume,
    mean_log_squares,
)
from probdiff.distributions.support import Positive, correlation_matrix
from probdiff.tree import Array


class LKJ(Multivariate):
    """p(C) = det(C)^(eta - 1) / c,  C a correlation matrix: the density of its entries below the diagonal.

    dim  K, the number of variables
    eta  positive  1: all correlation matrices alike; the larger, the closer to the identity they are

    Each correlation is 2 B - 1 with B ~ Beta(eta - 1 + K / 2, eta - 1 + K / 2). In models, `LKJCholesky` takes no
    factorisation of C, neither for this density nor for that of a multivariate normal.

    Lewandowski, Kurowicka & Joe (2009), Generating random correlation matrices based on vines and extended onion
    method, J. Multivariate Analysis 100.
    """

    dim: int
    eta: Positive = 1.0

    support = correlation_matrix

    def __init__(self, *args: Any, check: bool = True, **named: Any) -> None:
        super().__init__(*args, check=check, **named)
        check_dim("LKJ", self.dim)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.dim), int(self.dim))

    def logpdf(self, x: Array) -> Array:
        # Outside the support the determinant may be zero, and its logarithm without a slope.
        inside = np.expand_dims(self.support.contains(x), (-2, -1))
        log_det = np.linalg.slogdet(np.where(inside, x, np.eye(self.dim, dtype=x.dtype)))[1]
        return (self.eta - 1) * log_det - log_volume(self.dim, self.eta)

    def mean(self) -> Array:
        return np.eye(self.dim)

    def var(self) -> Array:
        return (1 - np.eye(self.dim)) / (2 * np.expand_dims(self.eta, (-2, -1)) + self.dim - 1)

    def mode(self) -> Array:
        return identity_if_largest(self.dim, self.eta)

    def entropy(self) -> Array:
        return log_volume(self.dim, self.eta) - (self.eta - 1) * np.sum(mean_log_squares(self.dim, self.eta), axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        factor = LKJCholesky(self.dim, self.eta).draw(shape, rng)
        drawn = factor @ np.swapaxes(factor, -1, -2)
        return np.where(np.eye(self.dim, dtype=bool), 1.0, drawn)
