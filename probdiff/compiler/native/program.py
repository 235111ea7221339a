"""A whole program over its buffers: which array lives where, and the machine code of the segments that fill them."""

from __future__ import annotations

import time
from typing import Any

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.fuse import Nest, Opaque, Plan, Routine, rewrite, with_own_outputs
from probdiff.compiler.native import jit
from probdiff.compiler.native.call import Description, caller
from probdiff.compiler.native.kernel import marked
from probdiff.compiler.native.nested import Areas, nbytes
from probdiff.compiler.native.outside import available, structure
from probdiff.compiler.native.runner import Run, Runner, in_place
from probdiff.compiler.native.scalar import Scope
from probdiff.compiler.native.segment import Segment
from probdiff.compiler.region import FULL
from probdiff.graph.program import Node, Program
from probdiff.ops.control import Control

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
        fixed = [in_place(c) for c in self.constants]
        described: list[Description] = [(n.shape, n.dtype, False) for n in self.program.inputs]
        described += [(a.shape, a.dtype, False) for a in fixed]
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
