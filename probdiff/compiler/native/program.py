"""A whole program as one native function over its buffers: loop nests in order, scalars in registers between them."""

from __future__ import annotations

import ctypes
import functools
import time
import weakref
from collections.abc import Callable
from typing import Any

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.fuse import (
    COPY,
    Nest,
    Nested,
    Opaque,
    Plan,
    Routine,
    Sequence,
    c_strides,
    constant_view,
    rewrite,
    with_own_outputs,
)
from probdiff.compiler.inputs import in_native_form
from probdiff.compiler.region import FULL
from probdiff.compiler.native import jit
from probdiff.compiler.native.blas import emit_routine
from probdiff.compiler.native.call import caller
from probdiff.compiler.native.kernel import marked
from probdiff.compiler.native.outside import available, structure
from probdiff.compiler.native.nest import emit_nest, emit_region
from probdiff.compiler.native.nested import Areas, emit_nested, nbytes
from probdiff.compiler.native.scalar import (
    I8,
    I64,
    PTR,
    Loop,
    Scope,
    cast,
    constant,
    emit,
    emit_program,
    load,
    memory_type,
    store,
)
from probdiff.compiler.region import Region
from probdiff.graph.program import Node, Program, own_dtype
from probdiff.ops.control import Control
from probdiff.ops.dispatch import dtype_of, shape_of
from probdiff.ops.factor import quiet

Run = Callable[[list[Any], list[np.ndarray] | None], list[Any] | None]
_cache: dict[Any, tuple[list[int], Any]] = {}


def native_program(program: Program) -> Run:
    """A function (inputs, out) -> results; `out` are arrays to write into, or None for new ones."""
    layout = Layout(Plan(with_own_outputs(rewrite(program))))
    return layout.bind()


class Layout:
    """Which buffer every array of a planned program lives in, and the code that fills them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.program = program = plan.program
        self.constants = program.constants()
        self.outputs = [o for o in program.outputs if isinstance(o, Node)]
        self.slot: dict[Any, int] = {}  # argument number of a buffer
        self.offset: dict[Node, int] = {}  # byte offset in the workspace
        n = 0
        for group in (program.inputs, self.constants, self.outputs):
            for a in group:
                self.slot[a if isinstance(a, Node) else id(a)] = n
                n += 1
        self.segments = self._segments()
        split = len(self.segments) > 1
        self.workspace = 0
        for node in self._work(split):
            if node not in self.slot:
                self.offset[node] = self._reserve(nbytes(node.shape, node.dtype))
        self.work_slot = n
        self.areas = {
            node: Areas(node, {name: Layout(p) for name, p in plans.items()}, self._reserve)
            for node, plans in plan.bodies.items()
        }

        # where the results of a call go that nobody reads
        self.spare = {
            step.node: [self._reserve(nbytes(s, d)) for s, d in step.node.op.outputs(step.node.args, {})]
            for step in plan.steps
            if isinstance(step, Routine) and isinstance(step.node.op, Control)
        }

    def _reserve(self, size: int) -> int:
        """Room in the workspace; its offset."""
        at = self.workspace
        self.workspace += -(-size // 64) * 64
        return at

    def _segments(self) -> list[list[Nest] | Opaque]:
        out: list[Any] = [[]]
        for step in self.plan.steps:
            if isinstance(step, Opaque):
                out += [step, []]
            else:
                out[-1].append(step)
        return [s for s in out if isinstance(s, Opaque) or s]

    def _work(self, split: bool) -> list[Node]:
        nodes = dict(self.plan.stored)
        if split:  # scalars that another segment reads have to be in memory
            for step in self.plan.steps:
                if isinstance(step, Nest) and step.space == ():
                    nodes |= dict.fromkeys(n for n in step.body if not isinstance(n.op, Control))
        return list(nodes)

    def text(self) -> str:
        """LLVM text: a function `part<k>(buffers)` for each native segment."""
        module = ir.Module()
        scope = Scope(module)
        scope.long = len(self.program.nodes) > 2 * FULL
        for k, segment in enumerate(self.segments):
            if not isinstance(segment, Opaque):
                Segment(self, scope, f"part{k}", segment).emit()
        return marked(str(module))

    def bind(self) -> Run:
        """Compile (or find the machine code of a program of the same structure) and tie it to these constants."""
        names = [f"part{k}" for k, s in enumerate(self.segments) if not isinstance(s, Opaque)]
        key = self.program.key()
        if key not in _cache:
            _cache[key] = self._machine_code(key, names)
        self.code, self.account = _cache[key]
        addresses = dict(zip(names, self.code, strict=True))
        fixed = [_in_place(c) for c in self.constants]
        described = [(a.shape, a.dtype, False) for a in (*self.program.inputs, *fixed)]
        described += [(o.shape, o.dtype, True) for o in self.outputs]
        described.append(((self.workspace,), np.dtype(np.uint8), True))
        start = time.perf_counter()
        calls = [
            caller(addresses[f"part{k}"], described) if f"part{k}" in addresses else s
            for k, s in enumerate(self.segments)
        ]
        self.linking = time.perf_counter() - start
        return Runner(self, calls, fixed)

    def _machine_code(self, key: Any, names: list[str]) -> tuple[list[int], jit.Account]:
        """The addresses of the segments: from disk by the program's structure, else compiled."""
        account = jit.Account()
        if not names:
            return [], account
        known = structure(key)
        found = jit.recall(known, names, available, account) if known else None
        if found is not None:
            return found, account
        start = time.perf_counter()
        text = self.text()
        account.emitting = time.perf_counter() - start
        return jit.load(text, names, structure=known, account=account), account

    def pointer(self, a: Any) -> tuple[int, int]:
        """Argument number and byte offset of the array behind a node or constant."""
        if isinstance(a, Node):
            return (self.slot[a], 0) if a in self.slot else (self.work_slot, self.offset[a])
        return self.slot[id(a)], 0


def _in_place(a: np.ndarray) -> np.ndarray:
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
        self.block = ctypes.c_char * (int(np.prod(shape, dtype=int)) * dtype.itemsize)
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
        self.only = calls[0] if len(calls) == 1 and not isinstance(calls[0], Opaque) else None
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
            if not self.only(*inputs, *self.fixed, *targets, work):  # type: ignore[misc]
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
            fixed = [_in_place(c) for c in self.layout.constants]
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
                    results = node.op.evaluate(*args, **node.params)  # type: ignore[union-attr]
                if isinstance(node.op, Control):
                    for member in self.layout.plan.members.get(node, []):
                        self._array(member, buffers)[...] = results[member.params["k"]]
                else:
                    self._array(node, buffers)[...] = results
            else:
                error = call(*buffers)
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


class Segment:
    """One native function: scalars are values in it, nests are calls."""

    def __init__(self, layout: Layout, scope: Scope, name: str, nests: list[Nest]) -> None:
        self.layout = layout
        self.scope = scope
        self.nests = nests
        self.function = ir.Function(scope.module, ir.FunctionType(I64, [PTR]), name)
        self.frame = self.function.append_basic_block("frame")  # room for what is passed by reference
        self.first = self.function.append_basic_block("entry")
        self.b = ir.IRBuilder(self.first)
        self.values: dict[Node, Any] = {}
        self.bases: dict[int, Any] = {}
        self.depth = 0  # of nested bodies
        self.sums: Any = None  # room for the sums of blocks, once a region runs in blocks

    def emit(self) -> None:
        b = self.b
        self.error = b.alloca(I64)
        b.store(I64(0), self.error)
        inputs = [*range(self.layout.work_slot + 1)]
        for k in inputs:
            self.bases[k] = b.load(b.gep(self.function.args[0], [I64(k)], source_etype=PTR), typ=PTR)
        self._steps(self.nests)
        b.ret(b.load(self.error))
        ir.IRBuilder(self.frame).branch(self.first)

    def _steps(self, steps: list[Any]) -> None:
        for nest in steps:
            if isinstance(nest, Sequence):
                self._sequence(nest.node)
            elif isinstance(nest, Nested):
                emit_nested(self, nest.node)
            elif isinstance(nest, Routine):
                emit_routine(self, nest.node)
            elif isinstance(nest, Region):
                emit_region(self, nest)
            elif nest.space == ():
                if len(nest.body) < FULL // 2 or self.depth:
                    self._scalars(nest)
                else:
                    self._apart(nest)
            else:
                emit_nest(self, nest)

    def inside(self, layout: Layout, bases: dict[int, Any]) -> None:
        """Run the steps of a body here, with its buffers at `bases`."""
        outer = self.layout, self.values, self.bases
        self.layout, self.values, self.bases = layout, {}, bases
        self.depth += 1
        self._steps([step for part in layout.segments if not isinstance(part, Opaque) for step in part])
        self.layout, self.values, self.bases = outer
        self.depth -= 1

    def address(self, a: Any) -> Any:
        """Pointer to the first element of the array behind a node or constant."""
        slot, offset = self.layout.pointer(a)
        base = self.bases[slot]
        return self.b.gep(base, [I64(offset)], source_etype=I8) if offset else base

    def scalar(self, a: Any, dtype: np.dtype | None = None) -> Any:
        """The value of a zero-dimensional node."""
        if not isinstance(a, Node):
            return constant(a, dtype or np.asarray(a).dtype)
        if a not in self.values:
            view = self.layout.plan.view(a)
            at = self.address(view.base)
            if view.offset:
                at = self.b.gep(at, [I64(view.offset * a.dtype.itemsize)], source_etype=I8)
            self.values[a] = load(self.b, at, a.dtype)
        return self.values[a]

    def _apart(self, nest: Nest) -> None:
        """Long straight code as a function of its own, with values for others in memory and mathematics called."""
        kind = ir.FunctionType(ir.VoidType(), [PTR, PTR])
        f = ir.Function(self.scope.module, kind, f"straight{len(self.scope.functions)}")
        self.scope.functions[f.name] = f
        f.linkage = "internal"
        f.attributes.add("noinline")
        self.b.call(f, [self.function.args[0], self.error])
        outer = self.b, self.values, self.bases, self.error
        self.b = b = ir.IRBuilder(f.append_basic_block("entry"))
        self.values, self.error = {}, f.args[1]
        self.bases = {k: b.load(b.gep(f.args[0], [I64(k)], source_etype=PTR), typ=PTR) for k in outer[2]}
        self.scope.inlines = False
        self._scalars(nest)
        self.scope.inlines = True
        b.ret_void()
        self.b, self.values, self.bases, self.error = outer

    def _scalars(self, nest: Nest) -> None:
        for node in nest.body:
            for a in node.args:
                if isinstance(a, Node) and node.op.name != "getitem":  # type: ignore[union-attr]
                    self.scalar(a)
            if node.op.name == "getitem":  # type: ignore[union-attr]
                emit_nest(self, _only(node))
                continue
            self.values[node] = emit(self.scope, self.b, node, self.values)
            self._keep(node)
        for node in nest.ends:
            if node.op.name == "index_add":  # type: ignore[union-attr]
                emit_nest(self, _only(node, end=True))
                continue
            self.values[node] = emit(
                self.scope,
                self.b,
                Node(COPY, node.args[:1], {}, (), node.args[0].dtype),
                {node.args[0]: self.scalar(node.args[0])},
            )
            self.values[node] = _cast(self, node)
            self._keep(node)
        for source, target in nest.stores:
            if target.base.op.name == "index_add":
                self.clear(target.base)
            dtype = target.base.dtype
            value = self.scalar(source, dtype)
            at = self.b.gep(self.address(target.base), [I64(target.offset * dtype.itemsize)], source_etype=I8)
            store(self.b, value, at, dtype)

    def _sequence(self, node: Node) -> None:
        """A scan over rows: its carry in registers, rows read and written where they lie."""
        b, params = self.b, node.params
        k, m, body, length = params["carry"], params["xs"], params["body"], params["length"]
        kinds = [n.dtype for n in body.inputs]
        operands = [a if isinstance(a, Node) else np.asarray(a) for a in node.args]

        def number(a: Any, dtype: np.dtype) -> Any:
            return cast(b, self.scalar(a, dtype), a.dtype, dtype) if isinstance(a, Node) else constant(a, dtype)

        start = [number(a, d) for a, d in zip(operands[:k], kinds, strict=False)]
        consts = [number(a, d) for a, d in zip(operands[k + m :], kinds[k + m :], strict=True)]
        views = [self.layout.plan.view(a) for a in operands[k : k + m]]
        rows = [(self.address(v.base), v) for v in views]
        members = {p.params["k"]: p for p in self.layout.plan.members.get(node, [])}
        targets = {j: self.address(p) for j, p in members.items() if j >= k}
        loop = Loop(b, start, length)
        with loop as (i, carry):
            t = b.sub(I64(length - 1), i) if params["reverse"] else i
            xs = []
            for (base, v), a, d in zip(rows, operands[k : k + m], kinds[k : k + m], strict=True):
                place = b.add(b.mul(t, I64(v.strides[0])), I64(v.offset))
                xs.append(
                    cast(b, load(b, b.gep(base, [place], source_etype=memory_type(a.dtype)), a.dtype), a.dtype, d)
                )
            out = emit_program(self.scope, b, body, [*carry, *xs, *consts], kinds)
            for j, target in targets.items():
                dtype = members[j].dtype
                store(b, out[j], b.gep(target, [t], source_etype=memory_type(dtype)), dtype)
            loop.next([cast(b, v, dtype_of(o), d) for v, o, d in zip(out, body.outputs, kinds[:k], strict=False)])
        for j, p in members.items():
            if j < k:
                self.values[p] = loop.carry[j]
                self._keep(p)

    def _keep(self, node: Node) -> None:
        if node in self.layout.plan.stored or node in self.layout.offset:
            store(self.b, self.values[node], self.address(node), node.dtype)

    def clear(self, node: Node) -> None:
        """Fill the array of a node with zeros."""
        size = node.size * node.dtype.itemsize
        memset = self.scope.declare("llvm.memset.p0.i64", ir.VoidType(), [PTR, I8, I64, ir.IntType(1)])
        self.b.call(memset, [self.address(node), I8(0), I64(size), ir.IntType(1)(0)])


def _cast(segment: Segment, node: Node) -> Any:
    from probdiff.compiler.native.scalar import cast

    return cast(segment.b, segment.values[node], node.args[0].dtype, node.dtype)


def _only(node: Node, end: bool = False) -> Nest:
    nest = Nest((), 0)
    (nest.ends if end else nest.body).append(node)
    return nest


__all__ = ["native_program", "shape_of"]
