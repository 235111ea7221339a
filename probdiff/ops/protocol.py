"""The rest of NumPy's protocol: ufunc methods and keywords, and the functions that are written in terms of rows."""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from probdiff.errors import ShapeError, UnsupportedError
from probdiff.ops.dispatch import (
    Lifted,
    accumulations,
    apply,
    composed,
    dtype_of,
    functions,
    is_lifted,
    reductions,
    shape_of,
    ufuncs,
    user_line,
)
from probdiff.ops.elementwise import ASTYPE, rows
from probdiff.ops.index import GETITEM, INDEX_ADD, Slot, getitem
from probdiff.ops.linalg import EINSUM, matmul
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
from probdiff.ops.shape import BROADCAST_TO, CONCATENATE, RESHAPE, TRANSPOSE
from probdiff.tree import Array

_instead = {
    "modf": "np.floor and a difference",
    "frexp": "np.log2 and np.floor",
    "loggamma": "scipy.special.gammaln",
    "log_softmax": "probdiff.special.log_softmax",
    "median": "np.sort and an index",
    "percentile": "np.sort and an index",
    "quantile": "np.sort and an index",
    "interp": "np.searchsorted on plain data and np.take",
    "convolve": "np.einsum over shifted slices",
    "vectorize": "probdiff.broadcast",
    "put": "np.where",
    "copyto": "np.where",
    "fill_diagonal": "np.where(np.eye(n, dtype=bool), value, x)",
    "cross": "sums of products of x[..., i]",
    "kron": "np.einsum and np.reshape",
    "conjugate": "real numbers (complex ones are not supported)",
}


def unsupported_function(func: Any) -> NoReturn:
    """Refuse a NumPy function by name, with the nearest thing that works."""
    name = getattr(func, "__name__", str(func))
    module = getattr(func, "__module__", "numpy")
    near = f" Use {_instead[name]} instead." if name in _instead else ""
    if module.startswith("numpy.linalg"):
        near = " probdiff.linalg has the linear algebra that differentiates."
    if module.startswith("numpy.fft"):
        near = " Fourier transforms need complex numbers, which are not supported."
    raise UnsupportedError(f"{user_line()}: {module}.{name} has no derivative rule.{near}")


def call_ufunc(ufunc: Any, method: str, args: Any, kwargs: dict[str, Any]) -> Array:
    """A ufunc on lifted arrays: special functions on first use, methods, keywords."""
    name = ufunc.__name__
    if kwargs.pop("out", None) is not None:
        raise UnsupportedError(f"{user_line()}: np.{name}(out=…) writes into an array. Use the returned value instead.")
    if kwargs.pop("where", True) is not True:
        raise UnsupportedError(f"{user_line()}: np.{name}(where=…) leaves elements unset. Use np.where instead.")
    dtype = kwargs.pop("dtype", None)
    kwargs.pop("casting", None)
    if method == "__call__" and not kwargs:
        if ufunc not in ufuncs and ufunc not in composed:
            import probdiff.ops.special  # noqa: F401  (its rows join the table)
        if ufunc in ufuncs:
            z = apply(ufuncs[ufunc], *args)
        elif ufunc in composed:
            z = composed[ufunc](*args)
        else:
            near = f" Use {_instead[name]} instead." if name in _instead else ""
            raise UnsupportedError(f"{user_line()}: the function {name} has no derivative rule.{near}")
        return z if dtype is None else astype(z, dtype)
    if method == "reduce" and ufunc in reductions:
        axis = kwargs.pop("axis", args[1] if len(args) > 1 else 0)
        keepdims = kwargs.pop("keepdims", False)
        if not kwargs:
            return reductions[ufunc](args[0], axis=axis, keepdims=keepdims)
    if method == "accumulate" and ufunc in accumulations:
        axis = kwargs.pop("axis", args[1] if len(args) > 1 else 0)
        if not kwargs:
            return accumulations[ufunc](args[0], axis=axis)
    if method == "outer" and not kwargs:
        x, y = args
        return ufunc(np.reshape(x, shape_of(x) + (1,) * len(shape_of(y))), y)
    detail = f" with {', '.join(kwargs)}" if kwargs else ""
    raise UnsupportedError(f"{user_line()}: np.{name}.{method}{detail} has no derivative rule.")


def rule(*targets: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what a NumPy function does with lifted arrays."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        for target in targets:
            functions[target] = f
        return f

    return register


def refuse(name: str, **given: Any) -> None:
    """Keywords that have no meaning for recorded arrays are refused by name, never ignored."""
    for key, value in given.items():
        if value is not None and value is not np._NoValue:  # type: ignore[attr-defined]
            raise UnsupportedError(f"{user_line()}: np.{name}({key}=…) is not supported for traced arrays.")


def array(x: Any) -> Any:
    """A list or tuple that may hold lifted arrays as one array."""
    if isinstance(x, list | tuple):
        return np.stack([array(e) for e in x])
    return x


# Reductions


def _reduction(op: Any, name: str) -> Callable[..., Any]:
    def reduce(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, **kwargs: Any
    ) -> Array:
        if axis is None and dtype is None and out is None and not kwargs and isinstance(a, Lifted) and keepdims is not True:
            return apply(op, a, axis=tuple(range(a.ndim)))
        refuse(name, out=out, **kwargs)
        x = array(a) if dtype is None else astype(array(a), dtype)
        return reduce_with(op, x, axis, bool(keepdims) and keepdims is not np._NoValue)  # type: ignore[attr-defined]

    return reduce


sum_ = functions[np.sum] = _reduction(SUM, "sum")
any_ = functions[np.any] = _reduction(ANY, "any")
all_ = functions[np.all] = _reduction(ALL, "all")


def _extremum(op: Any, name: str) -> Callable[..., Any]:
    def reduce(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **kwargs: Any) -> Array:
        refuse(name, out=out, **kwargs)
        if a.size == 0:
            raise ShapeError(f"{user_line()}: np.{name} of an empty array has no value.")
        return reduce_with(op, a, axis, bool(keepdims) and keepdims is not np._NoValue)  # type: ignore[attr-defined]

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
    keep = bool(keepdims) and keepdims is not np._NoValue  # type: ignore[attr-defined]
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


# Shapes


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


# Selection


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
    return np.where(np.tri(*m.shape[-2:], k=k, dtype=bool), m, 0.0)


@rule(np.triu)
def triu(m: Any, k: int = 0) -> Array:
    return np.where(np.tri(*m.shape[-2:], k=k - 1, dtype=bool), 0.0, m)


@rule(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Array:
    refuse("searchsorted", sorter=sorter)
    flat = np.expand_dims(v, -1)
    return np.sum(astype(a < flat if side == "left" else a <= flat, np.intp), axis=-1)


# Products

composed[np.matmul] = matmul
functions[np.matmul] = matmul


@rule(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Array:
    refuse("dot", out=out)
    x, y = len(shape_of(a)), len(shape_of(b))
    if x == 0 or y == 0:
        return a * b
    if y <= 2:
        return matmul(a, b)
    return np.tensordot(a, b, axes=([-1], [-2]))


@rule(np.vdot)
def vdot(a: Any, b: Any, /) -> Array:
    return np.sum(np.ravel(a) * np.ravel(b))


@rule(np.inner)
def inner(a: Any, b: Any, /) -> Array:
    return np.tensordot(a, b, axes=([-1], [-1])) if len(shape_of(a)) and len(shape_of(b)) else a * b


@rule(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Array:
    return np.reshape(a, (-1, 1)) * np.reshape(b, (1, -1))


@rule(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    m, n = len(shape_of(a)), len(shape_of(b))
    if isinstance(axes, int | np.integer):
        left, right = list(range(m - axes, m)), list(range(axes))
    else:
        left, right = ([k] if isinstance(k, int) else list(k) for k in axes)
    left, right = [k % m for k in left], [k % n for k in right]
    letters = iter(string.ascii_letters)
    x = [next(letters) for _ in range(m)]
    y = [x[left[right.index(k)]] if k in right else next(letters) for k in range(n)]
    out = [c for k, c in enumerate(x) if k not in left] + [c for k, c in enumerate(y) if k not in right]
    return apply(EINSUM, a, b, subscripts=f"{''.join(x)},{''.join(y)}->{''.join(out)}")


@rule(np.einsum)
def einsum(subscripts: Any, *operands: Any, optimize: Any = None, **kwargs: Any) -> Array:
    refuse("einsum", **kwargs)
    if not isinstance(subscripts, str):
        raise UnsupportedError(f"{user_line()}: np.einsum takes its subscripts as a string here.")
    text = subscripts.replace(" ", "")
    terms = text.split("->")[0].split(",")
    if len(terms) != len(operands):
        raise ShapeError(f"{user_line()}: einsum {subscripts!r} names {len(terms)} operands, got {len(operands)}.")
    if "..." in text:
        spare = [c for c in string.ascii_letters if c not in text]
        counts = [len(shape_of(o)) - len(t.replace("...", "")) for o, t in zip(operands, terms, strict=True) if "..." in t]
        fill_in = "".join(spare[: max(counts, default=0)])
        terms = [
            t.replace("...", fill_in[len(fill_in) - (len(shape_of(o)) - len(t.replace("...", ""))) :])
            if len(shape_of(o)) > len(t.replace("...", ""))
            else t.replace("...", "")
            for o, t in zip(operands, terms, strict=True)
        ]
        out = text.split("->")[1].replace("...", fill_in) if "->" in text else None
        if out is None:
            joined = "".join(terms)
            out = fill_in + "".join(sorted(c for c in set(joined) - set(fill_in) if joined.count(c) == 1))
    elif "->" in text:
        out = text.split("->")[1]
    else:
        joined = "".join(terms)
        out = "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    plain = []
    for k, (o, t) in enumerate(zip(operands, terms, strict=True)):
        if len(shape_of(o)) != len(t):
            raise ShapeError(f"{user_line()}: einsum {subscripts!r} got an operand of shape {shape_of(o)} for {t!r}.")
        while len(set(t)) < len(t):  # a repeated index is a diagonal
            c = next(c for c in t if t.count(c) > 1)
            i = t.index(c)
            j = t.index(c, i + 1)
            o = np.diagonal(o, 0, i, j)
            t = t.replace(c, "") + c if t.count(c) == 2 else t[:i] + t[i + 1 : j] + t[j + 1 :] + c
        plain.append(o)
        terms[k] = t
    sizes = {c: n for o, t in zip(plain, terms, strict=True) for c, n in zip(t, shape_of(o), strict=True) if n != 1}
    for k, (o, t) in enumerate(zip(plain, terms, strict=True)):  # an axis of one element broadcasts: leave it out
        single = [c for c, n in zip(t, shape_of(o), strict=True) if n == 1 and c in sizes]
        if single:
            plain[k] = np.squeeze(o, tuple(t.index(c) for c in single))
            terms[k] = "".join(c for c in t if c not in single)
    return apply(EINSUM, *plain, subscripts=",".join(terms) + "->" + out)


@rule(np.linalg.norm)
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


# Makers and conversions


@rule("astype", np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    dtype = np.dtype(dtype)
    if dtype.kind not in "fiub":
        raise UnsupportedError(f"{user_line()}: dtype {dtype} is not supported; use floats, integers or booleans.")
    return x if dtype_of(x) == dtype else apply(ASTYPE, x, dtype=dtype)


@rule(np.zeros_like)
def zeros_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **_: Any) -> Array:
    return np.zeros(a.shape if shape is None else shape, dtype or a.dtype)


@rule(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **_: Any) -> Array:
    return np.ones(a.shape if shape is None else shape, dtype or a.dtype)


@rule(np.empty_like)
def empty_like(prototype: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Array:
    raise UnsupportedError(
        f"{user_line()}: np.empty_like makes an array to assign into, which loses derivatives.\n    "
        "Collect the pieces in a list and use np.stack, or use np.where."
    )


@rule(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Array:
    return np.broadcast_to(np.asarray(fill_value, dtype or dtype_of(a)) if not is_lifted(fill_value) else fill_value,
                           shape_of(a) if shape is None else shape)


@rule(np.copy)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Array:
    return a


@rule(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Array:
    scale = 10.0**decimals
    return np.rint(a * scale) / scale if decimals else np.rint(a)


@rule(np.shape)
def shape(a: Any) -> tuple[int, ...]:
    return a.shape


@rule(np.ndim)
def ndim(a: Any) -> int:
    return a.ndim


@rule(np.size)
def size(a: Any, axis: Any = None) -> int:
    return a.size if axis is None else a.shape[axis]


@rule(np.real)
def real(val: Any) -> Array:
    return val


@rule(np.imag)
def imag(val: Any) -> Array:
    return zeros_like(val)


@rule(np.isclose)
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | np.equal(a, b)
    return near | np.isnan(a) & np.isnan(b) if equal_nan else near


@rule(np.allclose)
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    return np.all(isclose(a, b, rtol, atol, equal_nan))


@rule(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    if shape_of(a1) != shape_of(a2):
        return False
    same = np.equal(a1, a2)
    return np.all(same | np.isnan(a1) & np.isnan(a2) if equal_nan else same)


@rule(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
    big = np.finfo(dtype_of(x)).max
    x = np.where(np.isnan(x), nan, x)
    x = np.where(x == np.inf, big if posinf is None else posinf, x)
    return np.where(x == -np.inf, -big if neginf is None else neginf, x)


@rule(np.sinc)
def sinc(x: Any) -> Array:
    """sin(pi x) / (pi x); near zero by its series, so that every derivative is right there."""
    t = np.pi * x
    t2 = t * t
    series = 1.0 - t2 / 6.0 * (1.0 - t2 / 20.0 * (1.0 - t2 / 42.0 * (1.0 - t2 / 72.0)))
    safe = np.where(np.abs(t) < 0.05, 1.0, t)
    return np.where(np.abs(t) < 0.05, series, np.sin(safe) / safe)


@rule(np.array_repr, np.array_str)
def array_repr(arr: Any, *args: Any, **kwargs: Any) -> str:
    return repr(arr)


@rule(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return False


@rule(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return True


@rule(np.result_type)
def result_type(*args: Any) -> np.dtype:
    return np.result_type(*(a.dtype if isinstance(a, Lifted) else a for a in args))


@rule(np.meshgrid)
def meshgrid(*xi: Any, indexing: str = "xy", **kwargs: Any) -> tuple[Array, ...]:
    refuse("meshgrid", **kwargs)
    n = len(xi)
    shapes = [tuple(-1 if k == i else 1 for k in range(n)) for i in range(n)]
    out = np.broadcast_arrays(*(np.reshape(x, s) for x, s in zip(xi, shapes, strict=True)))
    return tuple(np.swapaxes(o, 0, 1) for o in out) if indexing == "xy" and n > 1 else tuple(out)


def _divmod(x: Array, y: Array) -> tuple[Array, Array]:
    return np.floor_divide(x, y), np.remainder(x, y)


def _logaddexp(x: Array, y: Array) -> Array:
    """log(1 + exp(x)) is a row of its own: its value and its derivative share one exponential."""
    if not is_lifted(x) and not shape_of(x) and x == 0:
        return apply(rows["softplus"], y)
    if not is_lifted(y) and not shape_of(y) and y == 0:
        return apply(rows["softplus"], x)
    return apply(rows["logaddexp"], x, y)


del ufuncs[np.logaddexp]
composed[np.logaddexp] = _logaddexp
composed[np.divmod] = _divmod
composed[np.degrees] = np.rad2deg
composed[np.radians] = np.deg2rad

__all__ = ["call_ufunc", "getitem", "logsumexp", "unsupported_function"]
