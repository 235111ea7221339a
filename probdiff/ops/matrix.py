"""The functions of linear algebra in terms of rows of the table."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from probdiff.errors import ParameterError, ShapeError
from probdiff.ops.dispatch import apply, dtype_of, is_lifted, shape_of, user_line
from probdiff.ops.factor import CHOLESKY, DET, INV, LOGABSDET, LOGDET, SIGNDET, SOLVE, square_shape, transposed
from probdiff.ops.linalg import SOLVE_TRIANGULAR
from probdiff.ops.protocol import array
from probdiff.ops.spectrum import EIGH, EXPM, PINV, QR, SVD, matrix_shape, svd_parts
from probdiff.tree import Array


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors in columns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Q with orthonormal columns and upper triangular R."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """a = U diag(S) Vh with S in descending order."""

    U: Array
    S: Array
    Vh: Array


class SlogdetResult(NamedTuple):
    """det = sign exp(logabsdet)"""

    sign: Array
    logabsdet: Array


def as_matrix(name: str, a: Any) -> Array:
    a = array(a) if is_lifted(a) or isinstance(a, list | tuple) else np.asarray(a)
    matrix_shape(name, a)
    return a


def as_square(name: str, a: Any) -> Array:
    a = as_matrix(name, a)
    square_shape(name, a)
    return a


def as_columns(b: Any) -> tuple[Array, bool]:
    """b with a column axis, and whether it was added."""
    b = b if is_lifted(b) else np.asarray(b)
    if not shape_of(b):
        raise ShapeError(f"{user_line()}: the right-hand side is a number; it must be a vector or a matrix.")
    return (b[:, None], True) if len(shape_of(b)) == 1 else (b, False)


def solve_triangular(a: Array, b: Array, lower: bool = True, transpose: bool = False) -> Array:
    """The z with a z = b (or a' z = b) for a triangular matrix a of shape (..., n, n).

    b has shape (n,) or (..., n, k). Only the triangle of a is read, and only it has a gradient.
    """
    if len(shape_of(a)) < 2:
        raise ShapeError(f"solve_triangular needs a matrix, got shape {shape_of(a)}")
    b, vector = as_columns(b)
    z = apply(SOLVE_TRIANGULAR, a, b, lower=lower, transpose=transpose)
    return z[..., 0] if vector else z


def cholesky(a: Array) -> Array:
    """The lower triangular L with a positive diagonal and L L' = a, for symmetric positive definite a.

    Reads the lower triangle of a; the gradient is symmetric. Raises `LinAlgError` with the order of the first leading
    minor that is not positive; a compiled program has NaN there.
    """
    return apply(CHOLESKY, as_square("cholesky", a))


def cho_solve(factor: Array, b: Array) -> Array:
    """The z with L L' z = b, where L = cholesky(a) is known. b has shape (n,) or (..., n, k)."""
    return solve_triangular(factor, solve_triangular(factor, b), transpose=True)


def solve(a: Array, b: Array) -> Array:
    """The z with a z = b. b has shape (n,) or (..., n, k). Raises `LinAlgError` for a singular matrix."""
    b, vector = as_columns(b)
    z = apply(SOLVE, as_square("solve", a), b)
    return z[..., 0] if vector else z


def inv(a: Array) -> Array:
    """The inverse of a. Raises `LinAlgError` for a singular matrix."""
    return apply(INV, as_square("inv", a))


def det(a: Array) -> Array:
    """The determinant, with first and second derivatives at singular matrices, too."""
    return apply(DET, as_square("det", a))


def slogdet(a: Array) -> SlogdetResult:
    """Sign and log |det a|: (0, -inf) for a singular matrix, where the gradient is NaN."""
    a = as_square("slogdet", a)
    return SlogdetResult(apply(SIGNDET, a), apply(LOGABSDET, a))


def logdet(a: Array) -> Array:
    """log det a = 2 sum(log diag(cholesky(a))) of a symmetric positive definite matrix; see `cholesky`.

    The gradient is the inverse. Where the factor is used anyway, the sum over its diagonal is the cheaper form.
    """
    return apply(LOGDET, as_square("logdet", a))


def eigh(a: Array) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix: a = V diag(w) V'.

    Reads the lower triangle of a; the gradient is symmetric. Where eigenvalues are equal, a gradient leaves out the
    terms between their vectors: right for functions that do not depend on the choice of these vectors, finite always.
    """
    z = apply(EIGH, as_square("eigh", a))
    return EighResult(z[..., -1], z[..., :-1])


def eigvalsh(a: Array) -> Array:
    """The eigenvalues of a symmetric matrix, ascending; see `eigh`."""
    return eigh(a).eigenvalues


def qr(a: Array) -> QRResult:
    """a = Q R with orthonormal columns in Q (..., m, k) and upper triangular R (..., k, n), k = min(m, n).

    The first k columns of a must be independent for a derivative.
    """
    a = as_matrix("qr", a)
    m, n = shape_of(a)[-2:]
    z = apply(QR, a if m >= n else a[..., :m])
    q, r = z[..., :m, :], z[..., m:, :]
    return QRResult(q, r if m >= n else np.concatenate([r, np.matmul(transposed(q), a[..., m:])], axis=-1))


def svd(a: Array) -> SVDResult:
    """a = U diag(S) Vh, with U (..., m, k), S descending, Vh (..., k, n), k = min(m, n).

    Singular values have a derivative everywhere they are positive; the vectors where the values are distinct (terms
    between vectors of equal values are left out).
    """
    a = as_matrix("svd", a)
    return SVDResult(*svd_parts(apply(SVD, a), shape_of(a)))


def svdvals(a: Array) -> Array:
    """The singular values, descending; see `svd`."""
    return svd(a).S


def lstsq(a: Array, b: Array, rtol: float | None = None) -> Array:
    """The z of least |a z - b|, and of least |z| where there are several: pinv(a) b, for a of shape (..., m, n).

    b has shape (m,) or (..., m, k). Differentiable where the rank of a does not change; see `pinv` for rtol.
    """
    a = as_matrix("lstsq", a)
    b, vector = as_columns(b)
    if shape_of(b)[-2] != shape_of(a)[-2]:
        raise ShapeError(f"{user_line()}: lstsq got shapes {shape_of(a)} and {shape_of(b)}.")
    z = np.matmul(pinv(a, rtol), b)
    return z[..., 0] if vector else z


def pinv(a: Array, rtol: float | None = None) -> Array:
    """The Moore-Penrose inverse, differentiable where the rank of a does not change.

    rtol  singular values below rtol times the largest count as zero; max(m, n) times the rounding unit by default
    """
    return apply(PINV, as_matrix("pinv", a), rtol=rtol)


def expm(a: Array) -> Array:
    """The matrix exponential, 1 + a + a²/2 + …"""
    return apply(EXPM, as_square("expm", a))


def matrix_power(a: Array, n: int) -> Array:
    """a multiplied with itself n times, the inverse for negative n; log2(n) products."""
    a = as_square("matrix_power", a)
    if n < 0:
        a, n = inv(a), -n
    if n == 0:
        return np.broadcast_to(np.eye(shape_of(a)[-1], dtype=dtype_of(a)), shape_of(a))
    z = None
    while n:
        if n & 1:
            z = a if z is None else np.matmul(z, a)
        n >>= 1
        a = np.matmul(a, a) if n else a
    return z


def multi_dot(arrays: Any) -> Array:
    """The product of two or more matrices in the order of least work; the first and last may be vectors."""
    parts = [a if is_lifted(a) else np.asarray(a) for a in arrays]
    if len(parts) < 2:
        raise ParameterError(f"multi_dot.arrays must hold two or more arrays, got {len(parts)}")
    first, last = len(shape_of(parts[0])) == 1, len(shape_of(parts[-1])) == 1
    if first:
        parts[0] = parts[0][None, :]
    if last:
        parts[-1] = parts[-1][:, None]
    for left, right in zip(parts[:-1], parts[1:], strict=True):
        if len(shape_of(left)) != 2 or len(shape_of(right)) != 2 or shape_of(left)[1] != shape_of(right)[0]:
            shapes = ", ".join(str(shape_of(p)) for p in parts)
            raise ShapeError(f"{user_line()}: multi_dot got shapes {shapes}.")
    z = _product(parts, _cheapest([shape_of(p)[0] for p in parts] + [shape_of(parts[-1])[1]]), 0, len(parts) - 1)
    z = z[0] if first else z
    return z[..., 0] if last else z


def _cheapest(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each run of factors i..j: the classical dynamic programme over the lengths of runs."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            works = [cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i, j] = min(works)
            split[i, j] = i + works.index(cost[i, j])
    return split


def _product(parts: list[Any], split: dict[tuple[int, int], int], i: int, j: int) -> Array:
    if i == j:
        return parts[i]
    k = split[i, j]
    return np.matmul(_product(parts, split, i, k), _product(parts, split, k + 1, j))


def kron(a: Array, b: Array) -> Array:
    """The Kronecker product of matrices (..., m, n) and (..., p, q), of shape (..., m p, n q)."""
    a, b = as_matrix("kron", a), as_matrix("kron", b)
    z = a[..., :, None, :, None] * b[..., None, :, None, :]
    *lead, m, p, n, q = shape_of(z)
    return np.reshape(z, (*lead, m * p, n * q))
