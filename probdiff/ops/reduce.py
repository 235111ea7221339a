"""Reductions over axes. `axis` is always a sorted tuple of non-negative integers, and axes are always dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ops.dispatch import Op, apply, dtype_of, shape_of
from probdiff.tree import Array


def kept(shape: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with reduced axes as ones."""
    return tuple(1 if i in axis else n for i, n in enumerate(shape))


class Reduce(Op):
    """A reduction named after its NumPy function."""

    def __init__(self, name: str, function: Callable[..., Any], dtype: Callable[[np.dtype], np.dtype]) -> None:
        self.name = name
        self.function = function
        self.result = dtype

    def evaluate(self, x: Any, *, axis: tuple[int, ...]) -> Any:
        return self.function(x, axis=axis)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        shape = shape_of(args[0])
        return tuple(n for i, n in enumerate(shape) if i not in params["axis"]), self.result(dtype_of(args[0]))


class Sum(Reduce):
    """A sum; its transpose spreads the cotangent over the reduced axes."""

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        shape = shape_of(args[0])
        if len(params["axis"]) == len(shape):
            return z_bar  # a scalar broadcasts to any shape
        return np.reshape(np.broadcast_to(z_bar, shape_of(z)), kept(shape, params["axis"]))


class Extremum(Reduce):
    """max and min: equal elements share the derivative evenly."""

    def _shares(self, z: Array, args: list[Array], axis: tuple[int, ...]) -> Array:
        x = args[0]
        hit = np.where(x == np.reshape(z, kept(shape_of(x), axis)), 1.0, 0.0)
        return hit / np.sum(hit, axis=axis, keepdims=True)

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        axis = params["axis"]
        return np.sum(np.where((shares := self._shares(z, args, axis)) > 0, shares * dots[0], 0.0), axis=axis)

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        axis = params["axis"]
        spread = np.reshape(np.broadcast_to(z_bar, shape_of(z)), kept(shape_of(args[0]), axis))
        return np.where((shares := self._shares(z, args, axis)) > 0, shares * spread, 0.0)


class Prod(Reduce):
    """Product over one axis; the derivative is the product of the others, also where factors are zero."""

    def _others(self, x: Array, axis: int) -> Array:
        one = np.ones_like(np.take(x, [0], axis=axis)) if shape_of(x)[axis] else x
        before = np.cumprod(np.concatenate([one, _all_but(x, axis, -1)], axis=axis), axis=axis)
        after = np.flip(
            np.cumprod(np.concatenate([one, _all_but(np.flip(x, axis), axis, -1)], axis=axis), axis=axis), axis
        )
        return before * after

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        (axis,) = params["axis"]
        if not shape_of(args[0])[axis]:
            return np.zeros_like(z)
        return np.sum(self._others(args[0], axis) * dots[0], axis=axis)

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        (axis,) = params["axis"]
        if not shape_of(args[0])[axis]:
            return args[0]
        spread = np.reshape(np.broadcast_to(z_bar, shape_of(z)), kept(shape_of(args[0]), (axis,)))
        return self._others(args[0], axis) * spread


def _all_but(x: Array, axis: int, stop: int) -> Array:
    return x[(slice(None),) * axis + (slice(None, stop),)]


class Cumsum(Op):
    """Running sum along one axis."""

    name = "cumsum"

    def evaluate(self, x: Any, *, axis: int) -> Any:
        return np.cumsum(x, axis=axis)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        return shape_of(args[0]), _summed(dtype_of(args[0]))

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        axis = params["axis"]
        return np.flip(np.cumsum(np.flip(np.broadcast_to(z_bar, shape_of(z)), axis), axis=axis), axis)


class Argument(Reduce):
    """argmax, argmin, argsort: integers, without a derivative."""

    smooth = ()

    def evaluate(self, x: Any, *, axis: Any) -> Any:
        return self.function(x, axis=axis)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        shape, axis = shape_of(args[0]), params["axis"]
        if self.name == "argsort":
            return shape, np.dtype(np.intp)
        return tuple(n for i, n in enumerate(shape) if i != axis), np.dtype(np.intp)


def _same(dtype: np.dtype) -> np.dtype:
    return dtype


def _boolean(dtype: np.dtype) -> np.dtype:
    return np.dtype(bool)


def _summed(dtype: np.dtype) -> np.dtype:
    return np.add.reduce(np.zeros(1, dtype)).dtype if dtype.kind in "iub" else dtype


SUM = Sum("sum", np.add.reduce, _summed)
PROD = Prod("prod", np.multiply.reduce, _summed)
MAX = Extremum("max", np.maximum.reduce, _same)
MIN = Extremum("min", np.minimum.reduce, _same)
ANY = Reduce("any", np.logical_or.reduce, _boolean)
ALL = Reduce("all", np.logical_and.reduce, _boolean)
ANY.smooth = ALL.smooth = ()
CUMSUM = Cumsum()
ARGMAX = Argument("argmax", np.argmax, _same)
ARGMIN = Argument("argmin", np.argmin, _same)


def _argsort(x: Any, axis: int) -> Any:
    return np.argsort(x, axis=axis, kind="stable")


ARGSORT = Argument("argsort", _argsort, _same)


def cumprod(x: Array, axis: int) -> Array:
    """Running product by doubling: log2(n) multiplications, and a gradient that is right where factors are zero."""
    shift, n = 1, shape_of(x)[axis]
    lead = (slice(None),) * axis
    while shift < n:
        head = x[(*lead, slice(None, shift))]
        x = np.concatenate([head, x[(*lead, slice(shift, None))] * x[(*lead, slice(None, -shift))]], axis=axis)
        shift *= 2
    return x


def reduce_with(op: Op, x: Array, axis: Any, keepdims: bool) -> Array:
    """Apply a reduction with NumPy's axis and keepdims."""
    shape = shape_of(x)
    axes = normalise(axis, len(shape))
    z = apply(op, x, axis=axes)
    return np.reshape(z, kept(shape, axes)) if keepdims else z


def normalise(axis: Any, ndim: int) -> tuple[int, ...]:
    """A sorted tuple of non-negative axes; None means all."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    out = []
    for a in axes:
        if not -ndim <= a < ndim:
            raise np.exceptions.AxisError(a, ndim)
        out.append(int(a) % ndim)
    return tuple(sorted(out))
