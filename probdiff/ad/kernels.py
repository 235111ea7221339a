"""A function of scalars recorded for the kinds of its arguments, with its partials: one native loop over arrays."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from probdiff.ad.dual import Dual, partial_of
from probdiff.compiler.inline import inlined
from probdiff.compiler.interpret import interpret
from probdiff.compiler.scalarise import scalarised
from probdiff.errors import TracedValueError
from probdiff.graph.closure import fingerprint
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import Capture, capture, recording, sweep
from probdiff.ops.control import scalar_program
from probdiff.ops.dispatch import Lifted, is_lifted, new_level, shape_of
from probdiff.tree import Tree, flatten, register, unflatten

LONG = 10_000  # elements from which machine code is made that computes once what depends on single numbers alone
_SMALL_INT = 64  # Python integers up to this are part of the recording: exponents, counts, orders


class Kernel:
    """A recording of f on scalars: the values, and with `wrt` the partials of each value along each of those leaves."""

    __slots__ = ("capture", "container", "count", "native", "partial_of", "program", "result_is_leaf")

    def __init__(self, recorded: Capture, program: Program, count: int, partial_of: list[list[int | None]]) -> None:
        self.capture = recorded
        self.program = program
        self.count = count
        self.partial_of = partial_of
        self.native: dict[tuple[bool, ...], Any] = {}
        probe = unflatten(recorded.out_spec, [0.0] * recorded.out_spec.num_leaves)
        value = probe.value
        self.result_is_leaf = isinstance(value, float)
        self.container = dataclasses.is_dataclass(value)

    def run(self, inputs: list[Any]) -> list[Any]:
        """Outputs for arrays of inputs: natively for plain ones, by the interpreter for lifted ones."""
        if any(isinstance(x, Lifted) for x in inputs):
            before, sweep.now = sweep.now, "forward" if len(self.program.outputs) > self.count else sweep.now
            try:
                return interpret(self.program, inputs)
            finally:
                sweep.now = before
        return self.natively(inputs)

    def natively(self, inputs: list[Any]) -> list[Any]:
        """Outputs for plain arrays and numbers, by machine code."""
        fixed: tuple[bool, ...] = ()
        if any(type(x) is np.ndarray and x.size >= LONG for x in inputs):
            single = tuple(type(x) is not np.ndarray or x.ndim == 0 for x in inputs)
            fixed = single if any(single) else ()
        native = self.native.get(fixed)
        if native is None:
            from probdiff.compiler.native.kernel import elementwise_kernel

            native = self.native[fixed] = elementwise_kernel(inlined(self.program), fixed)
        out: list[Any] = native(*inputs)
        return out


_kernels: dict[Any, Kernel | None] = {}


def kind_of(x: Any) -> Any:
    """What a recording depends on: a dtype, float, or a tuple for a leaf that is part of the recording."""
    if type(x) is np.ndarray:
        return x.dtype
    if isinstance(x, Lifted):
        return x.dtype
    if type(x) is float:
        return float
    if type(x) is int:
        return ("int", x) if -_SMALL_INT <= x <= _SMALL_INT else np.dtype(np.int64)
    if isinstance(x, np.generic):
        return x.dtype
    return (type(x), x)


def kernel_for(inner: Any, call: Any, leaves: list[Any], spec: Any, wrt: tuple[int, ...] | None) -> Kernel | None:
    """The recording for these kinds of leaves; None if f cannot be recorded, or is no program of scalars."""
    kinds = tuple(map(kind_of, leaves))
    mark = fingerprint(inner)
    key = (mark, spec, kinds, wrt)
    if mark is not None:
        try:
            return _kernels[key]
        except KeyError:
            pass
        except TypeError:
            mark = None
    kernel = _record(call, leaves, spec, kinds, wrt)
    if mark is not None and (kernel is None or not kernel.capture.lifted):
        _kernels[key] = kernel
    return kernel


def _record(call: Any, leaves: list[Any], spec: Any, kinds: Any, wrt: tuple[int, ...] | None) -> Kernel | None:
    narrow = [k for k in kinds if isinstance(k, np.dtype) and k.kind == "f"]
    weak = narrow[0] if narrow and all(k == narrow[0] for k in narrow) else np.dtype(float)
    described, traced = list(leaves), []
    for k, kind in enumerate(kinds):
        if kind is float or isinstance(kind, np.dtype):
            described[k] = ((), weak if kind is float else kind)
            traced.append(k)
    count = 0
    names: list[list[int | None]] = []

    def with_partials(*args: Tree) -> Any:
        nonlocal count
        inputs = flatten(args)[0]
        if wrt is None:
            out, out_spec = flatten(call(*args))
            count = len(out)
            names.extend([] for _ in out)
            return _Result(unflatten(out_spec, out), [])
        level = new_level()
        duals = list(inputs)
        for d, k in enumerate(wrt):
            duals[k] = Dual(level, inputs[k], tuple(1.0 if e == d else None for e in range(len(wrt))))
        out, out_spec = flatten(call(*unflatten(spec, duals)))
        count = len(out)
        extra: list[Any] = []
        for y in out:
            row: list[int | None] = []
            for d in range(len(wrt)):
                p = partial_of(y, level, d)
                row.append(None if p is None else count + len(extra))
                if p is not None:
                    extra.append(p)
            names.append(row)
        values = [y.value if type(y) is Dual and y.level == level else y for y in out]
        return _Result(unflatten(out_spec, values), extra)

    recording.bodies += 1
    try:
        recorded = capture(with_partials, spec, described, traced)
    except TracedValueError:
        return None
    finally:
        recording.bodies -= 1
    program = recorded.program
    if recorded.statics:
        return None
    if not scalar_program(program):  # small arrays inside an element become scalars
        if any(x.shape for x in (*program.inputs, *program.outputs)):
            return None
        written = scalarised(program)
        if written is None:
            return None
        program = written
    return Kernel(recorded, program, count, names)


class _Result:
    """What a recorded kernel returns: its result and, after it, the partials."""

    def __init__(self, value: Tree, extra: list[Any]) -> None:
        self.value = value
        self.extra = extra


register(_Result, ("value", "extra"))


def filled(out: list[Any], kernel: Kernel, inputs: list[Any]) -> list[Any]:
    """Results in the common shape, except inputs that a container holds as they are."""
    shapes = [shape_of(x) for x in inputs]
    first = shapes[0] if shapes else ()
    shape = first if all(s == first or s == () for s in shapes) else np.broadcast_shapes(*shapes)
    for k, (y, o) in enumerate(zip(out, kernel.program.outputs, strict=False)):
        if shape_of(y) != shape and not (kernel.container and type(o) is Node and o.op is None):
            y = np.broadcast_to(y, shape)
            out[k] = y if is_lifted(y) else y.copy()
    return out
