"""Loops and branches whose bodies compute with arrays: the body's own nests, run again and again over the same memory.

The carry lives in one set of arrays and the body writes another, which is then copied over the first. Rows of a scan
are read and written where they lie. What the body closes over is read in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.fuse import c_strides
from probdiff.compiler.native.blas import copied
from probdiff.compiler.native.kernel import for_range
from probdiff.compiler.native.values import I8, I64, PTR, cast, constant, load, memory_type, store
from probdiff.graph.program import Node
from probdiff.ops.control import COND, WHILE
from probdiff.ops.dispatch import dtype_of, shape_of

if TYPE_CHECKING:
    from probdiff.compiler.native.program import Layout


def nbytes(shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Size of an array."""
    return max(int(np.prod(shape, dtype=int)), 1) * dtype.itemsize


class Areas:
    """Memory of a nested operation in the workspace: offsets of its carries, copies and bodies."""

    def __init__(self, node: Node, bodies: dict[str, Layout], reserve: Callable[[int], int]) -> None:
        self.bodies = bodies
        self.base = {name: reserve(body.workspace) for name, body in bodies.items()}
        first = bodies["true"] if node.op is COND else bodies["body"]
        k = 0 if node.op is COND else node.params["carry"]
        self.carry = [reserve(nbytes(n.shape, n.dtype)) for n in first.program.inputs[:k]]
        self.results = [reserve(nbytes(o.shape, o.dtype)) for o in first.program.outputs]
        self.flag = reserve(8)
        self.operands = [reserve(nbytes(shape_of(a), dtype_of(a))) for a in node.args]


def emit_nested(segment: Any, node: Node) -> None:
    """Emit the operation in a segment and leave its results in the arrays of its members."""
    Emitter(segment, node).emit()


class Emitter:
    """The code of one loop or branch over arrays."""

    def __init__(self, segment: Any, node: Node) -> None:
        self.segment = segment
        self.b = segment.b
        self.node = node
        self.areas: Areas = segment.layout.areas[node]
        self.members = {p.params["k"]: p for p in segment.layout.plan.members.get(node, [])}

    def emit(self) -> None:
        """Emit the operation where the segment stands."""
        node = self.node
        if node.op is COND:
            self._cond()
        elif node.op is WHILE:
            self._while()
        else:
            self._scan()

    def _work(self, offset: int) -> Any:
        return self.b.gep(self.segment.bases[self.segment.layout.work_slot], [I64(offset)], source_etype=I8)

    def _copy(self, target: Any, source: Any, size: int) -> None:
        f = self.segment.scope.declare("llvm.memcpy.p0.p0.i64", ir.VoidType(), [PTR, PTR, I64, ir.IntType(1)])
        self.b.call(f, [target, source, I64(size), ir.IntType(1)(0)])

    def _operand(self, j: int, dtype: np.dtype) -> Any:
        """Pointer to an operand in C order and the body's dtype, copied if it does not lie so."""
        b, a = self.b, self.node.args[j]
        room = self._work(self.areas.operands[j])
        if shape_of(a) == ():
            if isinstance(a, Node):
                value = cast(b, self.segment.scalar(a), a.dtype, dtype)
            else:
                value = constant(a, dtype)
            store(b, value, room, dtype)
            return room
        view = self.segment.layout.plan.view(a)
        base = self.segment.address(view.base)
        if view.strides == c_strides(view.shape) and a.dtype == dtype:
            return b.gep(base, [I64(view.offset)], source_etype=memory_type(dtype)) if view.offset else base
        copied(self.segment, a, room, dtype)
        return room

    def _run(self, name: str, inputs: list[Any], outputs: list[Any]) -> None:
        """The nests of a body, for pointers to its inputs and outputs."""
        body = self.areas.bodies[name]
        bases = dict(enumerate([*inputs, *outputs, self._work(self.areas.base[name])]))
        self.segment.inside(body, bases)

    def _start(self) -> list[Any]:
        """The carry's arrays, holding the operands."""
        first = self.areas.bodies["body"].program.inputs
        carry = []
        for j, offset in enumerate(self.areas.carry):
            n = first[j]
            at = self._work(offset)
            self._copy(at, self._operand(j, n.dtype), nbytes(n.shape, n.dtype))
            carry.append(at)
        return carry

    def _finish(self, carry: list[Any]) -> None:
        for j, member in self.members.items():
            if j < len(carry):
                self._copy(self.segment.address(member), carry[j], nbytes(member.shape, member.dtype))

    def _cond(self) -> None:
        b, node = self.b, self.node
        inputs = [self._operand(j + 1, n.dtype) for j, n in enumerate(self.areas.bodies["true"].program.inputs)]
        room = [self._work(offset) for offset in self.areas.results]
        targets = [self.segment.address(self.members[j]) if j in self.members else r for j, r in enumerate(room)]
        pred = node.args[0]
        value = self.segment.scalar(pred) if isinstance(pred, Node) else constant(pred, dtype_of(pred))
        with b.if_else(cast(b, value, dtype_of(pred), np.dtype(bool))) as (then, otherwise):
            with then:
                self._run("true", inputs, targets)
            with otherwise:
                self._run("false", inputs, targets)

    def _while(self) -> None:
        b, params, bodies = self.b, self.node.params, self.areas.bodies
        k, m = params["carry"], params["cond_consts"]
        carry = self._start()
        check = [self._operand(k + j, n.dtype) for j, n in enumerate(bodies["cond"].program.inputs[k:])]
        step = [self._operand(k + m + j, n.dtype) for j, n in enumerate(bodies["body"].program.inputs[k:])]
        new = [self._work(offset) for offset in self.areas.results]
        flag = self._work(self.areas.flag)
        head, inside, after = (b.append_basic_block(name) for name in ("while", "do", "done"))
        b.branch(head)
        b.position_at_end(head)
        self._run("cond", [*carry, *check], [flag])
        b.cbranch(load(b, flag, np.dtype(bool)), inside, after)
        b.position_at_end(inside)
        self._run("body", [*carry, *step], new)
        self._advance(carry, new)
        b.branch(head)
        b.position_at_end(after)
        self._finish(carry)

    def _advance(self, carry: list[Any], new: list[Any]) -> None:
        """The carry of the next round: whole values, or single rows where the body replaces one."""
        b, body = self.b, self.areas.bodies["body"]
        assert body.plan.places is not None
        for n, old, place in zip(body.program.inputs, carry, body.plan.places, strict=False):
            if place.value is None:
                continue
            if place.row is None:
                self._copy(old, new[place.value], nbytes(n.shape, n.dtype))
                continue
            kind = dtype_of(body.program.outputs[place.row])
            i = cast(b, load(b, new[place.row], kind), kind, np.dtype(np.int64))
            i = b.select(b.icmp_signed("<", i, I64(0)), b.add(i, I64(n.shape[0])), i)
            inside = b.icmp_unsigned("<", i, I64(n.shape[0]))
            error = b.load(self.segment.error, typ=I64)
            b.store(b.or_(error, b.zext(b.not_(inside), I64)), self.segment.error)
            size = nbytes(n.shape[1:], n.dtype)
            row = b.gep(old, [b.mul(b.select(inside, i, I64(0)), I64(size))], source_etype=I8)
            value = new[place.value]
            given = dtype_of(body.program.outputs[place.value])
            if given != n.dtype:
                raise AssertionError(f"a row of {given} for an array of {n.dtype}")
            self._copy(row, value, size)

    def _scan(self) -> None:
        b, params = self.b, self.node.params
        k, m, length = params["carry"], params["xs"], params["length"]
        program = self.areas.bodies["body"].program
        carry = self._start()
        rows = [self._operand(k + j, program.inputs[k + j].dtype) for j in range(m)]
        consts = [self._operand(j, program.inputs[j].dtype) for j in range(k + m, len(program.inputs))]
        new = [self._work(offset) for offset in self.areas.results]
        sizes = [nbytes(n.shape, n.dtype) if n.size else 0 for n in program.inputs[k : k + m]]
        shift = len(program.outputs) - len(self.node.params["body"].outputs)  # the carry may take more or fewer outputs
        ys = {j + shift: self.segment.address(p) for j, p in self.members.items() if j >= k}
        with for_range(b, I64(0), I64(length)) as i:
            t = b.sub(I64(length - 1), i) if params["reverse"] else i
            xs = [b.gep(r, [b.mul(t, I64(s))], source_etype=I8) for r, s in zip(rows, sizes, strict=True)]
            out = list(new)
            for j, y in ys.items():
                o = program.outputs[j]
                out[j] = b.gep(y, [b.mul(t, I64(nbytes(o.shape, o.dtype) if o.size else 0))], source_etype=I8)
            self._run("body", [*carry, *xs, *consts], out)
            self._advance(carry, new)
        self._finish(carry)
