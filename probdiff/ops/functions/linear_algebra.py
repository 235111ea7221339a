"""NumPy's functions of linear algebra. Keywords that have no meaning here are refused, never ignored."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import dtype_of, functions, shape_of, user_line
from probdiff.ops.factor import transposed
from probdiff.ops.matrix import (
    EighResult,
    as_columns,
    as_matrix,
    as_square,
    cholesky,
    det,
    eigh,
    eigvalsh,
    inv,
    lstsq,
    matrix_power,
    multi_dot,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
)
from probdiff.ops.protocol import astype, refuse, rule
from probdiff.ops.spectrum import matrix_shape
from probdiff.tree import Array


class LstsqResult(NamedTuple):
    """What np.linalg.lstsq returns."""

    x: Array
    residuals: Array
    rank: Any
    s: Array


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """Vector norms, and the matrix norms that need no singular values; at the origin the subgradient is zero."""
    if ord is None or ord == 2 and (axis is not None and not isinstance(axis, tuple) or x.ndim == 1):
        return np.sqrt(np.sum(np.square(x), axis=axis, keepdims=keepdims))
    if ord == "fro" and (axis is None or isinstance(axis, tuple)):
        return np.sqrt(np.sum(np.square(x), axis=axis, keepdims=keepdims))
    if x.ndim == 1 or isinstance(axis, int):
        if ord == 0:
            return np.sum(astype(x != 0, x.dtype), axis=axis, keepdims=keepdims)
        if ord == 1:
            return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
        if ord == np.inf:
            return np.max(np.abs(x), axis=axis, keepdims=keepdims)
        if ord == -np.inf:
            return np.min(np.abs(x), axis=axis, keepdims=keepdims)
        if isinstance(ord, int | float) and ord > 0:
            return np.sum(np.abs(x) ** ord, axis=axis, keepdims=keepdims) ** (1.0 / ord)
    elif ord in (1, -1, np.inf, -np.inf) and (x.ndim == 2 or axis is not None):
        rows_, cols = (0, 1) if axis is None else (k % x.ndim for k in axis)
        inner, outer = (rows_, cols) if abs(ord) == 1 else (cols, rows_)
        sums = np.sum(np.abs(x), axis=inner, keepdims=True)
        z = np.max(sums, axis=outer, keepdims=True) if ord > 0 else np.min(sums, axis=outer, keepdims=True)
        return z if keepdims else np.squeeze(z, (rows_, cols))
    raise UnsupportedError(f"{user_line()}: np.linalg.norm(ord={ord!r}, axis={axis!r}) has no derivative rule.")


functions[np.linalg.inv] = inv
functions[np.linalg.det] = det
functions[np.linalg.slogdet] = slogdet
functions[np.linalg.solve] = solve
functions[np.linalg.matrix_power] = matrix_power
functions[np.linalg.svdvals] = svdvals
functions[np.linalg.matrix_transpose] = functions[np.matrix_transpose] = transposed


@rule(np.linalg.cholesky)
def _cholesky(a: Any, /, *, upper: bool = False) -> Array:
    return transposed(cholesky(transposed(as_matrix("cholesky", a)))) if upper else cholesky(a)


def _triangle(a: Any, UPLO: str) -> Array:
    return transposed(as_square("eigh", a)) if UPLO.upper() == "U" else a


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
    a, s = as_matrix("lstsq", a), svdvals(a)
    z = lstsq(a, b, rcond)
    m, n = shape_of(a)
    limit = max(m, n) * float(np.finfo(dtype_of(s)).eps) if rcond is None else rcond
    apart = as_columns(np.matmul(a, z) - b)[0]
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
