"""Indexing, basic and advanced, and its transpose: adding into zeros at an index.

The index is split into a static template and the arrays in it, so that arrays of indices are arguments like others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import Lifted, Op, apply, dtype_of, shape_of, user_line
from probdiff.tree import Array


class Slot:
    """The place of the k-th index array in a template."""

    __slots__ = ("k",)

    def __init__(self, k: int) -> None:
        self.k = k

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slot) and other.k == self.k

    def __hash__(self) -> int:
        return hash((Slot, self.k))

    def __repr__(self) -> str:
        return f"#{self.k}"


Template = tuple[Any, ...]


def fill(template: Template, arrays: Any) -> tuple[Any, ...]:
    """The index that NumPy takes."""
    return tuple(arrays[t.k] if type(t) is Slot else t for t in template)


def has_arrays(template: Template) -> bool:
    """True for advanced indexing."""
    return any(type(t) is Slot for t in template)


class GetItem(Op):
    """z = x[index]"""

    name = "getitem"

    def evaluate(self, x: Any, *arrays: Any, index: Template) -> Any:
        return np.asarray(x)[fill(index, arrays)]

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        ghost = np.broadcast_to(np.empty((), dtype_of(args[0])), shape_of(args[0]))
        index = fill(params["index"], [np.broadcast_to(np.zeros((), np.intp), shape_of(a)) for a in args[1:]])
        return ghost[index].shape, ghost.dtype

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        full = np.broadcast_to(z_bar, shape_of(z)) if shape_of(z_bar) != shape_of(z) else z_bar
        return apply(INDEX_ADD, full, *args[1:], index=params["index"], shape=shape_of(args[0]))


class IndexAdd(Op):
    """Zeros of `shape` with x added at index; equal indices add up."""

    name = "index_add"

    def evaluate(self, x: Any, *arrays: Any, index: Template, shape: tuple[int, ...]) -> Any:
        out = np.zeros(shape, np.asarray(x).dtype)
        if not has_arrays(index):
            out[index] = x
        elif len(index) == 1 and len(shape) == 1 and out.dtype == np.float64:
            flat = np.asarray(arrays[0]).ravel()
            flat = np.where(flat < 0, flat + shape[0], flat)
            return np.bincount(flat, weights=np.asarray(x).ravel(), minlength=shape[0])
        else:
            np.add.at(out, fill(index, arrays), x)
        return out

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        return params["shape"], dtype_of(args[0])

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        return apply(GETITEM, np.broadcast_to(z_bar, params["shape"]), *args[1:], index=params["index"])


GETITEM = GetItem()
INDEX_ADD = IndexAdd()


def getitem(x: Array, index: Any) -> Array:
    """x[index] for a lifted x."""
    if type(index) is int or type(index) is slice:
        _check_integer(x, index)
        return apply(GETITEM, x, index=(index,))
    template, arrays = [], []
    for part in index if isinstance(index, tuple) else (index,):
        if part is None or part is Ellipsis or isinstance(part, slice):
            template.append(part)
        elif isinstance(part, int | np.integer) and not isinstance(part, bool | np.bool_):
            template.append(int(part))
        elif isinstance(part, Lifted):
            if part.dtype.kind not in "iu":
                raise UnsupportedError(
                    f"{user_line()} indexes with a traced mask, whose number of elements is not known.\n    "
                    "Use np.where(mask, x, 0.0) instead of x[mask]."
                )
            template.append(Slot(len(arrays)))
            arrays.append(part)
        else:
            part = np.asarray(part)
            for a in part.nonzero() if part.dtype == bool else (part.astype(np.intp) if part.size == 0 else part,):
                template.append(Slot(len(arrays)))
                arrays.append(a)
    return apply(GETITEM, x, *arrays, index=tuple(template))


def _check_integer(x: Array, index: Any) -> None:
    if type(index) is int:
        n = len(x)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of bounds for axis 0 with size {n}")
