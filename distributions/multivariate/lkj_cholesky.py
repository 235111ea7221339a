"""LKJ over Cholesky factors: correlations of K variables by the triangular factor of their matrix."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln, psi

from probdiff.distributions.base import Multivariate
from probdiff.distributions.stable import log_beta
from probdiff.distributions.support import Positive, correlation_cholesky
from probdiff.errors import ParameterError
from probdiff.tree import Array


class LKJCholesky(Multivariate):
    """p(L) = Π_i L_ii^(K - i + 2 eta - 2) / c,  i = 2 … K,  L lower triangular with rows of length one.

    dim  K, the number of variables
    eta  positive  1: all correlation matrices L L' alike; the larger, the closer to the identity they are

    The density is over the entries of L below the diagonal: that of `LKJ` at L L' times the Jacobian Π_i L_ii^(K - i).
    c is the constant of `LKJ`.

    Lewandowski, Kurowicka & Joe (2009), Generating random correlation matrices based on vines and extended onion
    method, J. Multivariate Analysis 100.
    """

    dim: int
    eta: Positive = 1.0

    support = correlation_cholesky

    def __init__(self, *args: Any, check: bool = True, **named: Any) -> None:
        super().__init__(*args, check=check, **named)
        check_dim("LKJCholesky", self.dim)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (int(self.dim), int(self.dim))

    def logpdf(self, x: Array) -> Array:
        k = np.arange(1, self.dim, dtype=self.eta.dtype)
        powers = np.expand_dims(2 * self.eta, -1) + (self.dim - 3 - k)
        return np.sum(powers * np.log(np.linalg.diagonal(x)[..., 1:]), axis=-1) - log_volume(self.dim, self.eta)

    def mean(self) -> Array:
        return np.expand_dims(self._mean_diagonal(), -1) * np.eye(self.dim)

    def var(self) -> Array:
        # Below the diagonal a squared entry has one mean everywhere; on it, the rest of the row's length.
        a, b = squared_diagonal(self.dim, self.eta)
        below = np.tril(np.ones((self.dim, self.dim)), -1) / (2 * np.expand_dims(self.eta, (-2, -1)) + self.dim - 1)
        return below + np.expand_dims(a / (a + b) - self._mean_diagonal() ** 2, -1) * np.eye(self.dim)

    def mode(self) -> Array:
        return identity_if_largest(self.dim, self.eta)

    def entropy(self) -> Array:
        powers = np.expand_dims(2 * self.eta, -1) + (self.dim - 3 - np.arange(self.dim))
        return log_volume(self.dim, self.eta) - 0.5 * np.sum(powers * mean_log_squares(self.dim, self.eta), axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # A row of k normal numbers and a chi one has length one after division, in the proportions of the onion method:
        # the squared length of the k is Beta(k / 2, eta + (K - 1 - k) / 2), and their direction is uniform.
        k = np.arange(self.dim)
        diagonal = np.sqrt(rng.chisquare(np.expand_dims(2.0 * self.eta, -1) + k[::-1], (*shape, self.dim)))
        below = np.tril(rng.standard_normal((*shape, self.dim, self.dim)), -1)
        rows = below + np.expand_dims(diagonal, -1) * np.eye(self.dim)
        return rows / np.sqrt(np.sum(rows * rows, axis=-1, keepdims=True))

    def _mean_diagonal(self) -> Array:
        a, b = squared_diagonal(self.dim, self.eta)
        return np.exp(gammaln(a + 0.5) + gammaln(a + b) - gammaln(a) - gammaln(a + b + 0.5))


def check_dim(owner: str, dim: Any) -> None:
    """ParameterError unless `dim` is a number of variables."""
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or dim < 1:
        shown = dim.item() if isinstance(dim, np.generic) else dim
        raise ParameterError(f"{owner}.dim must be a positive integer, the number of variables, got {shown!r}")


def log_volume(dim: int, eta: Array) -> Array:
    """log c, the integral of det(C)^(eta - 1) over all correlation matrices: a sum over the rows of their factors.

    c = Π_k π^(k / 2) B(eta + (K - 1 - k) / 2, k / 2) / Γ(k / 2),  k = 1 … K - 1
    """
    k = np.arange(1.0, dim, dtype=eta.dtype)
    rows = log_beta(np.expand_dims(eta, -1) + 0.5 * (dim - 1 - k), 0.5 * k)
    return np.sum(rows + 0.5 * k * math.log(math.pi) - gammaln(0.5 * k), axis=-1)


def squared_diagonal(dim: int, eta: Array) -> tuple[Array, Array]:
    """The a and b of L_ii² ~ Beta(a, b), i = 1 … K; b = 0 for L_11 = 1."""
    k = np.arange(dim)
    return np.expand_dims(eta, -1) + 0.5 * (dim - 1 - k), 0.5 * k


def mean_log_squares(dim: int, eta: Array) -> Array:
    """The expectations of log L_ii²."""
    a, b = squared_diagonal(dim, eta)
    return psi(a) - psi(a + b)


def identity_if_largest(dim: int, eta: Array) -> Array:
    """The identity where eta >= 1: below, the density grows without bound towards singular matrices."""
    return np.where(np.expand_dims(eta, (-2, -1)) >= 1, np.eye(dim), math.nan)
