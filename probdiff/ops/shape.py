"""Operations that move elements without changing them: each linear, its transpose another of the same kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.ops.dispatch import Op, apply, shape_of
from probdiff.ops.elementwise import unbroadcast
from probdiff.tree import Array


class Reshape(Op):
    """The same elements in C order in another shape."""

    name = "reshape"

    def evaluate(self, x: Any, *, shape: tuple[int, ...]) -> Any:
        return np.reshape(x, shape)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        return params["shape"], args[0].dtype

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        return apply(self, np.broadcast_to(z_bar, params["shape"]), shape=shape_of(args[0]))


class Transpose(Op):
    """The axes in another order."""

    name = "transpose"

    def evaluate(self, x: Any, *, axes: tuple[int, ...]) -> Any:
        return np.transpose(x, axes)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        shape = shape_of(args[0])
        return tuple(shape[a] for a in params["axes"]), args[0].dtype

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        axes = params["axes"]
        back = tuple(axes.index(k) for k in range(len(axes)))
        return apply(self, np.broadcast_to(z_bar, shape_of(z)), axes=back)


class BroadcastTo(Op):
    """Elements repeated along new axes and those of length one."""

    name = "broadcast_to"

    def evaluate(self, x: Any, *, shape: tuple[int, ...]) -> Any:
        return np.broadcast_to(x, shape)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        np.broadcast_shapes(shape_of(args[0]), params["shape"])
        return params["shape"], args[0].dtype

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        return unbroadcast(z_bar, params["shape"], shape_of(args[0]))


class Concatenate(Op):
    """Arrays one after another along an axis."""

    name = "concatenate"

    def __init__(self) -> None:
        self.smooth = tuple(range(1 << 16))  # every argument

    def evaluate(self, *arrays: Any, axis: int) -> Any:
        return np.concatenate(arrays, axis=axis)

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        axis, shapes = params["axis"], [shape_of(a) for a in args]
        for s in shapes[1:]:
            if s[:axis] + s[axis + 1 :] != shapes[0][:axis] + shapes[0][axis + 1 :]:
                raise ValueError(f"concatenate got shapes {' and '.join(map(str, shapes))} along axis {axis}")
        total = sum(s[axis] for s in shapes)
        return (*shapes[0][:axis], total, *shapes[0][axis + 1 :]), np.result_type(*(a.dtype for a in args))

    def jvp(self, z: Array, args: list[Array], dots: list[Array], params: dict[str, Any]) -> Array:
        full = [np.zeros(shape_of(a)) if d is None else d for a, d in zip(args, dots, strict=True)]
        return apply(self, *full, **params)

    def vjp(self, z_bar: Array, z: Array, args: list[Array], params: dict[str, Any], i: int) -> Array:
        axis = params["axis"]
        start = sum(shape_of(a)[axis] for a in args[:i])
        piece = (slice(None),) * axis + (slice(start, start + shape_of(args[i])[axis]),)
        return np.broadcast_to(z_bar, shape_of(z))[piece]


RESHAPE = Reshape()
TRANSPOSE = Transpose()
BROADCAST_TO = BroadcastTo()
CONCATENATE = Concatenate()
