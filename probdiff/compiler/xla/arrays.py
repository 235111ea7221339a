"""Reductions, shapes and indices in JAX."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.compiler.xla.library import canonical, cast, jnp, lax
from probdiff.graph.program import Node
from probdiff.ops.index import fill

_reductions = ("sum", "prod", "max", "min", "any", "all")


def reduce(node: Node, args: list[Any], linear: bool) -> Any:
    """sum, prod, max, min, any, all over axes; argmax, argmin, argsort, cumsum along one."""
    (x,), axis, name = args, node.params["axis"], node.op.name
    if name in ("sum", "prod"):
        return getattr(jnp, name)(x, axis=axis, dtype=canonical(node.dtype))
    if name in _reductions:
        return getattr(jnp, name)(x, axis=axis)
    if name == "argsort":
        return cast(jnp.argsort(x, axis=axis, stable=True), node.dtype)
    if name == "cumsum":
        return jnp.cumsum(x, axis=axis, dtype=canonical(node.dtype))
    return cast(getattr(jnp, name)(x, axis=axis), node.dtype)


def reshape(node: Node, args: list[Any], linear: bool) -> Any:
    """The same elements in another shape."""
    return jnp.reshape(args[0], node.params["shape"])


def transpose(node: Node, args: list[Any], linear: bool) -> Any:
    """The axes in another order."""
    return jnp.transpose(args[0], node.params["axes"])


def broadcast_to(node: Node, args: list[Any], linear: bool) -> Any:
    """Elements repeated along axes."""
    return jnp.broadcast_to(args[0], node.params["shape"])


def concatenate(node: Node, args: list[Any], linear: bool) -> Any:
    """Arrays one after another."""
    return jnp.concatenate([cast(a, node.dtype) for a in args], axis=node.params["axis"])


def getitem(node: Node, args: list[Any], linear: bool) -> Any:
    """x[index]; NaN where a number in an array of indices is out of range."""
    x, *arrays = args
    index = fill(node.params["index"], arrays)
    if not arrays:
        return jnp.asarray(x)[index]
    inside = all(isinstance(a, np.ndarray | np.integer | int) for a in arrays)  # known, and NumPy has checked them
    return jnp.asarray(x).at[index].get(mode="promise_in_bounds" if inside else "fill")


def index_add(node: Node, args: list[Any], linear: bool) -> Any:
    """Zeros with x added at an index."""
    x, *arrays = args
    if not arrays:
        return spread(cast(x, node.dtype), node.params["index"], node.params["shape"])
    zeros = jnp.zeros(node.params["shape"], canonical(node.dtype))
    return zeros.at[fill(node.params["index"], arrays)].add(cast(x, node.dtype))


def spread(x: Any, index: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    """Zeros of `shape` with x at an index of integers and slices.

    By padding: on a scatter without indices that is reversed, XLA's simplifier (JAX 0.10.2) ends the process.
    """
    given = [part for part in index if part is not None]
    if Ellipsis in given:
        k = given.index(Ellipsis)
        given[k : k + 1] = [slice(None)] * (len(shape) - len(given) + 1)
    given += [slice(None)] * (len(shape) - len(given))
    ranges = [
        range(n)[part] if isinstance(part, slice) else range(part % n, part % n + 1)
        for part, n in zip(given, shape, strict=True)
    ]
    x = jnp.reshape(x, [len(r) for r in ranges])
    x = jnp.flip(x, [axis for axis, r in enumerate(ranges) if r.step < 0])
    padding = []
    for r, n in zip(ranges, shape, strict=True):
        low, high = (min(r[0], r[-1]), max(r[0], r[-1])) if len(r) else (n, n - 1)
        padding.append((low, n - 1 - high, abs(r.step) - 1 if len(r) else 0))
    return lax.pad(x, jnp.zeros((), x.dtype), padding)


def set_at(node: Node, args: list[Any], linear: bool) -> Any:
    """A copy of x with one row replaced."""
    x, value, i = args
    return cast(x, node.dtype).at[i].set(cast(value, node.dtype))


ARRAYS = {
    **dict.fromkeys((*_reductions, "argmax", "argmin", "argsort", "cumsum"), reduce),
    "reshape": reshape,
    "transpose": transpose,
    "broadcast_to": broadcast_to,
    "concatenate": concatenate,
    "getitem": getitem,
    "index_add": index_add,
    "set_at": set_at,
}
