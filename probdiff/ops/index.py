"""Indexing, basic and advanced, and its transpose: adding into zeros at an index.

The index is split into a static template and the arrays in it, so that arrays of indices are arguments like others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.errors import ShapeError, UnsupportedError
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


class SetAt(Op):
    """A copy of x with the rows x[i] replaced by a value; linear in x and in the value."""

    name = "set_at"
    smooth = (0, 1)

    def evaluate(self, x: Any, value: Any, i: Any) -> Any:
        out = np.array(x)
        out[int(i)] = value
        return out

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        x, value, i = args
        if shape_of(value) != shape_of(x)[1:] or shape_of(i) != ():
            raise ShapeError(
                f"{user_line()}: set_at needs one index and a value of shape {shape_of(x)[1:]}, got an index of shape "
                f"{shape_of(i)} and a value of shape {shape_of(value)}."
            )
        return shape_of(x), dtype_of(x)

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        x_dot = np.zeros(shape_of(args[0]), dtype_of(args[0])) if dots[0] is None else dots[0]
        row = np.zeros(shape_of(args[1]), dtype_of(args[0])) if dots[1] is None else dots[1]
        return apply(self, x_dot, row, args[2])

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        z_bar = np.broadcast_to(z_bar, shape_of(z))
        if i == 0:
            return apply(self, z_bar, np.zeros(shape_of(args[1]), dtype_of(z_bar)), args[2])
        return apply(GETITEM, z_bar, args[2], index=(Slot(0),))


GETITEM = GetItem()
INDEX_ADD = IndexAdd()
SET_AT = SetAt()


def set_at(x: Array, i: Array, value: Array) -> Array:
    """A copy of x with x[i] = value: what `x[i] = value` is for arrays that are traced.

    i is one integer, which may be traced; value has the shape of x[i].
    """
    return apply(SET_AT, x, np.broadcast_to(value, shape_of(x)[1:]), i)


def getitem(x: Array, index: Any) -> Array:
    """x[index] for a lifted x."""
    if type(index) is int or type(index) is slice:
        _check_integer(x, index)
        return apply(GETITEM, x, index=(index,))
    template: list[Any] = []
    arrays: list[Any] = []
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
