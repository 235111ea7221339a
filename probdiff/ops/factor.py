"""Cholesky factors, linear systems, inverses and determinants.

A matrix that has none is an error with a reason in eager mode, and NaN within `quiet()`, where compiled programs run: a
log-density that is not a number is a rejected step there, not the end of a chain. Batches lead; arrays are (..., n, n).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import numpy as np

from probdiff.errors import LinAlgError, ShapeError
from probdiff.ops.dispatch import Op, apply, dtype_of, shape_of, user_line
from probdiff.ops.elementwise import unbroadcast
from probdiff.ops.linalg import SOLVE_TRIANGULAR
from probdiff.tree import Array

_quiet: ContextVar[bool] = ContextVar("quiet", default=False)
Inferred = tuple[tuple[int, ...], np.dtype]


@contextmanager
def quiet() -> Iterator[None]:
    """Within it, a matrix without the wanted factor or inverse gives NaN instead of an error."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def attempt(f: Callable[..., Any], reason: Callable[..., str], *arrays: Any) -> Any:
    """f over batches of matrices; where it fails, an error, or in `quiet()` NaN for that matrix alone."""
    arrays = tuple(np.asarray(a) for a in arrays)
    try:
        return f(*arrays)
    except np.linalg.LinAlgError:
        if not _quiet.get():
            raise LinAlgError(reason(*arrays)) from None
    lead = np.broadcast_shapes(*(a.shape[:-2] for a in arrays))
    wide = [np.broadcast_to(a, lead + a.shape[-2:]) for a in arrays]
    first, *rest = (a.shape[-2:] for a in arrays)
    harmless = f(
        np.eye(*first, dtype=arrays[0].dtype), *(np.zeros(s, a.dtype) for s, a in zip(rest, arrays[1:], strict=True))
    )
    out = np.full(lead + harmless.shape, np.nan, harmless.dtype)
    for k in np.ndindex(lead):
        with suppress(np.linalg.LinAlgError):
            out[k] = f(*(a[k] for a in wide))
    return out


def transposed(x: Array) -> Array:
    """x with its last two axes exchanged."""
    return np.swapaxes(x, -1, -2)


def symmetric(x: Array) -> Array:
    """(x + x') / 2"""
    return 0.5 * (x + transposed(x))


def floating(*args: Any) -> np.dtype:
    """The dtype that LAPACK computes in."""
    dtype = np.result_type(*(dtype_of(a) for a in args))
    return dtype if dtype.kind == "f" else np.dtype(float)


def square_shape(name: str, a: Any) -> tuple[int, ...]:
    """The shape of a square matrix or a batch of them."""
    shape = shape_of(a)
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise ShapeError(f"{user_line()}: {name} needs a square matrix (or a batch of them), got shape {shape}.")
    return shape


def total(x: Array, y: Array, keepdims: bool = False) -> Array:
    """The inner product of matrices, sum of x * y over the last two axes."""
    return np.sum(x * y, axis=(-2, -1), keepdims=keepdims)


def on_matrices(z_bar: Array, z: Array) -> Array:
    """The cotangent of a number per matrix, with two axes of ones to multiply matrices by."""
    z_bar = np.broadcast_to(z_bar, shape_of(z))
    return np.reshape(z_bar, (*shape_of(z), 1, 1))


class Cholesky(Op):
    """L with L L' = a, lower triangular with positive diagonal. L_dot = L Φ(L⁻¹ a_dot L⁻ᵀ).

    Φ takes the lower triangle with half of the diagonal. Reads the lower triangle; cotangents are symmetric.
    I. Murray, Differentiation of the Cholesky decomposition, arXiv:1602.07527.
    """

    name = "cholesky"

    def evaluate(self, a: Any) -> Any:
        return attempt(np.linalg.cholesky, _indefinite(self.name), a)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        return square_shape(self.name, args[0]), floating(args[0])

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        left = apply(SOLVE_TRIANGULAR, z, symmetric(dots[0]), lower=True, transpose=False)
        both = apply(SOLVE_TRIANGULAR, z, transposed(left), lower=True, transpose=False)
        return np.matmul(z, self._half(both))

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        p = self._half(np.matmul(transposed(z), np.broadcast_to(z_bar, shape_of(z))))
        left = apply(SOLVE_TRIANGULAR, z, symmetric(p), lower=True, transpose=True)
        return symmetric(apply(SOLVE_TRIANGULAR, z, transposed(left), lower=True, transpose=True))

    @staticmethod
    def _half(x: Array) -> Array:
        n = shape_of(x)[-1]
        weights = np.tri(n, dtype=dtype_of(x))
        np.fill_diagonal(weights, 0.5)
        return np.where(np.tri(n, dtype=bool), x * weights, 0.0)


def _indefinite(name: str) -> Callable[..., str]:
    def reason(a: Any) -> str:
        from scipy.linalg.lapack import get_lapack_funcs

        potrf: Any = get_lapack_funcs("potrf", (a,))
        for k in np.ndindex(a.shape[:-2]):
            order = potrf(a[k], lower=1)[1]
            if order:
                which = f"matrix {k} of the batch" if k else "the matrix"
                return (
                    f"{name}: {which} is not positive definite: its leading minor of order {order} is not positive. "
                    "Adding a small multiple of the identity often helps."
                )
        return f"{name}: the matrix is not positive definite."

    return reason


class OfMatrix(Op):
    """A number for each square matrix; `slope` is the matrix of its derivatives."""

    def slope(self, a: Array) -> Array:
        raise NotImplementedError(self.name)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        return square_shape(self.name, args[0])[:-2], floating(args[0])

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        return total(self.slope(args[0]), dots[0])

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        return on_matrices(z_bar, z) * self.slope(args[0])


class LogDet(OfMatrix):
    """log det a of a symmetric positive definite matrix, from its lower triangle. Its gradient is the inverse."""

    name = "logdet"

    def evaluate(self, a: Any) -> Any:
        factor = attempt(np.linalg.cholesky, _indefinite(self.name), a)
        return 2.0 * np.sum(np.log(np.diagonal(factor, 0, -2, -1)), axis=-1)

    def slope(self, a: Array) -> Array:
        return apply(POSITIVE_INV, a)


class PositiveInv(Op):
    """The inverse of a symmetric positive definite matrix, from its lower triangle."""

    name = "positive_inv"

    def evaluate(self, a: Any) -> Any:
        half = np.linalg.inv(attempt(np.linalg.cholesky, _indefinite(self.name), a))
        return np.matmul(transposed(half), half)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        return square_shape(self.name, args[0]), floating(args[0])

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        return -np.matmul(z, np.matmul(symmetric(dots[0]), z))

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        return -np.matmul(z, np.matmul(symmetric(np.broadcast_to(z_bar, shape_of(z))), z))


def singular(name: str) -> Callable[..., str]:
    """The reason why a system of this operation has no solution."""
    fix = "Its diagonal has a zero." if name == "solve_triangular" else "pinv takes matrices without an inverse."

    def reason(a: Any, *_: Any) -> str:
        which = "the matrix"
        for k in np.ndindex(a.shape[:-2]):
            if k and not np.isfinite(np.linalg.cond(a[k], 1)):
                which = f"matrix {k} of the batch"
                break
        return f"{name}: {which} is singular. {fix}"

    return reason


class Solve(Op):
    """z with a z = b; b is (..., n, k)."""

    name = "solve"
    smooth = (0, 1)

    def evaluate(self, a: Any, b: Any) -> Any:
        return attempt(_solve, singular(self.name), a, b)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        a, b = square_shape(self.name, args[0]), shape_of(args[1])
        if a[-1] != b[-2]:
            raise ShapeError(f"{user_line()}: solve got shapes {a} and {b}.")
        return (*np.broadcast_shapes(a[:-2], b[:-2]), *b[-2:]), floating(*args)

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        a_dot, b_dot = dots
        if a_dot is None:
            return apply(self, args[0], b_dot)
        moved = np.matmul(a_dot, z)
        return apply(self, args[0], -moved if b_dot is None else b_dot - moved)

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        b_bar = apply(self, transposed(args[0]), np.broadcast_to(z_bar, shape_of(z)))
        if i == 1:
            return unbroadcast(b_bar, shape_of(b_bar), shape_of(args[1]))
        a_bar = -np.matmul(b_bar, transposed(z))
        return unbroadcast(a_bar, shape_of(a_bar), shape_of(args[0]))


def _solve(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b)


class Inv(Op):
    """z = a⁻¹. z_dot = -z a_dot z. With `strict` false a singular matrix gives NaN in eager mode, too."""

    name = "inv"

    def evaluate(self, a: Any, *, strict: bool = True) -> Any:
        if strict:
            return attempt(np.linalg.inv, singular(self.name), a)
        with quiet():
            return attempt(np.linalg.inv, singular(self.name), a)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        return square_shape(self.name, args[0]), floating(args[0])

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        return -np.matmul(z, np.matmul(dots[0], z))

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        t = transposed(z)
        return -np.matmul(t, np.matmul(np.broadcast_to(z_bar, shape_of(z)), t))


class Det(OfMatrix):
    """The determinant. Its gradient is the matrix of cofactors, which singular matrices have, too."""

    name = "det"

    def evaluate(self, a: Any) -> Any:
        return np.linalg.det(a)

    def slope(self, a: Array) -> Array:
        return apply(COFACTORS, a)


class Cofactors(Op):
    """cof(a) = det(a) a⁻ᵀ, continued to singular matrices.

    With a = U S V': cof(a) = det(U V') U cof(S) V', and cof(S) is diagonal: products of the other singular values.
    """

    name = "cofactors"

    def evaluate(self, a: Any) -> Any:
        u, s, v, sign = _oriented(a)
        ones = np.eye(s.shape[-1], dtype=bool)
        others = np.prod(np.where(ones, np.ones((), s.dtype), s[..., None, :]), axis=-1)
        return sign * np.matmul(u * others[..., None, :], v)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        return square_shape(self.name, args[0]), floating(args[0])

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        return apply(COFACTORS_DOT, args[0], dots[0])

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        return apply(COFACTORS_DOT, args[0], np.broadcast_to(z_bar, shape_of(z)))  # a second derivative is symmetric


class CofactorsDot(Op):
    """The derivative of cof(a) in the direction h; its own derivatives in a need a matrix with an inverse."""

    name = "cofactors_dot"
    smooth = (0, 1)

    def evaluate(self, a: Any, h: Any) -> Any:
        u, s, v, sign = _oriented(a)
        n = s.shape[-1]
        k = np.matmul(transposed(u), np.matmul(h, transposed(v)))
        ones = np.eye(n, dtype=bool)
        skip = ones[:, None, :] | ones[None, :, :]
        pairs = np.prod(np.where(skip, np.ones((), s.dtype), s[..., None, None, :]), axis=-1)
        pairs = np.where(ones, np.zeros((), s.dtype), pairs)  # products of all singular values but two
        diagonal = np.matmul(pairs, np.diagonal(k, 0, -2, -1)[..., None])
        inner = np.where(ones, diagonal, -pairs * transposed(k))
        return sign * np.matmul(u, np.matmul(inner, v))

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> Inferred:
        shape = square_shape(self.name, args[0])
        return np.broadcast_shapes(shape, shape_of(args[1])), floating(*args)

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        a, h = args
        along = None if dots[0] is None else self._third(a, h, dots[0])
        if dots[1] is None:
            return along
        linear = apply(self, a, dots[1])
        return linear if along is None else along + linear

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        a, h = args
        z_bar = np.broadcast_to(z_bar, shape_of(z))
        return apply(self, a, z_bar) if i == 1 else self._third(a, h, z_bar)

    def _third(self, a: Array, h: Array, k: Array) -> Array:
        b = apply(INV, a)
        bh, bk = np.matmul(b, h), np.matmul(b, k)
        moved = np.matmul(bk, np.matmul(bh, b)) + np.matmul(bh, np.matmul(bk, b))
        moved = moved - total(bk, transposed(bh), True) * b - total(b, transposed(h), True) * np.matmul(bk, b)
        det = on_matrices(apply(DET, a), apply(DET, a))
        return total(b, transposed(k), True) * apply(self, a, h) + det * transposed(moved)


def _oriented(a: Any) -> tuple[Any, Any, Any, Any]:
    """Singular vectors and values, and the sign of det(U V')."""
    u, s, v = np.linalg.svd(a)
    return u, s, v, (np.linalg.det(u) * np.linalg.det(v))[..., None, None]


class LogAbsDet(OfMatrix):
    """log |det a|, -inf for a singular matrix (where the gradient is NaN)."""

    name = "logabsdet"

    def evaluate(self, a: Any) -> Any:
        return np.linalg.slogdet(a)[1]

    def slope(self, a: Array) -> Array:
        return transposed(apply(INV, a, strict=False))


class SignDet(LogAbsDet):
    """The sign of the determinant, which is constant wherever it has a derivative."""

    name = "signdet"
    smooth = ()

    def evaluate(self, a: Any) -> Any:
        return np.linalg.slogdet(a)[0]


CHOLESKY = Cholesky()
LOGDET = LogDet()
POSITIVE_INV = PositiveInv()
SOLVE = Solve()
INV = Inv()
DET = Det()
COFACTORS = Cofactors()
COFACTORS_DOT = CofactorsDot()
LOGABSDET = LogAbsDet()
SIGNDET = SignDet()
