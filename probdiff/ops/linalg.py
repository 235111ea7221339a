"""Products of arrays, and triangular systems: matmul, einsum, solve_triangular."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from probdiff.errors import ShapeError
from probdiff.ops.dispatch import Op, apply, dtype_of, shape_of, user_line
from probdiff.ops.elementwise import unbroadcast
from probdiff.tree import Array


class Matmul(Op):
    """z = x @ y for arrays of two or more dimensions."""

    name = "matmul"
    smooth = (0, 1)

    def evaluate(self, x: Any, y: Any) -> Any:
        return np.matmul(x, y)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        x, y = shape_of(args[0]), shape_of(args[1])
        if x[-1] != y[-2]:
            raise ShapeError(f"{user_line()}: matmul got shapes {x} and {y}, whose inner sizes differ.")
        return (*np.broadcast_shapes(x[:-2], y[:-2]), x[-2], y[-1]), np.result_type(
            dtype_of(args[0]), dtype_of(args[1])
        )

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        x, y = args
        terms = []
        if dots[0] is not None:
            terms.append(apply(self, dots[0], y))
        if dots[1] is not None:
            terms.append(apply(self, x, dots[1]))
        return terms[0] if len(terms) == 1 else terms[0] + terms[1]

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        x, y = args
        z_bar = np.broadcast_to(z_bar, shape_of(z))
        if i == 0:
            x_bar = apply(self, z_bar, np.swapaxes(y, -1, -2))
            return unbroadcast(x_bar, shape_of(x_bar), shape_of(x))
        y_bar = apply(self, np.swapaxes(x, -1, -2), z_bar)
        return unbroadcast(y_bar, shape_of(y_bar), shape_of(y))


class Einsum(Op):
    """Sum of products over named indices; subscripts are explicit, without ellipsis and without repeats in one term."""

    name = "einsum"
    smooth = tuple(range(32))

    def evaluate(self, *arrays: Any, subscripts: str) -> Any:
        return np.einsum(subscripts, *arrays, optimize=len(arrays) > 2)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        terms, out = params["subscripts"].split("->")
        sizes: dict[str, int] = {}
        for term, a in zip(terms.split(","), args, strict=True):
            for letter, n in zip(term, shape_of(a), strict=True):
                if sizes.setdefault(letter, n) != n:
                    shapes = " and ".join(str(shape_of(b)) for b in args)
                    raise ShapeError(f"{user_line()}: einsum {params['subscripts']!r} got shapes {shapes}.")
        return tuple(sizes[c] for c in out), np.result_type(*(dtype_of(a) for a in args))

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        total = None
        for i, dot in enumerate(dots):
            if dot is not None:
                term = apply(self, *args[:i], dot, *args[i + 1 :], **params)
                total = term if total is None else total + term
        return total

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        terms, out = params["subscripts"].split("->")
        inputs = terms.split(",")
        mine = inputs[i]
        others = [t for k, t in enumerate(inputs) if k != i]
        found = "".join(c for c in mine if c in out or any(c in t for t in others))
        rest = [a for k, a in enumerate(args) if k != i]
        x_bar = apply(
            self, np.broadcast_to(z_bar, shape_of(z)), *rest, subscripts=",".join([out, *others]) + "->" + found
        )
        if found == mine:
            return x_bar
        sizes = dict(zip(mine, shape_of(args[i]), strict=True))
        return np.broadcast_to(np.reshape(x_bar, tuple(sizes[c] if c in found else 1 for c in mine)), shape_of(args[i]))


class SolveTriangular(Op):
    """z with a z = b for triangular a; batches lead, b is (..., n, k)."""

    name = "solve_triangular"
    smooth = (0, 1)

    def evaluate(self, a: Any, b: Any, *, lower: bool, transpose: bool) -> Any:
        from probdiff.ops.factor import attempt, singular

        def each(x: Any, y: Any) -> Any:
            if x.ndim == 2 and y.ndim == 2:
                return _substitute(x, y, lower, transpose)
            lead = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
            x = np.broadcast_to(x, lead + x.shape[-2:])
            y = np.broadcast_to(y, lead + y.shape[-2:])
            out = np.empty(y.shape, np.result_type(x, y, np.float32))
            for k in np.ndindex(lead):
                out[k] = _substitute(x[k], y[k], lower, transpose)
            return out

        return attempt(each, singular("solve_triangular"), a, b)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        a, b = shape_of(args[0]), shape_of(args[1])
        if a[-1] != a[-2] or a[-1] != b[-2]:
            raise ShapeError(f"{user_line()}: solve_triangular got shapes {a} and {b}.")
        dtype = np.result_type(dtype_of(args[0]), dtype_of(args[1]), np.float32)
        return (*np.broadcast_shapes(a[:-2], b[:-2]), *b[-2:]), dtype

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        a_dot, b_dot = dots
        right = 0.0 if b_dot is None else b_dot
        if a_dot is not None:
            t = self._triangle(a_dot, params["lower"])
            right = right - np.matmul(np.swapaxes(t, -1, -2) if params["transpose"] else t, z)
        return apply(self, args[0], right, **params)

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        z_bar = np.broadcast_to(z_bar, shape_of(z))
        b_bar = apply(self, args[0], z_bar, lower=params["lower"], transpose=not params["transpose"])
        if i == 1:
            return unbroadcast(b_bar, shape_of(b_bar), shape_of(args[1]))
        left, right = (z, b_bar) if params["transpose"] else (b_bar, z)
        a_bar = -self._triangle(np.matmul(left, np.swapaxes(right, -1, -2)), params["lower"])
        return unbroadcast(a_bar, shape_of(a_bar), shape_of(args[0]))

    @staticmethod
    def _triangle(x: Array, lower: bool) -> Array:
        return np.tril(x) if lower else np.triu(x)


def _substitute(a: Any, b: Any, lower: bool, transpose: bool) -> Any:
    """One system, by BLAS: SciPy's own function spends ten times as long on its arguments as on a small matrix."""
    dtype = np.result_type(a, b, np.float32)
    if not b.size:
        return np.zeros(b.shape, dtype)
    if not a.diagonal().all():
        raise np.linalg.LinAlgError
    # z' op(a)' = b' for the transposes, which are in the column order that BLAS takes without a copy
    return _trsm(dtype)(1.0, a.T, b.T, side=1, lower=not lower, trans_a=transpose).T


@functools.cache
def _trsm(dtype: np.dtype) -> Any:
    from scipy.linalg import blas

    return blas.strsm if dtype == np.float32 else blas.dtrsm


MATMUL = Matmul()
EINSUM = Einsum()
SOLVE_TRIANGULAR = SolveTriangular()


def matmul(x: Array, y: Array) -> Array:
    """np.matmul with its one-dimensional cases."""
    a, b = len(shape_of(x)), len(shape_of(y))
    if a == 0 or b == 0:
        raise ShapeError(f"{user_line()}: matmul got a scalar; use * instead.")
    if a >= 2 and b >= 2:
        return apply(MATMUL, x, y)
    if shape_of(x)[-1] != shape_of(y)[-2 if b > 1 else 0]:
        raise ShapeError(f"{user_line()}: matmul got shapes {shape_of(x)} and {shape_of(y)}, whose inner sizes differ.")
    if a == 1 and b == 1:
        return np.sum(x * y)
    if a == 1:
        z = apply(MATMUL, np.reshape(x, (1, -1)), y)
        return np.reshape(z, shape_of(z)[:-2] + shape_of(z)[-1:])
    z = apply(MATMUL, x, np.reshape(y, (-1, 1)))
    return np.reshape(z, shape_of(z)[:-1])
