"""NumPy's reductions in terms of rows: sums, means, extremes, running sums, sorting.

A function here is what NumPy's of its name does with lifted arrays, with the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.errors import ShapeError
from probdiff.ops.dispatch import Lifted, accumulations, apply, functions, reductions, shape_of, user_line
from probdiff.ops.elementwise import rows
from probdiff.ops.protocol import array, astype, refuse, rule
from probdiff.ops.reduce import (
    ALL,
    ANY,
    ARGMAX,
    ARGMIN,
    ARGSORT,
    CUMSUM,
    MAX,
    MIN,
    PROD,
    SUM,
    cumprod,
    normalise,
    reduce_with,
)
from probdiff.tree import Array


def _reduction(op: Any, name: str) -> Callable[..., Any]:
    def reduce(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **kwargs: Any
    ) -> Array:
        if (
            axis is None
            and dtype is None
            and out is None
            and not kwargs
            and isinstance(a, Lifted)
            and keepdims is not True
        ):
            return apply(op, a, axis=tuple(range(a.ndim)))
        refuse(name, out=out, **kwargs)
        x = array(a) if dtype is None else astype(array(a), dtype)
        return reduce_with(op, x, axis, bool(keepdims) and keepdims is not np._NoValue)

    return reduce


sum_ = functions[np.sum] = _reduction(SUM, "sum")
any_ = functions[np.any] = _reduction(ANY, "any")
all_ = functions[np.all] = _reduction(ALL, "all")


def _extremum(op: Any, name: str) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **kwargs: Any) -> Array:
        refuse(name, out=out, **kwargs)
        if a.size == 0:
            raise ShapeError(f"{user_line()}: np.{name} of an empty array has no value.")
        return reduce_with(op, a, axis, bool(keepdims) and keepdims is not np._NoValue)

    return reduce


max_ = functions[np.max] = functions[np.amax] = _extremum(MAX, "max")
min_ = functions[np.min] = functions[np.amin] = _extremum(MIN, "min")


@rule(np.prod)
def prod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **kwargs: Any) -> Array:
    refuse("prod", out=out, dtype=dtype, **kwargs)
    shape = shape_of(a)
    axes = normalise(axis, len(shape))
    rest = [k for k in range(len(shape)) if k not in axes]
    moved = np.reshape(np.transpose(a, (*rest, *axes)), (*[shape[k] for k in rest], -1 if a.size else 0))
    z = apply(PROD, moved, axis=(len(rest),))
    keep = bool(keepdims) and keepdims is not np._NoValue
    return np.reshape(z, [1 if k in axes else n for k, n in enumerate(shape)]) if keep else z


@rule(np.mean)
def mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **kwargs: Any) -> Array:
    refuse("mean", out=out, dtype=dtype, **kwargs)
    return np.sum(a, axis=axis, keepdims=keepdims) / _count(a, axis)


@rule(np.var)
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, **kw: Any
) -> Array:
    refuse("var", out=out, dtype=dtype, **kw)
    centred = a - np.sum(a, axis=axis, keepdims=True) / _count(a, axis)
    return np.sum(np.square(centred), axis=axis, keepdims=keepdims) / (_count(a, axis) - ddof)


@rule(np.std)
def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False) -> Array:
    return np.sqrt(var(a, axis, dtype, out, ddof, keepdims))


def _count(a: Any, axis: Any) -> float:
    shape = shape_of(a)
    return float(np.prod([shape[k] for k in normalise(axis, len(shape))], dtype=float))


@rule(np.ptp)
def ptp(a: Any, axis: Any = None, **kwargs: Any) -> Array:
    refuse("ptp", **kwargs)
    return np.max(a, axis=axis) - np.min(a, axis=axis)


@rule(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    return np.sum(astype(a != 0, np.intp), axis=axis, keepdims=keepdims)


@rule(np.average)
def average(a: Any, axis: Any = None, weights: Any = None) -> Array:
    if weights is None:
        return np.mean(a, axis=axis)
    if shape_of(weights) != shape_of(a):
        if axis is None:
            shapes = f"{shape_of(a)} and {shape_of(weights)}"
            raise ShapeError(f"{user_line()}: np.average got shapes {shapes}; give the axis.")
        axes = normalise(axis, len(shape_of(a)))
        if shape_of(weights) != tuple(shape_of(a)[k] for k in axes):
            raise ShapeError(
                f"{user_line()}: np.average got {shape_of(weights)} weights along axis {axis} of {shape_of(a)}."
            )
        weights = np.reshape(weights, tuple(n if k in axes else 1 for k, n in enumerate(shape_of(a))))
    return np.sum(a * weights, axis=axis) / np.sum(np.broadcast_to(weights, shape_of(a)), axis=axis)


@rule(np.cumsum)
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    refuse("cumsum", out=out, dtype=dtype)
    return apply(CUMSUM, np.ravel(a) if axis is None else a, axis=0 if axis is None else axis % a.ndim)


@rule(np.cumprod)
def cumprod_(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Array:
    refuse("cumprod", out=out, dtype=dtype)
    return cumprod(np.ravel(a) if axis is None else a, 0 if axis is None else axis % a.ndim)


def logsumexp(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """log of the sum of exp(a), without overflow; -inf for nothing."""
    shape = shape_of(a)
    axes = normalise(axis, len(shape))
    if any(shape[k] == 0 for k in axes):
        return np.log(np.sum(a, axis=axes, keepdims=keepdims))
    peak = np.max(a, axis=axes, keepdims=True)
    peak = apply(rows["stop_gradient"], np.where(np.isfinite(peak), peak, 0.0))
    z = np.log(np.sum(np.exp(a - peak), axis=axes, keepdims=True)) + peak
    return z if keepdims else np.reshape(z, [n for k, n in enumerate(shape) if k not in axes])


reductions.update(
    {
        np.add: sum_,
        np.multiply: prod,
        np.maximum: max_,
        np.minimum: min_,
        np.fmax: max_,
        np.fmin: min_,
        np.logical_and: all_,
        np.logical_or: any_,
        np.logaddexp: logsumexp,
    }
)
accumulations.update({np.add: cumsum, np.multiply: cumprod_})


@rule(np.argmax)
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Array:
    z = apply(ARGMAX, np.ravel(a) if axis is None else a, axis=0 if axis is None else axis % a.ndim)
    return np.expand_dims(z, axis) if keepdims is True else z


@rule(np.argmin)
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Array:
    z = apply(ARGMIN, np.ravel(a) if axis is None else a, axis=0 if axis is None else axis % a.ndim)
    return np.expand_dims(z, axis) if keepdims is True else z


@rule(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, **kwargs: Any) -> Array:
    refuse("argsort", **kwargs)
    return apply(ARGSORT, np.ravel(a) if axis is None else a, axis=0 if axis is None else axis % a.ndim)


@rule(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, **kwargs: Any) -> Array:
    refuse("sort", **kwargs)
    if axis is None:
        a, axis = np.ravel(a), 0
    return np.take_along_axis(a, argsort(a, axis), axis)
