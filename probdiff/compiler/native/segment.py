"""One native function over the buffers of a program: loop nests in order, scalars in registers between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.fuse import COPY, Nest, Nested, Opaque, Routine, Sequence
from probdiff.compiler.native import blas
from probdiff.compiler.native.blas import emit_routine
from probdiff.compiler.native.nest import emit_nest, emit_region
from probdiff.compiler.native.nested import emit_nested
from probdiff.compiler.native.scalar import Loop, Scope, emit, emit_program
from probdiff.compiler.native.values import I8, I64, PTR, cast, constant, load, memory_type, store
from probdiff.compiler.region import FULL, Region
from probdiff.graph.program import Node
from probdiff.ops.dispatch import dtype_of

if TYPE_CHECKING:
    from probdiff.compiler.native.program import Layout


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
        """Emit the whole function: its buffers, its steps, its error number."""
        b = self.b
        self.error = b.alloca(I64)
        b.store(I64(0), self.error)
        inputs = [*range(self.layout.work_slot + 1)]
        for k in inputs:
            self.bases[k] = b.load(b.gep(self.function.args[0], [I64(k)], source_etype=PTR), typ=PTR)
        serial = blas.serial(self.nests)
        if serial:
            blas.set_threads(self, blas.ONE_THREAD)
        self._steps(self.nests)
        if serial:
            blas.set_threads(self, blas.ALL_THREADS)
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
                if isinstance(a, Node) and node.op.name != "getitem":
                    self.scalar(a)
            if node.op.name == "getitem":
                emit_nest(self, _only(node))
                continue
            self.values[node] = emit(self.scope, self.b, node, self.values)
            self._keep(node)
        for node in nest.ends:
            if node.op.name == "index_add":
                emit_nest(self, _only(node, end=True))
                continue
            self.values[node] = emit(
                self.scope,
                self.b,
                Node(COPY, node.args[:1], {}, (), node.args[0].dtype),
                {node.args[0]: self.scalar(node.args[0])},
            )
            self.values[node] = cast(self.b, self.values[node], node.args[0].dtype, node.dtype)
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


def _only(node: Node, end: bool = False) -> Nest:
    nest = Nest((), 0)
    (nest.ends if end else nest.body).append(node)
    return nest
