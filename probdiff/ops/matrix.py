"""The functions of linear algebra in terms of rows of the table, and the NumPy functions that they answer for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from probdiff.errors import ParameterError, ShapeError, UnsupportedError
from probdiff.ops.dispatch import apply, dtype_of, functions, is_lifted, shape_of, user_line
from probdiff.ops.factor import CHOLESKY, DET, INV, LOGABSDET, LOGDET, SIGNDET, SOLVE, square_shape, transposed
from probdiff.ops.functions.products import norm
from probdiff.ops.linalg import SOLVE_TRIANGULAR
from probdiff.ops.protocol import array, refuse, rule
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


class LstsqResult(NamedTuple):
    """What np.linalg.lstsq returns."""

    x: Array
    residuals: Array
    rank: Any
    s: Array


def _matrix(name: str, a: Any) -> Array:
    a = array(a) if is_lifted(a) or isinstance(a, list | tuple) else np.asarray(a)
    matrix_shape(name, a)
    return a


def _square(name: str, a: Any) -> Array:
    a = _matrix(name, a)
    square_shape(name, a)
    return a


def _right_side(b: Any) -> tuple[Array, bool]:
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
    b, vector = _right_side(b)
    z = apply(SOLVE_TRIANGULAR, a, b, lower=lower, transpose=transpose)
    return z[..., 0] if vector else z


def cholesky(a: Array) -> Array:
    """The lower triangular L with a positive diagonal and L L' = a, for symmetric positive definite a.

    Reads the lower triangle of a; the gradient is symmetric. Raises `LinAlgError` with the order of the first leading
    minor that is not positive; a compiled program has NaN there.
    """
    return apply(CHOLESKY, _square("cholesky", a))


def cho_solve(factor: Array, b: Array) -> Array:
    """The z with L L' z = b, where L = cholesky(a) is known. b has shape (n,) or (..., n, k)."""
    return solve_triangular(factor, solve_triangular(factor, b), transpose=True)


def solve(a: Array, b: Array) -> Array:
    """The z with a z = b. b has shape (n,) or (..., n, k). Raises `LinAlgError` for a singular matrix."""
    b, vector = _right_side(b)
    z = apply(SOLVE, _square("solve", a), b)
    return z[..., 0] if vector else z


def inv(a: Array) -> Array:
    """The inverse of a. Raises `LinAlgError` for a singular matrix."""
    return apply(INV, _square("inv", a))


def det(a: Array) -> Array:
    """The determinant, with first and second derivatives at singular matrices, too."""
    return apply(DET, _square("det", a))


def slogdet(a: Array) -> SlogdetResult:
    """Sign and log |det a|: (0, -inf) for a singular matrix, where the gradient is NaN."""
    a = _square("slogdet", a)
    return SlogdetResult(apply(SIGNDET, a), apply(LOGABSDET, a))


def logdet(a: Array) -> Array:
    """log det a = 2 sum(log diag(cholesky(a))) of a symmetric positive definite matrix; see `cholesky`.

    The gradient is the inverse. Where the factor is used anyway, the sum over its diagonal is the cheaper form.
    """
    return apply(LOGDET, _square("logdet", a))


def eigh(a: Array) -> EighResult:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix: a = V diag(w) V'.

    Reads the lower triangle of a; the gradient is symmetric. Where eigenvalues are equal, a gradient leaves out the
    terms between their vectors: right for functions that do not depend on the choice of these vectors, finite always.
    """
    z = apply(EIGH, _square("eigh", a))
    return EighResult(z[..., -1], z[..., :-1])


def eigvalsh(a: Array) -> Array:
    """The eigenvalues of a symmetric matrix, ascending; see `eigh`."""
    return eigh(a).eigenvalues


def qr(a: Array) -> QRResult:
    """a = Q R with orthonormal columns in Q (..., m, k) and upper triangular R (..., k, n), k = min(m, n).

    The first k columns of a must be independent for a derivative.
    """
    a = _matrix("qr", a)
    m, n = shape_of(a)[-2:]
    z = apply(QR, a if m >= n else a[..., :m])
    q, r = z[..., :m, :], z[..., m:, :]
    return QRResult(q, r if m >= n else np.concatenate([r, np.matmul(transposed(q), a[..., m:])], axis=-1))


def svd(a: Array) -> SVDResult:
    """a = U diag(S) Vh, with U (..., m, k), S descending, Vh (..., k, n), k = min(m, n).

    Singular values have a derivative everywhere they are positive; the vectors where the values are distinct (terms
    between vectors of equal values are left out).
    """
    a = _matrix("svd", a)
    return SVDResult(*svd_parts(apply(SVD, a), shape_of(a)))


def svdvals(a: Array) -> Array:
    """The singular values, descending; see `svd`."""
    return svd(a).S


def lstsq(a: Array, b: Array, rtol: float | None = None) -> Array:
    """The z of least |a z - b|, and of least |z| where there are several: pinv(a) b, for a of shape (..., m, n).

    b has shape (m,) or (..., m, k). Differentiable where the rank of a does not change; see `pinv` for rtol.
    """
    a = _matrix("lstsq", a)
    b, vector = _right_side(b)
    if shape_of(b)[-2] != shape_of(a)[-2]:
        raise ShapeError(f"{user_line()}: lstsq got shapes {shape_of(a)} and {shape_of(b)}.")
    z = np.matmul(pinv(a, rtol), b)
    return z[..., 0] if vector else z


def pinv(a: Array, rtol: float | None = None) -> Array:
    """The Moore-Penrose inverse, differentiable where the rank of a does not change.

    rtol  singular values below rtol times the largest count as zero; max(m, n) times the rounding unit by default
    """
    return apply(PINV, _matrix("pinv", a), rtol=rtol)


def expm(a: Array) -> Array:
    """The matrix exponential, 1 + a + a²/2 + …"""
    return apply(EXPM, _square("expm", a))


def matrix_power(a: Array, n: int) -> Array:
    """a multiplied with itself n times, the inverse for negative n; log2(n) products."""
    a = _square("matrix_power", a)
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
    a, b = _matrix("kron", a), _matrix("kron", b)
    z = a[..., :, None, :, None] * b[..., None, :, None, :]
    *lead, m, p, n, q = shape_of(z)
    return np.reshape(z, (*lead, m * p, n * q))


# NumPy's names. The keywords that have no meaning here are refused, never ignored.

functions[np.linalg.inv] = inv
functions[np.linalg.det] = det
functions[np.linalg.slogdet] = slogdet
functions[np.linalg.solve] = solve
functions[np.linalg.matrix_power] = matrix_power
functions[np.linalg.svdvals] = svdvals
functions[np.linalg.matmul] = functions[np.matmul]
functions[np.linalg.outer] = functions[np.outer]
functions[np.linalg.tensordot] = functions[np.tensordot]
functions[np.linalg.matrix_transpose] = functions[np.matrix_transpose] = transposed


@rule(np.linalg.cholesky)
def _cholesky(a: Any, /, *, upper: bool = False) -> Array:
    return transposed(cholesky(transposed(_matrix("cholesky", a)))) if upper else cholesky(a)


def _triangle(a: Any, UPLO: str) -> Array:
    return transposed(_square("eigh", a)) if UPLO.upper() == "U" else a


@rule(np.linalg.eigh)
def _eigh(a: Any, UPLO: str = "L") -> EighResult:
    return eigh(_triangle(a, UPLO))


@rule(np.linalg.eigvalsh)
def _eigvalsh(a: Any, UPLO: str = "L") -> Array:
    return eigvalsh(_triangle(a, UPLO))


@rule(np.linalg.qr)
def _qr(a: Any, mode: str = "reduced") -> Any:
    m, n = matrix_shape("qr", a)[-2:]
    if mode not in ("reduced", "r") and not (mode == "complete" and m <= n):
        raise UnsupportedError(
            f"{user_line()}: np.linalg.qr(mode={mode!r}) has no derivative rule. Use 'reduced' or 'r'."
        )
    return qr(a).R if mode == "r" else qr(a)


@rule(np.linalg.svd)
def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    m, n = matrix_shape("svd", a)[-2:]
    if hermitian:
        raise UnsupportedError(
            f"{user_line()}: np.linalg.svd(hermitian=True) has no derivative rule. Use np.linalg.eigh."
        )
    if compute_uv and full_matrices and m != n:
        raise UnsupportedError(
            f"{user_line()}: np.linalg.svd of shape {(m, n)} has vectors that do not depend on the matrix. "
            "Use full_matrices=False."
        )
    return svd(a) if compute_uv else svdvals(a)


@rule(np.linalg.lstsq)
def _lstsq(a: Any, b: Any, rcond: Any = None) -> LstsqResult:
    """NumPy's four results; residuals are there if a has more rows than columns, whatever its rank."""
    a, s = _matrix("lstsq", a), svdvals(a)
    z = lstsq(a, b, rcond)
    m, n = shape_of(a)
    limit = max(m, n) * float(np.finfo(dtype_of(s)).eps) if rcond is None else rcond
    apart = _right_side(np.matmul(a, z) - b)[0]
    left = np.sum(np.square(apart), axis=0) if m > n else np.zeros(0, dtype_of(z))
    return LstsqResult(z, left, np.sum(s > limit * s[..., :1]), s)


@rule(np.linalg.pinv)
def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Array:
    rtol = rcond if rtol is np._NoValue else rtol
    return pinv(a, None if rtol is None else float(rtol))


@rule(np.linalg.multi_dot)
def _multi_dot(arrays: Any, *, out: Any = None) -> Array:
    refuse("linalg.multi_dot", out=out)
    return multi_dot(arrays)


@rule(np.kron)
def _kron(a: Any, b: Any) -> Array:
    """NumPy's product over all axes, the shorter shape filled up with leading ones."""
    ndim = max(len(shape_of(a)), len(shape_of(b)))
    left, right = ((1,) * (ndim - len(shape_of(x))) + shape_of(x) for x in (a, b))
    x = np.reshape(a, [n for size in left for n in (size, 1)])
    y = np.reshape(b, [n for size in right for n in (1, size)])
    return np.reshape(x * y, tuple(m * n for m, n in zip(left, right, strict=True)))


@rule(np.linalg.norm)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """Norms of vectors, and of matrices by their elements or their singular values."""
    pair = axis if isinstance(axis, tuple) and len(axis) == 2 else (-2, -1) if axis is None and x.ndim == 2 else None
    if pair is None or ord is None or ord == "fro":
        return norm(x, ord, axis, keepdims)
    rows_, columns = (k % x.ndim for k in pair)
    if ord in ("nuc", 2, -2):
        s = svdvals(np.moveaxis(x, pair, (-2, -1)))
        z = np.sum(s, axis=-1) if ord == "nuc" else s[..., 0 if ord == 2 else -1]
    elif ord in (1, -1, np.inf, -np.inf):
        summed, kept = (rows_, columns) if abs(ord) == 1 else (columns, rows_)
        sums = np.sum(np.abs(x), axis=summed)
        z = (np.max if ord > 0 else np.min)(sums, axis=kept - (summed < kept))
    else:
        return norm(x, ord, axis, keepdims)
    return np.expand_dims(z, tuple(sorted((rows_, columns)))) if keepdims else z


@rule(np.linalg.matrix_norm)
def _matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    return _norm(x, ord, (-2, -1), keepdims)


@rule(np.linalg.vector_norm)
def _vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    if axis is None:
        z = norm(np.ravel(x), ord)
        return np.reshape(z, (1,) * x.ndim) if keepdims else z
    return norm(x, None if ord == 2 else ord, axis, keepdims)


@rule(np.linalg.trace)
def _trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    refuse("linalg.trace", dtype=dtype)
    return np.trace(x, offset, -2, -1)


@rule(np.linalg.vecdot)
def _vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    return np.sum(x1 * x2, axis=axis)


@rule(np.linalg.diagonal)
def _diagonal(x: Any, /, *, offset: int = 0) -> Array:
    return np.diagonal(x, offset, -2, -1)
