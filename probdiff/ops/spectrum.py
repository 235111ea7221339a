"""Decompositions with several results, pseudo-inverses and matrix exponentials.

A row of the table has one result, so the parts of a decomposition are packed side by side into one array; slices of it
are views. Batches lead. Where a formula divides by the distance of two equal eigenvalues or singular values, the term
is left out: what does not depend on the choice of the vectors there is right, and nothing becomes NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.errors import ShapeError
from probdiff.ops.dispatch import Op, apply, dtype_of, shape_of, user_line
from probdiff.ops.factor import Inferred, attempt, floating, square_shape, symmetric, transposed
from probdiff.ops.linalg import SOLVE_TRIANGULAR
from probdiff.tree import Array


def matrix_shape(name: str, a: Any) -> tuple[int, ...]:
    """The shape of a matrix or a batch of them."""
    shape = shape_of(a)
    if len(shape) < 2:
        raise ShapeError(f"{user_line()}: {name} needs a matrix (or a batch of them), got shape {shape}.")
    return shape


def inverse_gaps(x: Array, y: Array) -> Array:
    """1 / (y_j - y_i) for i != j; 0 where x_j and x_i are equal up to rounding. x is sorted."""
    n = shape_of(x)[-1]
    largest = np.maximum(np.abs(x[..., :1]), np.abs(x[..., n - 1 :]))[..., None]
    gap = x[..., None, :] - x[..., :, None]
    tied = np.abs(gap) <= 4 * n * float(np.finfo(dtype_of(x)).eps) * largest
    return np.where(tied, 0.0, 1.0 / np.where(tied, 1.0, y[..., None, :] - y[..., :, None]))


def diagonal_of(x: Array) -> Array:
    """The diagonals of matrices, (..., n)."""
    return np.diagonal(x, 0, -2, -1)


def diagonal_matrix(x: Array) -> Array:
    """Matrices with given diagonals, (..., n, n)."""
    return np.where(np.eye(shape_of(x)[-1], dtype=bool), x[..., None, :], 0.0)


def _did_not_converge(name: str) -> Any:
    def reason(a: Any) -> str:
        found = "has elements that are not finite" if not np.isfinite(a).all() else "needs too many iterations"
        return f"{name}: the matrix {found}."

    return reason


class Eigh(Op):
    """[V | w] with a V = V diag(w), (..., n, n + 1), from the lower triangle. w_dot = diag(V' a_dot V)."""

    name = "eigh"

    def evaluate(self, a: Any) -> Any:
        return attempt(_eigh, _did_not_converge(self.name), a)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        shape = square_shape(self.name, args[0])
        return (*shape[:-1], shape[-1] + 1), floating(args[0])

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        v, w = z[..., :-1], z[..., -1]
        m = np.matmul(transposed(v), np.matmul(symmetric(dots[0]), v))
        v_dot = np.matmul(v, inverse_gaps(w, w) * m)
        return np.concatenate([v_dot, diagonal_of(m)[..., None]], axis=-1)

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        v, w = z[..., :-1], z[..., -1]
        z_bar = np.broadcast_to(z_bar, shape_of(z))
        inner = inverse_gaps(w, w) * np.matmul(transposed(v), z_bar[..., :-1]) + diagonal_matrix(z_bar[..., -1])
        return symmetric(np.matmul(v, np.matmul(inner, transposed(v))))


def _eigh(a: Any) -> Any:
    w, v = np.linalg.eigh(a)
    if np.isnan(w).any():  # LAPACK returns NaN or gives up, by its version
        raise np.linalg.LinAlgError
    return np.concatenate([v, w[..., None]], axis=-1)


class Svd(Op):
    """u, s, vh of a = u diag(s) vh, ravelled one after the other: (..., m k + k + k n), k = min(m, n)."""

    name = "svd"

    def evaluate(self, a: Any) -> Any:
        return attempt(_svd, _did_not_converge(self.name), a)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        *lead, m, n = matrix_shape(self.name, args[0])
        return (*lead, min(m, n) * (m + 1 + n)), floating(args[0])

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        shape = shape_of(args[0])
        u, s, vh = svd_parts(z, shape)
        ut, v = transposed(u), transposed(vh)
        av, ua = np.matmul(dots[0], v), np.matmul(ut, dots[0])
        p = np.matmul(ut, av)
        ps, sp = p * s[..., None, :], p * s[..., :, None]
        gaps, inverse = inverse_gaps(s, s * s), _reciprocal(s)
        u_dot = np.matmul(u, gaps * (ps + transposed(ps)))
        if shape[-2] > shape[-1]:
            u_dot = u_dot + (av - np.matmul(u, p)) * inverse[..., None, :]
        v_dot = transposed(np.matmul(v, gaps * (sp + transposed(sp))))
        if shape[-1] > shape[-2]:
            v_dot = v_dot + inverse[..., :, None] * (ua - np.matmul(p, vh))
        return _pack(u_dot, diagonal_of(p), v_dot)

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        shape = shape_of(args[0])
        u, s, vh = svd_parts(z, shape)
        u_bar, s_bar, vh_bar = svd_parts(np.broadcast_to(z_bar, shape_of(z)), shape)
        ut, v = transposed(u), transposed(vh)
        gaps, inverse = inverse_gaps(s, s * s), _reciprocal(s)
        uu, vv = np.matmul(ut, u_bar), np.matmul(vh, transposed(vh_bar))
        g, h = gaps * uu, gaps * vv
        p_bar = (g + transposed(g)) * s[..., None, :] + s[..., :, None] * (h + transposed(h)) + diagonal_matrix(s_bar)
        a_bar = np.matmul(u, np.matmul(p_bar, vh))
        if shape[-2] > shape[-1]:
            a_bar = a_bar + np.matmul((u_bar - np.matmul(u, uu)) * inverse[..., None, :], vh)
        if shape[-1] > shape[-2]:
            a_bar = a_bar + np.matmul(u, inverse[..., :, None] * (vh_bar - transposed(np.matmul(v, vv))))
        return a_bar


def _svd(a: Any) -> Any:
    return _pack(*np.linalg.svd(a, full_matrices=False))


def _pack(u: Array, s: Array, vh: Array) -> Array:
    lead = shape_of(s)[:-1]
    flat = [np.reshape(x, (*lead, shape_of(x)[-2] * shape_of(x)[-1])) for x in (u, vh)]
    return np.concatenate([flat[0], s, flat[1]], axis=-1)


def svd_parts(z: Array, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """u, s, vh out of the packed decomposition of a matrix of this shape."""
    *lead, m, n = shape
    k = min(m, n)
    u = np.reshape(z[..., : m * k], (*lead, m, k))
    return u, z[..., m * k : m * k + k], np.reshape(z[..., m * k + k :], (*lead, k, n))


def _reciprocal(s: Array) -> Array:
    """1 / s, and 0 for singular values that are zero up to rounding."""
    zero = s <= 4 * float(np.finfo(dtype_of(s)).eps) * s[..., :1]
    return np.where(zero, 0.0, 1.0 / np.where(zero, 1.0, s))


class Qr(Op):
    """q above r, (..., m + n, n), of a = q r with m >= n; r needs a diagonal without zeros.

    S. Walter & L. Lehmann, Algorithmic differentiation of linear algebra functions, arXiv:1001.1654.
    """

    name = "qr"

    def evaluate(self, a: Any) -> Any:
        return np.concatenate(np.linalg.qr(a), axis=-2)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        *lead, m, n = matrix_shape(self.name, args[0])
        return (*lead, m + n, n), floating(args[0])

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        m = shape_of(args[0])[-2]
        q, r = z[..., :m, :], z[..., m:, :]
        x = _divide(dots[0], r)
        c = np.matmul(transposed(q), x)
        below = np.tril(c, -1)
        skew = below - transposed(below)
        return np.concatenate([x - np.matmul(q, c - skew), np.matmul(c - skew, r)], axis=-2)

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        m = shape_of(args[0])[-2]
        q, r = z[..., :m, :], z[..., m:, :]
        z_bar = np.broadcast_to(z_bar, shape_of(z))
        q_bar, r_bar = z_bar[..., :m, :], np.triu(z_bar[..., m:, :])
        inner = np.matmul(r, transposed(r_bar)) - np.matmul(transposed(q_bar), q)
        inner = np.tril(inner) + transposed(np.tril(inner, -1))
        right = transposed(q_bar + np.matmul(q, inner))
        return transposed(apply(SOLVE_TRIANGULAR, r, right, lower=False, transpose=False))


def _divide(x: Array, r: Array) -> Array:
    """x r⁻¹ for upper triangular r."""
    return transposed(apply(SOLVE_TRIANGULAR, r, transposed(x), lower=False, transpose=True))


class Pinv(Op):
    """The Moore-Penrose inverse, where the rank does not change.

    G. Golub & V. Pereyra, The differentiation of pseudo-inverses, SIAM J. Numer. Anal. 10 (1973).
    """

    name = "pinv"

    def evaluate(self, a: Any, *, rtol: float | None = None) -> Any:
        a = np.asarray(a)
        rtol = max(a.shape[-2:]) * float(np.finfo(floating(a)).eps) if rtol is None else rtol
        return attempt(lambda x: np.linalg.pinv(x, rcond=rtol), _did_not_converge(self.name), a)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        *lead, m, n = matrix_shape(self.name, args[0])
        return (*lead, n, m), floating(args[0])

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        a, a_dot, zt = args[0], dots[0], transposed(z)
        back = transposed(a_dot)
        left, right = product(z, zt, back), product(back, zt, z)  # times (1 - a z), and (1 - z a) times it
        return left + right - product(z, a_dot, z) - product(left, a, z) - product(z, a, right)

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        a, zt = args[0], transposed(z)
        z_bar = np.broadcast_to(z_bar, shape_of(z))
        back = transposed(z_bar)
        left, right = product(zt, z, back), product(back, z, zt)  # times (1 - z a), and (1 - a z) times it
        return left + right - product(zt, z_bar, zt) - product(left, z, a) - product(a, z, right)


def product(x: Array, y: Array, z: Array) -> Array:
    """x y z by way of the smaller of the two products."""
    (m, n), (p, q) = shape_of(x)[-2:], shape_of(z)[-2:]
    first, last = m * p * (n + q), n * q * (p + m)
    return np.matmul(np.matmul(x, y), z) if first <= last else np.matmul(x, np.matmul(y, z))


class Expm(Op):
    """exp(a) = 1 + a + a²/2 + …; exp([[a, h], [0, a]]) has the derivative in the direction h in its corner.

    N. Higham, Functions of Matrices (2008), section 3.2.
    """

    name = "expm"

    def evaluate(self, a: Any) -> Any:
        from scipy.linalg import expm

        a = np.asarray(a)
        if not np.isfinite(a).all():  # SciPy's scaling does not end
            return np.full(a.shape, np.nan, floating(a))
        return expm(a) if a.size else np.zeros(a.shape, floating(a))

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        return square_shape(self.name, args[0]), floating(args[0])

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        return self._corner(args[0], dots[0])

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        return self._corner(transposed(args[0]), np.broadcast_to(z_bar, shape_of(z)))

    def _corner(self, a: Array, h: Array) -> Array:
        n = shape_of(a)[-1]
        above = np.concatenate([a, h], axis=-1)
        below = np.concatenate([np.zeros(shape_of(a), dtype_of(a)), a], axis=-1)
        return apply(self, np.concatenate([above, below], axis=-2))[..., :n, n:]


EIGH = Eigh()
SVD = Svd()
QR = Qr()
PINV = Pinv()
EXPM = Expm()
