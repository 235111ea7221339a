"""A call of a native program: memory for its results, its segments in order, and NumPy where there is no code."""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.compiler.fuse import Opaque, c_strides, constant_view
from probdiff.compiler.inputs import in_native_form
from probdiff.graph.program import Node, own_dtype
from probdiff.ops.control import Control
from probdiff.ops.factor import quiet

if TYPE_CHECKING:
    from probdiff.compiler.native.program import Layout

Run = Callable[[list[Any], list[np.ndarray] | None], list[Any] | None]


def in_place(a: np.ndarray) -> np.ndarray:
    """A stand-in for a constant that has its address: itself, or its first element if it is not in C order.

    One that machine code cannot read where it lies (unaligned, another byte order) is copied.
    """
    if constant_view(a).strides == c_strides(a.shape):
        return in_native_form(a, own_dtype(a.dtype))
    return np.lib.stride_tricks.as_strided(a, (), ()).view(own_dtype(a.dtype))


RECYCLED = 1 << 17  # bytes from which a fresh array costs page faults at every call


class Recycler:
    """New arrays in memory that earlier ones have left: nothing refers to those any more, not even a view.

    The memory lies behind a ctypes object, which every array and view of it keeps alive; when it goes, the memory is
    free for the next array. One spare piece is kept.
    """

    __slots__ = ("block", "dtype", "refs", "shape", "spare")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = shape
        self.dtype = dtype
        self.block: Any = ctypes.c_char * (int(np.prod(shape, dtype=int)) * dtype.itemsize)
        self.spare: list[np.ndarray] = []
        self.refs: dict[int, tuple[Any, np.ndarray]] = {}

    def __call__(self) -> np.ndarray:
        memory = self.spare.pop() if self.spare else np.empty(ctypes.sizeof(self.block), np.uint8)
        holder = self.block.from_buffer(memory)
        ref = weakref.ref(holder, self._free)
        self.refs[id(ref)] = ref, memory
        return np.frombuffer(holder, self.dtype).reshape(self.shape)

    def _free(self, ref: Any) -> None:
        _, memory = self.refs.pop(id(ref))
        if not self.spare:
            self.spare.append(memory)


def _maker(shape: tuple[int, ...], dtype: np.dtype) -> Callable[[], np.ndarray]:
    if int(np.prod(shape, dtype=int)) * dtype.itemsize >= RECYCLED:
        return Recycler(shape, dtype)
    return functools.partial(np.empty, shape, dtype)


class Runner:
    """Allocates results, calls the segments in order, and evaluates with NumPy what lies between them."""

    def __init__(self, layout: Layout, calls: list[Any], fixed: list[np.ndarray]) -> None:
        self.layout = layout
        self.calls = calls
        self.fixed = fixed
        # copies are made again at each call: elements of the constant may have changed
        self.copied = any(not np.may_share_memory(f, c) for f, c in zip(fixed, layout.constants, strict=True) if c.size)
        self.make = [_maker(o.shape, o.dtype) for o in layout.outputs]
        self.only: Any = calls[0] if len(calls) == 1 and not isinstance(calls[0], Opaque) else None
        self.all_computed = len(layout.outputs) == len(layout.program.outputs)
        self.pool: list[np.ndarray] = []
        # what nearly every program is: one native function that computes every result
        self.direct = self.only is not None and self.all_computed and not self.copied
        self.scalars = [k for k, o in enumerate(layout.outputs) if not o.shape]

    def __call__(self, inputs: Any, out: list[np.ndarray] | None) -> list[Any] | None:
        """Results, or None if an input does not fit the recording (another shape or dtype)."""
        pool = self.pool
        if self.direct and out is None:
            work = pool.pop() if pool else np.empty(self.layout.workspace, np.uint8)
            targets = [make() for make in self.make]
            if not self.only(*inputs, *self.fixed, *targets, work):
                pool.append(work)
                for k in self.scalars:
                    targets[k] = targets[k][()]
                return targets
            pool.append(work)
        work = pool.pop() if pool else np.empty(self.layout.workspace, np.uint8)
        if out is None:
            targets = [make() for make in self.make]
        elif self.all_computed:
            targets = out
        else:
            targets = [t for t, o in zip(out, self.layout.program.outputs, strict=True) if isinstance(o, Node)]
        fixed = self.fixed
        if self.copied:
            fixed = [in_place(c) for c in self.layout.constants]
        if self.only is not None:
            error = self.only(*inputs, *fixed, *targets, work)
        else:
            error = self._steps([*inputs, *fixed, *targets, work])
        pool.append(work)
        if error:
            if error < 0:
                return None
            raise IndexError("an index is out of bounds in a compiled program")
        if out is not None:
            if not self.all_computed:
                for t, o in zip(out, self.layout.program.outputs, strict=True):
                    if not isinstance(o, Node):
                        t[...] = o
            return out
        for k in self.scalars:
            targets[k] = targets[k][()]
        if self.all_computed:
            return targets
        computed = iter(targets)
        return [next(computed) if isinstance(o, Node) else np.array(o)[()] for o in self.layout.program.outputs]

    def _steps(self, buffers: list[Any]) -> int:
        for call in self.calls:
            if isinstance(call, Opaque):
                node = call.node
                args = [self._array(a, buffers) if isinstance(a, Node) else a for a in node.args]
                with np.errstate(all="ignore"), quiet():
                    results = node.op.evaluate(*args, **node.params)
                if isinstance(node.op, Control):
                    for member in self.layout.plan.members.get(node, []):
                        self._array(member, buffers)[...] = results[member.params["k"]]
                else:
                    self._array(node, buffers)[...] = results
            else:
                error: int = call(*buffers)
                if error:
                    return error
        return 0

    def _array(self, a: Node, buffers: list[Any]) -> np.ndarray:
        view = self.layout.plan.view(a)
        slot, offset = self.layout.pointer(view.base)
        base = np.asarray(buffers[slot])
        if slot == self.layout.work_slot:
            base = base[offset : offset + view.base.size * a.dtype.itemsize].view(a.dtype)
        flat = base.reshape(-1)[view.offset :] if base.size else base
        return np.lib.stride_tricks.as_strided(flat, view.shape, [s * a.dtype.itemsize for s in view.strides])
