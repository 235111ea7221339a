"""NumPy's functions that choose elements: by condition, by index, by diagonal.

A function here is what NumPy's of its name does with lifted arrays, with the same arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.errors import ShapeError, UnsupportedError
from probdiff.ops.dispatch import apply, is_lifted, shape_of, user_line
from probdiff.ops.elementwise import rows
from probdiff.ops.functions.shapes import moveaxis, ravel
from probdiff.ops.index import GETITEM, INDEX_ADD, Slot
from probdiff.ops.protocol import array, astype, refuse, rule
from probdiff.tree import Array


@rule(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Array:
    if x is None or y is None:
        raise UnsupportedError(f"{user_line()}: np.where(condition) of a traced array has no known size; give x and y.")
    return apply(rows["where"], condition, array(x), array(y))


@rule(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Array:
    z = default
    for c, x in zip(reversed(condlist), reversed(choicelist), strict=True):
        z = np.where(c, x, z)
    return z


@rule(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None) -> Array:
    refuse("clip", out=out)
    low = a_min if a_min is not None else min
    high = a_max if a_max is not None else max
    return apply(rows["clip"], a, -np.inf if low is None else low, np.inf if high is None else high)


@rule(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Array:
    """a[indices] along an axis, as numpy.take; NumPy's own does not dispatch where only the indices are traced."""
    refuse("take", out=out)
    a = a if is_lifted(a) else np.asarray(a)
    if axis is None:
        a, axis = np.ravel(a), 0
    index = indices if is_lifted(indices) else np.asarray(indices)
    if is_lifted(index) and index.dtype.kind not in "iu":
        raise UnsupportedError(f"{user_line()}: np.take needs integer indices, got {index.dtype}.")
    lead = (slice(None),) * (axis % len(shape_of(a)))
    return apply(GETITEM, a, index, index=(*lead, Slot(0)))


@rule(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Array:
    if axis is None:
        return np.take(arr, indices)
    axis = axis % len(shape_of(arr))
    shape = shape_of(arr)
    if len(shape_of(indices)) != len(shape):
        raise ShapeError(f"{user_line()}: np.take_along_axis got shapes {shape} and {shape_of(indices)}.")
    after = range(len(shape) - 1, -1, -1)
    grids: list[Any] = [np.arange(n).reshape((-1,) + (1,) * k) for n, k in zip(shape, after, strict=True)]
    grids[axis] = indices
    return apply(GETITEM, arr, *grids, index=tuple(Slot(k) for k in range(len(shape))))


@rule(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    a = moveaxis(a, (axis1, axis2), (-2, -1))
    lead, (n, m) = a.shape[:-2], a.shape[-2:]
    return np.reshape(a, (*lead, n * m))[..., _diagonal(n, m, offset)]


def _diagonal(n: int, m: int, offset: int) -> slice:
    """The elements of a diagonal among those of an (n, m) matrix in C order."""
    start = offset if offset >= 0 else -offset * m
    count = max(min(n + min(offset, 0), m - max(offset, 0)), 0)
    return slice(start, start + count * (m + 1), m + 1) if count else slice(0, 0)


@rule(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, **kwargs: Any) -> Array:
    refuse("trace", **kwargs)
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1)


@rule(np.diag)
def diag(v: Any, k: int = 0) -> Array:
    if v.ndim == 2:
        return diagonal(v, k)
    n = v.shape[0] + abs(k)
    return np.reshape(apply(INDEX_ADD, v, index=(_diagonal(n, n, k),), shape=(n * n,)), (n, n))


@rule(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Array:
    return diag(ravel(v), k)


@rule(np.tril)
def tril(m: Any, k: int = 0) -> Array:
    return np.where(np.tri(m.shape[-2], m.shape[-1], k, dtype=bool), m, 0.0)


@rule(np.triu)
def triu(m: Any, k: int = 0) -> Array:
    return np.where(np.tri(m.shape[-2], m.shape[-1], k - 1, dtype=bool), 0.0, m)


@rule(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Array:
    refuse("searchsorted", sorter=sorter)
    flat = np.expand_dims(v, -1)
    return np.sum(astype(a < flat if side == "left" else a <= flat, np.intp), axis=-1)
