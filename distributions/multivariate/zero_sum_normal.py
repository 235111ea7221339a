"""Zero-sum normal: normal effects that sum to zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Multivariate
from probdiff.distributions.multivariate.lkj_cholesky import check_dim
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Positive, sum_to_zero
from probdiff.tree import Array


class ZeroSumNormal(Multivariate):
    """p(x) = sqrt(K) exp(-|x|² / (2 scale²)) / (sqrt(2π) scale)^(K - 1),  Σ x_k = 0: the density of any K - 1 of the K.

    dim    K, the length
    scale  positive  standard deviation of the normal numbers whose mean is taken away

    The covariance is scale² (1 - 1 / K) on the diagonal and -scale² / K beside it. Densities over coordinates in an
    orthonormal basis of the plane lack the factor sqrt(K).

    Rue & Held, Gaussian Markov Random Fields, ch. 2.3.
    """

    dim: int
    scale: Positive = 1.0

    support = sum_to_zero

    def __init__(self, *args: Any, check: bool = True, **named: Any) -> None:
        super().__init__(*args, check=check, **named)
        check_dim("ZeroSumNormal", self.dim)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.dim),)

    def logpdf(self, x: Array) -> Array:
        w = x / np.expand_dims(self.scale, -1)
        return -0.5 * np.sum(w * w, axis=-1) - self._log_constant()

    def mean(self) -> Array:
        return np.zeros(self.event_shape)

    def var(self) -> Array:
        return np.expand_dims(self.scale**2, -1) * np.full(self.event_shape, 1 - 1 / self.dim)

    def cov(self) -> Array:
        """The covariance matrix, scale² (1 - 1 / K) on the diagonal and -scale² / K beside it."""
        return np.expand_dims(self.scale**2, (-2, -1)) * (np.eye(self.dim) - 1 / self.dim)

    def mode(self) -> Array:
        return np.zeros(self.event_shape)

    def entropy(self) -> Array:
        return self._log_constant() + 0.5 * (self.dim - 1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        z = rng.standard_normal((*shape, self.dim))
        return np.expand_dims(self.scale, -1) * (z - np.mean(z, axis=-1, keepdims=True))

    def _log_constant(self) -> Array:
        return (self.dim - 1) * (np.log(self.scale) + HALF_LOG_2PI) - 0.5 * math.log(self.dim)
