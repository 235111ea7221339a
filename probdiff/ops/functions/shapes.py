"""NumPy's functions that move, join and split arrays, in terms of rows.

A function here is what NumPy's of its name does with lifted arrays, with the same arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.errors import ShapeError, UnsupportedError
from probdiff.ops.dispatch import apply, is_lifted, shape_of, user_line
from probdiff.ops.index import INDEX_ADD
from probdiff.ops.protocol import refuse, rule
from probdiff.ops.reduce import normalise
from probdiff.ops.shape import BROADCAST_TO, CONCATENATE, RESHAPE, TRANSPOSE
from probdiff.tree import Array


@rule(np.reshape)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Array:
    if order != "C":
        raise UnsupportedError(f"{user_line()}: np.reshape(order={order!r}) is not supported; transpose first.")
    target = shape if shape is not None else newshape
    target = (target,) if isinstance(target, int | np.integer) else tuple(int(n) for n in target)
    if -1 in target:
        known = -int(np.prod(target, dtype=int))
        if known == 0 or a.size % known:
            raise ShapeError(f"{user_line()}: cannot reshape {a.shape} into {target}.")
        target = tuple(a.size // known if n == -1 else n for n in target)
    if int(np.prod(target, dtype=int)) != a.size:
        raise ShapeError(f"{user_line()}: cannot reshape {a.shape} into {target}.")
    return a if target == a.shape else apply(RESHAPE, a, shape=target)


@rule(np.ravel)
def ravel(a: Any, order: str = "C") -> Array:
    return reshape(a, (a.size,), order)


@rule(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Array:
    order = tuple(reversed(range(a.ndim))) if axes is None else tuple(k % a.ndim for k in axes)
    return a if order == tuple(range(a.ndim)) else apply(TRANSPOSE, a, axes=order)


@rule(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(a, order)


@rule(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Array:
    src = [k % a.ndim for k in ([source] if isinstance(source, int) else source)]
    dst = [k % a.ndim for k in ([destination] if isinstance(destination, int) else destination)]
    order = [k for k in range(a.ndim) if k not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    return transpose(a, order)


@rule(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Array:
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    axes = [k % (a.ndim + len(axes)) for k in axes]
    sizes = iter(a.shape)
    return reshape(a, tuple(1 if k in axes else next(sizes) for k in range(a.ndim + len(axes))))


@rule(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Array:
    drop = [k for k, n in enumerate(a.shape) if n == 1] if axis is None else normalise(axis, a.ndim)
    if any(a.shape[k] != 1 for k in drop):
        raise ShapeError(f"{user_line()}: cannot squeeze axis {axis} of shape {a.shape}.")
    return reshape(a, tuple(n for k, n in enumerate(a.shape) if k not in drop))


@rule(np.broadcast_to)
def broadcast_to(a: Any, shape: Any, subok: bool = False) -> Array:
    shape = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    return a if a.shape == shape else apply(BROADCAST_TO, a, shape=shape)


@rule(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    shape = np.broadcast_shapes(*(shape_of(a) for a in args))
    return tuple(np.broadcast_to(a, shape) for a in args)


@rule(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    out = [a if shape_of(a) else np.reshape(a, (1,)) for a in arys]
    return out[0] if len(out) == 1 else tuple(out)


@rule(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    out = [a if len(shape_of(a)) > 1 else np.reshape(a, (1, -1)) for a in arys]
    return out[0] if len(out) == 1 else tuple(out)


@rule(np.flip)
def flip(m: Any, axis: Any = None) -> Array:
    axes = normalise(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(m.ndim))]


@rule(np.flipud)
def flipud(m: Any) -> Array:
    return flip(m, 0)


@rule(np.fliplr)
def fliplr(m: Any) -> Array:
    return flip(m, 1)


@rule(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Array:
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    pairs = zip(np.broadcast_to(shift, np.shape(axis)).flat, np.ravel(axis), strict=True)
    for s, k in pairs:
        n = a.shape[k]
        a = np.take(a, (np.arange(n) - int(s)) % max(n, 1), axis=int(k))
    return a


@rule(np.tile)
def tile(A: Any, reps: Any) -> Array:
    reps = (reps,) if isinstance(reps, int) else tuple(reps)
    shape = (1,) * (len(reps) - A.ndim) + A.shape
    reps = (1,) * (len(shape) - len(reps)) + reps
    wide = [n for pair in zip(reps, shape, strict=True) for n in pair]
    thin = [n for s in shape for n in (1, s)]
    return reshape(np.broadcast_to(reshape(A, thin), wide), [r * s for r, s in zip(reps, shape, strict=True)])


@rule(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Array:
    if axis is None:
        a, axis = ravel(a), 0
    return np.take(a, np.repeat(np.arange(a.shape[axis]), repeats), axis=axis)


@rule(np.concatenate)
def concatenate(arrays: Any, /, axis: Any = 0, out: Any = None, **kwargs: Any) -> Array:
    refuse("concatenate", out=out, **{k: v for k, v in kwargs.items() if k != "casting"})
    parts = [a if is_lifted(a) else np.asarray(a) for a in arrays]
    if axis is None:
        parts, axis = [np.ravel(a) for a in parts], 0
    return apply(CONCATENATE, *parts, axis=axis % len(shape_of(parts[0])))


@rule(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, **kwargs: Any) -> Array:
    refuse("stack", out=out)
    parts = [a if is_lifted(a) else np.asarray(a) for a in arrays]
    shapes = {shape_of(a) for a in parts}
    if len(shapes) > 1:
        raise ShapeError(f"{user_line()}: np.stack got arrays of shapes {', '.join(map(str, sorted(shapes)))}.")
    return concatenate([np.expand_dims(a, axis) for a in parts], axis=axis)


@rule(np.vstack)
def vstack(tup: Any, **kwargs: Any) -> Array:
    return concatenate([atleast_2d(a if is_lifted(a) else np.asarray(a)) for a in tup], axis=0)


@rule(np.hstack)
def hstack(tup: Any, **kwargs: Any) -> Array:
    parts = [atleast_1d(a if is_lifted(a) else np.asarray(a)) for a in tup]
    return concatenate(parts, axis=0 if len(shape_of(parts[0])) == 1 else 1)


@rule(np.column_stack)
def column_stack(tup: Any) -> Array:
    return concatenate([np.reshape(a, (-1, 1)) if len(shape_of(a)) < 2 else a for a in tup], axis=1)


@rule(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Array:
    return concatenate([arr, values], axis=axis)


@rule(np.split, np.array_split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    pieces = np.array_split(np.arange(ary.shape[axis]), indices_or_sections)
    lead = (slice(None),) * (axis % ary.ndim)
    bounds = np.cumsum([0] + [len(p) for p in pieces])
    return [ary[(*lead, slice(int(i), int(j)))] for i, j in zip(bounds[:-1], bounds[1:], strict=True)]


@rule(np.pad)
def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0.0) -> Array:
    if mode != "constant" or np.ndim(constant_values):
        raise UnsupportedError(f"{user_line()}: np.pad supports mode='constant' with one constant value.")
    widths = np.broadcast_to(pad_width, (array.ndim, 2))
    shape = tuple(n + int(a + b) for n, (a, b) in zip(array.shape, widths, strict=True))
    inner = tuple(slice(int(a), int(a) + n) for n, (a, _) in zip(array.shape, widths, strict=True))
    z = apply(INDEX_ADD, array, index=inner, shape=shape)
    if constant_values == 0:
        return z
    inside = np.zeros(shape, bool)
    inside[inner] = True
    return np.where(inside, z, constant_values)


@rule(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, **kwargs: Any) -> Array:
    refuse("diff", **kwargs)
    lead = (slice(None),) * (axis % a.ndim)
    for _ in range(n):
        a = a[(*lead, slice(1, None))] - a[(*lead, slice(None, -1))]
    return a
