"""How a compiled program runs: its loops, what they read and write, what NumPy evaluates, and where the time goes."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from probdiff.compiler.arguments import leaf_names
from probdiff.compiler.fuse import Nest, Opaque
from probdiff.compiler.region import Region
from probdiff.graph.program import Node
from probdiff.ops.dispatch import dtype_of, shape_of

if TYPE_CHECKING:
    from probdiff.compiler.compiled import Compiled, Entry

MEASURED = 0.05  # seconds spent on the time per call
SWEEPS = {"": "value", "forward": "forward (inside fwddiff)", "reverse": "reverse (outside fwddiff)"}


@dataclass
class Step:
    """One piece of a program: a loop nest, scalars between loops, a scan, a library routine, or a NumPy call."""

    kind: str
    space: str = ""
    operations: Counter[str] = field(default_factory=Counter)
    sweeps: Counter[str] = field(default_factory=Counter)
    reads: dict[str, int] = field(default_factory=dict)  # bytes by array
    writes: dict[str, int] = field(default_factory=dict)
    reductions: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)  # arrays that are never stored
    why: str = ""

    @property
    def bytes(self) -> int:
        """Bytes read and written in one call."""
        return sum(self.reads.values()) + sum(self.writes.values())

    def count(self, node: Node) -> None:
        """Add an operation of the program to those of this step."""
        self.operations[node.op.name if node.op else "input"] += 1
        self.sweeps[node.sweep] += 1

    def lines(self) -> list[str]:
        """The step as text."""
        out = [f"{self.kind}{' over ' + self.space if self.space else ''}"]
        if self.why:
            out.append(f"why         {self.why}")
        if self.operations:
            total = sum(self.operations.values())
            common = ", ".join(f"{name} {n}" if n > 1 else name for name, n in self.operations.most_common(8))
            more = ", …" if len(self.operations) > 8 else ""
            out.append(f"operations  {total}: {common}{more}")
            out.append("direction   " + ", ".join(f"{n} {SWEEPS[s]}" for s, n in self.sweeps.most_common()))
        for title, arrays in (("reads", self.reads), ("writes", self.writes)):
            if arrays:
                out.append(f"{title:11} " + ", ".join(f"{name} ({size(b)})" for name, b in arrays.items()))
        if self.reductions:
            out.append("reductions  " + ", ".join(self.reductions))
        if self.inside:
            out.append("not stored  " + ", ".join(self.inside))
        if self.bytes:
            out.append(f"moves       {size(self.bytes)} per call")
        return out


class Explanation:
    """The report of `compiled.explain()`: print it, or read its fields.

    steps      the pieces in the order in which they run
    seconds    of compiling, by phase: tracing, planning, emitting, optimising and generating or loading, linking
    cached     whether the machine code came from the cache on disk
    workspace  bytes that a call needs besides its arguments and results
    per_call   seconds, if arguments were given
    """

    def __init__(self, entry: Entry, compiled: Compiled, args: tuple[Any, ...]) -> None:
        self.name = getattr(compiled, "__name__", "compiled")
        self.backend = compiled.backend
        program = entry.capture.program
        self.names: dict[int, str] = {}
        labels = leaf_names(compiled.f, entry.spec)
        for k, node in zip(entry.traced, program.inputs, strict=False):
            self.names[id(node)] = labels[k]
        self.seconds = {"tracing": entry.seconds[0]}
        self.cached = False
        self.workspace = 0
        self.steps: list[Step] = []
        layout = getattr(entry.run, "layout", None)
        if layout is None:
            kind = "one program of XLA" if compiled.backend == "jax" else "NumPy, operation by operation"
            step = Step(kind, why=f"backend={compiled.backend!r}")
            for node in program.nodes:
                step.count(node)
            self.steps.append(step)
        else:
            self._read(layout, entry, labels)
        self.per_call = _measured(compiled, args) if args else None

    def _read(self, layout: Any, entry: Entry, labels: list[str]) -> None:
        for k, node in zip(entry.traced, layout.program.inputs, strict=False):
            self.names[id(node)] = labels[k]
        results = [o for o in layout.program.outputs]
        for k, node in enumerate(results):
            self.names[id(node)] = f"result {k}" if len(results) > 1 else "result"
        account = layout.account
        spent = {name: getattr(account, name) for name in ("emitting", "optimising", "generating", "loading")}
        own = entry.seconds[1] - layout.linking >= sum(spent.values())  # else the code is that of an earlier recording
        self.seconds["planning"] = entry.seconds[1] - layout.linking - sum(spent.values()) * own
        if own:
            self.seconds |= {name: seconds for name, seconds in spent.items() if seconds}
        self.seconds["linking"] = layout.linking
        self.cached = account.found
        self.workspace = layout.workspace
        self.steps = [self._step(step, layout.plan) for step in layout.plan.steps]

    def _step(self, step: Any, plan: Any) -> Step:
        if isinstance(step, Region):
            return self._region(step)
        if isinstance(step, Nest):
            out = Step("scalars")
            for node in (*step.body, *step.ends):
                out.count(node)
            for _, target in step.stores:
                name = self._array(target.base)
                out.writes[name] = out.writes.get(name, 0) + target.base.dtype.itemsize
            return out
        node = step.node
        args = [plan.source(a) if isinstance(a, Node) else a for a in node.args if shape_of(a) != ()]
        out = Step("NumPy" if isinstance(step, Opaque) else "scan" if "length" in node.params else "library routine")
        if isinstance(step, Opaque):
            kinds = ", ".join(f"{dtype_of(a)}{list(shape_of(a))}" for a in node.args)
            out.why = f"{node.op.name}({kinds}) has no machine code here"
        elif "length" in node.params:
            out.space = f"{node.params['length']} rows"
        out.count(node)
        out.reads = {self._array(a): math.prod(shape_of(a)) * dtype_of(a).itemsize for a in args}
        if isinstance(node.shape, tuple) and node.dtype.itemsize and not plan.members.get(node):
            out.writes = {self._array(node): math.prod(node.shape) * node.dtype.itemsize}
        for member in plan.members.get(node, []):
            out.writes[self._array(member)] = member.size * member.dtype.itemsize
        return out

    def _region(self, region: Region) -> Step:
        spaces = [" × ".join(map(str, w.space)) for w in region.walks]
        out = Step("loop", ", ".join(dict.fromkeys(spaces)))
        for walk in region.walks:
            for node in (*walk.nest.body, *walk.nest.ends):
                out.count(node)
            for node in walk.nest.ends:
                axes = node.params.get("axis")
                where = f"into {list(node.shape)}" if axes is None else f"over axes {list(axes)}"
                out.reductions.append(f"{node.op} {where}")
            for key, access in walk.accesses.items():
                base = access.base
                if isinstance(base, Node) and base in region.local:
                    continue
                every = key[0] in ("gather", "scatter")  # an element for each index, wherever it is
                count = math.prod(n for n, s in zip(walk.sizes, access.strides, strict=True) if s or every)
                side = out.reads if key[0] in ("read", "gather", "index") else out.writes
                name = self._array(base)
                side[name] = max(side.get(name, 0), count * access.dtype.itemsize)
        out.inside = [self._array(node) for node in region.local]
        out.reductions = [f"{n} × {name}" if n > 1 else name for name, n in Counter(out.reductions).items()]
        return out

    def _array(self, a: Any) -> str:
        kind = f"{dtype_of(a)}{list(shape_of(a))}"
        if id(a) in self.names:
            return f"{self.names[id(a)]} {kind}"
        return f"{a.op.name if a.op else 'input'} {kind}" if isinstance(a, Node) else f"constant {kind}"

    @property
    def bytes(self) -> int:
        """Bytes that the loops read and write in one call."""
        return sum(step.bytes for step in self.steps)

    def __str__(self) -> str:
        lines = [f"{self.name}, backend {self.backend}"]
        for k, step in enumerate(self.steps, 1):
            first, *rest = step.lines()
            lines += [f"{k:3}  {first}", *(f"       {line}" for line in rest)]
        operations = sum(sum(step.operations.values()) for step in self.steps)
        lines.append(f"{operations} operations, {size(self.bytes)} moved per call, workspace {size(self.workspace)}")
        phases = ", ".join(f"{name} {1e3 * seconds:.1f}" for name, seconds in self.seconds.items())
        lines.append(f"compiled in {1e3 * sum(self.seconds.values()):.1f} ms: {phases}")
        if self.backend == "native":
            lines.append("machine code from the cache on disk" if self.cached else "machine code made in this process")
        if self.per_call is not None:
            lines.append(f"{1e6 * self.per_call:.3g} µs per call")
        return "\n".join(lines)

    __repr__ = __str__


def size(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count = count / 1000
    return f"{count:.3g} GB"


def _measured(compiled: Compiled, args: tuple[Any, ...]) -> float:
    """Seconds per call: the least of batches."""
    compiled(*args)
    start = time.perf_counter()
    compiled(*args)
    once = max(time.perf_counter() - start, 1e-7)
    repeats = max(1, min(1000, int(MEASURED / 10 / once)))
    best, begin = once, time.perf_counter()
    while time.perf_counter() - begin < MEASURED:
        start = time.perf_counter()
        for _ in range(repeats):
            compiled(*args)
        best = min(best, (time.perf_counter() - start) / repeats)
    return best
