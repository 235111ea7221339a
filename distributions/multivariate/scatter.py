"""Wishart matrices and their inverses, both by triangular factors: X = C C' for a value, L L' for its scale.

One density serves both, at w = L⁻¹ C for a Wishart and w = C⁻¹ L for its inverse: w w' is a Wishart matrix of scale one
or has the same law up to a rotation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import gammaln, psi

from probdiff.distributions.base import Multivariate
from probdiff.distributions.stable import LOG_2
from probdiff.errors import DataError
from probdiff.tree import Array

__all__ = [
    "Scatter",
    "bartlett",
    "factor_inside",
    "inverse_bartlett",
    "log_determinant",
    "log_jacobian",
    "log_multigamma",
    "mean_log_chi",
    "wishart_fit",
]


class Scatter(Multivariate, abstract=True):
    """A law of K x K matrices with `df` degrees of freedom, and a scale given by its factor `scale_tril`."""

    df: Any
    scale_tril: Any

    def related(self) -> Array:
        return self.df > self.scale_tril.shape[-1] - 1

    @property
    def event_shape(self) -> tuple[int, ...]:
        return tuple(self.scale_tril.shape[-2:])

    def freedom(self) -> Array:
        """df - i + 1 for i = 1 … K: the degrees of freedom of the independent parts of w w'."""
        return np.expand_dims(self.df, -1) - np.arange(self.scale_tril.shape[-1], dtype=self.df.dtype)

    def log_matrix_density(self, w: Array, log_det_x: Array) -> Array:
        """df log|w| - (K + 1) log|C| - |w|² / 2 - df K / 2 log 2 - log Γ_K(df / 2)."""
        dim = w.shape[-1]
        squares = np.sum(w * w, axis=(-2, -1))
        return self.df * log_determinant(w) - (dim + 1) * log_det_x - 0.5 * squares - self.log_constant()

    def matrix_entropy(self, mean_log_det_x: Array) -> Array:
        """The expectation of minus the density above, given that of log|C|."""
        dim = self.scale_tril.shape[-1]
        constant = 0.5 * dim * (1 + LOG_2) * self.df + log_multigamma(0.5 * self.df, dim)
        mean_log_det_w = np.sum(mean_log_chi(self.freedom()), axis=-1)
        return constant - self.df * mean_log_det_w + (dim + 1) * mean_log_det_x

    def log_constant(self) -> Array:
        """df K / 2 log 2 + log Γ_K(df / 2)."""
        dim = self.scale_tril.shape[-1]
        return 0.5 * dim * LOG_2 * self.df + log_multigamma(0.5 * self.df, dim)

    def inverse_scale(self) -> Array:
        """(L L')⁻¹."""
        from probdiff.linalg import solve_triangular

        inverse = solve_triangular(self.scale_tril, np.broadcast_to(np.eye(self.event_shape[0]), self.scale_tril.shape))
        return np.swapaxes(inverse, -1, -2) @ inverse

    def scale_log_diagonal(self) -> Array:
        """The logs of L's diagonal."""
        return np.log(np.linalg.diagonal(self.scale_tril))


def log_determinant(factor: Array) -> Array:
    """log|C| of a triangular matrix."""
    return np.sum(np.log(np.linalg.diagonal(factor)), axis=-1)


def log_jacobian(log_diagonal: Array) -> Array:
    """log |d(C C')/dC| = K log 2 + Σ_i (K - i + 1) log C_ii,  i = 1 … K, over the lower triangles."""
    dim = log_diagonal.shape[-1]
    return dim * LOG_2 + np.sum(np.arange(dim, 0, -1, dtype=log_diagonal.dtype) * log_diagonal, axis=-1)


def log_multigamma(a: Array, dim: int) -> Array:
    """log Γ_K(a) = K (K - 1) / 4 log π + Σ_j log Γ(a - j / 2),  j = 0 … K - 1."""
    parts = gammaln(np.expand_dims(a, -1) - 0.5 * np.arange(dim, dtype=a.dtype))
    return np.sum(parts, axis=-1) + 0.25 * dim * (dim - 1) * math.log(math.pi)


def wishart_fit(family: Any, mean_log_det: Array, mean: Array) -> tuple[float, Array]:
    """The degrees of freedom and the scale of a Wishart law of largest likelihood, from averages of log|X| and X.

    The scale is the mean over df, which is the root of log|mean| + Σ_j ψ((df - j) / 2) + K log(2 / df) = mean log|X|.
    """
    from scipy.optimize import brentq

    dim = mean.shape[-1]
    sign, log_det = np.linalg.slogdet(mean)
    gap = float(log_det - mean_log_det)
    if sign <= 0 or not gap > 1e-10:
        raise DataError(
            f"{family.__name__}.fit found no maximum: the matrices must differ, and not be alike but for rounding."
        )

    def excess(u: float) -> float:
        df = dim - 1 + math.exp(u)
        return float(np.sum(psi(0.5 * (df - np.arange(dim)))) + dim * math.log(2 / df) + gap)

    df = dim - 1 + math.exp(brentq(excess, -40.0, 40.0, xtol=1e-14))
    return df, mean / df


def mean_log_chi(freedom: Array) -> Array:
    """The expectation of the log of a chi variable."""
    return 0.5 * (psi(0.5 * freedom) + LOG_2)


def bartlett(freedom: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Lower triangular A with independent entries: chi on the diagonal, standard normal below."""
    dim = freedom.shape[-1]
    diagonal = np.sqrt(2 * rng.standard_gamma(0.5 * freedom, (*shape, dim)))
    below = np.tril(rng.standard_normal((*shape, dim, dim)), -1)
    return below + np.expand_dims(diagonal, -1) * np.eye(dim)


def inverse_bartlett(freedom: Array, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """The inverse of a lower triangular A with A'A Wishart: that of `bartlett`, with the freedoms in reverse."""
    from probdiff.linalg import solve_triangular

    factor = bartlett(np.flip(freedom, -1), shape, rng)
    return solve_triangular(factor, np.broadcast_to(np.eye(factor.shape[-1]), factor.shape))


def factor_inside(support: Any, x: Array) -> Array:
    """The Cholesky factor of the matrices in the support, and of the identity in place of the others."""
    inside = np.expand_dims(support.contains(x), (-2, -1))
    return np.linalg.cholesky(np.where(inside, x, np.eye(x.shape[-1], dtype=x.dtype)))
