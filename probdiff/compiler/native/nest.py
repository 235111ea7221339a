"""Loops in LLVM: a region of nests as one function of pointers that do not alias and of scalars.

Rows are the outer loop. A few inner elements are written out, so that the vectoriser works across rows; more are loops.
Sums over rows are kept in registers where there are few of them, and added up in memory where there are many.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.formulas import SEARCHES, is_tail
from probdiff.compiler.fuse import Nest, View, contiguous
from probdiff.compiler.native import parallel
from probdiff.compiler.native.instructions import extremum, is_routine
from probdiff.compiler.native.kernel import for_range
from probdiff.compiler.native.parallel import BLOCKS
from probdiff.compiler.native.scalar import emit
from probdiff.compiler.native.unswitch import chosen, cost, outcomes, worth_deciding
from probdiff.compiler.native.values import F64, FLAGS, I64, PTR, cast, constant, ir_type, load, memory_type, store
from probdiff.compiler.region import FULL, Access, Region, Walk, _id
from probdiff.graph.program import Node
from probdiff.ops.control import Control
from probdiff.ops.dispatch import shape_of
from probdiff.ops.index import Slot

INNER, ROUTINE = 50, 200  # operations that a loop inside an element, or a call, stands for
TAIL, SEARCH = 1000, 4000  # and a call of a tail, or of a search for its argument
PARALLEL = 2_000_000  # operations on elements from which a region runs in blocks: starting a thread takes some 20 µs
MATRIX_ROWS, VECTOR_ROWS = 64, 256  # rows of a block between phases: what they pass on stays in the first cache
BUFFER = 16384  # elements of one array of a block, at most
COPIES, COPIED = 4, 1024  # copies of the target of a scatter, and its largest size
PARTIALS = 512  # sums that a block keeps for itself, at most
MANY = 10_000  # rows for which it is worth inlining mathematics even in long loops
WORTH = 512  # elements of a loop from which mathematics is inlined even in a long program


def _operations(walk: Walk) -> int:
    """About how many operations a walk does for each element."""
    return cost(walk.nest.body) + 1 + sum(map(_extra_operations, walk.nest.body))


def _extra_operations(node: Node) -> int:
    if isinstance(node.op, Control):
        return INNER
    if not is_routine(node.op.name, len(node.args)):
        return 0
    return SEARCH if node.op.name in SEARCHES else TAIL if is_tail(node.op.name) else ROUTINE


def emit_nest(segment: Any, nest: Nest) -> None:
    """Emit a single nest."""
    emit_region(segment, Region(Walk(nest, segment.layout.plan)))


def emit_region(segment: Any, region: Region) -> None:
    """Emit a region as a function of its own and call it from the segment."""
    single = len(region.walks) == 1
    for walk in region.walks:
        walk.collapse(0 if single and not region.local else 1)
    if single and not region.local:
        region.rows = region.walks[0].sizes[0] if region.walks[0].sizes else 1
    long = sum(len(w.nest.body) for w in region.walks) > FULL // 2 and region.rows < MANY
    short = max(math.prod(w.space) for w in region.walks) < WORTH
    inlines, segment.scope.inlines = segment.scope.inlines, not long and not (short and segment.scope.long)
    Emitter(segment, region).emit()
    segment.scope.inlines = inlines


class Emitter:
    """The code of one region: its phases over blocks of rows."""

    def __init__(self, segment: Any, region: Region) -> None:
        self.segment = segment
        self.scope = segment.scope
        self.plan = segment.layout.plan
        self.region = region
        self.matrices = {w for w in region.walks if w.matrix}
        self.phases = self._phases()
        widest = max([1, *(row for node, row in region.local.items() if self._crosses(node))])
        self.block = max(min(MATRIX_ROWS if self.matrices else VECTOR_ROWS, BUFFER // widest), 1)
        self.in_registers = {n for n in region.local if not self._crosses(n) and self._all_unrolled(n)}
        self.row_values: dict[tuple[Node, int], Any] = {}
        self.scratch: dict[Node, Any] = {}  # local arrays, one row of each
        self.buffers: dict[Any, Any] = {}  # local arrays and values to scatter, a block of rows of each
        self.copies: dict[Node, Any] = {}  # targets of a scatter, several times, against waiting for the last addition
        self.checked: set[Any] = set()  # indices that an earlier phase has found to be inside
        self.cells: dict[Any, Any] = {}  # sums over rows, or over inner loops, that are kept in registers
        self.known: dict[Node, bool] = {}  # outcomes of conditions that are the same in all rows

    def _phases(self) -> list[Phase]:
        """Walks that can share a loop that vectorises across rows; walks over matrices, each on its own; scatters."""
        out: list[Phase] = []
        for walk in self.region.walks:
            if out and not out[-1].matrix and walk not in self.matrices:
                out[-1].walks.append(walk)
            else:
                out.append(Phase(walk in self.matrices, [walk], []))
        scatters = []
        for walk in self.region.walks:
            for node in walk.nest.ends:
                indexed = [a for a in node.args[1:] if isinstance(a, Node) and (a in walk.members or a.shape == ())]
                if node.op.name == "index_add" and walk.sizes == [self.region.rows] and not indexed:
                    if self.region.rows >= 2 * VECTOR_ROWS:
                        scatters.append(Phase(False, [walk], [node]))
        return out + scatters

    def _touched(self, node: Node) -> list[int]:
        return [
            k
            for k, phase in enumerate(self.phases)
            if not phase.scatters and any(a.base is node for w in phase.walks for a in w.accesses.values())
        ]

    def _crosses(self, node: Node) -> bool:
        return len(self._touched(node)) > 1

    def _unrolled(self, walk: Walk) -> bool:
        return walk not in self.matrices

    def _all_unrolled(self, node: Node) -> bool:
        if self.region.local[node] == 1:
            return True
        touching = [w for w in self.region.walks if any(a.base is node for a in w.accesses.values())]
        return all(self._unrolled(w) for w in touching)

    def emit(self) -> None:
        """Emit the function and the call of it."""
        segment, walks = self.segment, self.region.walks
        self.partials = self._partials()
        own = {node for node, _, _ in self.partials or ()}  # what every block starts for itself
        for walk in walks:
            for node in walk.nest.ends:
                if node not in own:
                    self._prepare(walk, node)
            for _, target in walk.nest.stores:
                if target.base.op.name == "index_add":
                    segment.clear(target.base)
        bases: dict[Any, Any] = {}
        scalars: dict[Node, None] = {}
        for walk in walks:
            scalars |= walk.scalars
            for a in walk.accesses.values():
                if a.base not in self.region.local if isinstance(a.base, Node) else True:
                    bases.setdefault(_id(a.base), a.base)
        values = [segment.scalar(a) for a in scalars]
        types = [PTR] * (len(bases) + 1) + [v.type for v in values]
        if self.partials is not None:
            types += [I64, I64, PTR]  # first and last row of a block, and where its sums go
        name = f"nest{len(segment.scope.functions)}"
        f = ir.Function(segment.scope.module, ir.FunctionType(ir.VoidType(), types), name)
        f.linkage = "internal"
        if segment.scope.long:
            f.attributes.add("noinline")
        segment.scope.functions[name] = f
        for a in f.args[: len(bases) + 1]:
            a.add_attribute("noalias")
        self.entry = f.append_basic_block("entry")
        self.b = b = ir.IRBuilder(f.append_basic_block("start"))
        first = b.block
        self.pointer = dict(zip(bases, f.args, strict=False))
        self.error = f.args[len(bases)]
        self.given = dict(zip(scalars, f.args[len(bases) + 1 :], strict=False))
        self.outside = self._room(I64)  # whether an index was out of bounds
        b.store(I64(0), self.outside)
        for node, row in self.region.local.items():
            if self._crosses(node):
                self.buffers[node] = self._room(memory_type(node.dtype), row * self.block)
            elif node not in self.in_registers:
                self.scratch[node] = self._room(memory_type(node.dtype), row)
        self.deferred = {node for phase in self.phases for node in phase.scatters}
        if any(w.sizes for w in walks):
            start, stop = (I64(0), I64(self.region.rows)) if self.partials is None else f.args[-3:-1]
            if self.partials is not None:
                self._open_block(f.args[-1])
            self._open_scatters()
            self._open_sums()
            if len(self.phases) == 1:
                self.first = None
                self._phase(self.phases[0], start, stop)
            else:
                with for_range(b, start, stop, I64(self.block)) as lo:
                    self.first = lo
                    end = b.add(lo, I64(self.block), flags=("nsw",))
                    hi = b.select(b.icmp_signed("<", end, stop), end, stop)
                    for phase in self.phases:
                        self._phase(phase, lo, hi)
            self._close_sums()
            self._close_scatters()
        else:
            self.row, self.first = I64(0), None
            for walk in walks:
                self._walk(walk)
        b.store(b.or_(b.load(self.error, typ=I64), b.load(self.outside)), self.error)
        b.ret_void()
        ir.IRBuilder(self.entry).branch(first)
        arguments = [*(segment.address(base) for base in bases.values()), segment.error, *values]
        if self.partials is None:
            segment.b.call(f, arguments)
        else:
            self._call_blocks(f, arguments)

    def _phase(self, phase: Phase, start: Any, stop: Any) -> None:
        """A loop over rows for each outcome of the conditions that are the same in all of them."""
        decided = [] if phase.scatters or self.region.rows < WORTH else self._conditions(phase)
        given = {c: cast(self.b, self.given[c], c.dtype, np.dtype(bool)) for c in decided}
        for _ in outcomes(self.b, decided, given, self.known):
            with for_range(self.b, start, stop, vectorise=not phase.matrix) as i:
                self.row = i
                if phase.scatters:
                    self._scatter(phase.walks[0], phase.scatters[0])
                else:
                    for walk in phase.walks:
                        self._walk(walk)

    def _conditions(self, phase: Phase) -> list[Node]:
        nests = [w.nest for w in phase.walks]
        written = [key[1] for w in phase.walks for key in w.accesses if key[0] == "write"]
        ended = [a for nest in nests for node in nest.ends for a in node.args]
        stored = [source for nest in nests for source, _ in nest.stores]
        body = [n for nest in nests for n in nest.body]
        return worth_deciding(body, [*written, *ended, *stored], self.given.__contains__)

    def _open_scatters(self) -> None:
        """Room for a block of values to scatter, and for copies of a small target."""
        b = self.b
        for node in self.deferred:
            source = node.args[0]
            if isinstance(source, Node):
                self.buffers["scatter", node] = self._room(memory_type(source.dtype), self.block)
            if self.partials is None and node.size <= COPIED:
                self.copies[node] = copies = self._room(memory_type(node.dtype), COPIES * node.size)
                with for_range(b, I64(0), I64(COPIES * node.size)) as j:
                    place = b.gep(copies, [j], source_etype=memory_type(node.dtype))
                    store(b, constant(0, node.dtype), place, node.dtype)

    def _close_scatters(self) -> None:
        b = self.b
        for node, copies in self.copies.items():
            t = memory_type(node.dtype)
            with for_range(b, I64(0), I64(node.size)) as j:
                total = constant(0, node.dtype)
                for k in range(COPIES):
                    part = load(b, b.gep(copies, [b.add(j, I64(k * node.size))], source_etype=t), node.dtype)
                    total = _combine(b, "sum", total, part, node.dtype, ())
                store(b, total, b.gep(self.pointer[node], [j], source_etype=t), node.dtype)

    def _scatter(self, walk: Walk, node: Node) -> None:
        """Add the value of a row to its target."""
        b, access = self.b, walk.accesses["scatter", node]
        self.walk = walk
        source = node.args[0]
        if isinstance(source, Node):
            line = b.gep(self.buffers["scatter", node], [self._local_row()], source_etype=memory_type(source.dtype))
            value = cast(b, load(b, line, source.dtype), source.dtype, node.dtype)
        else:
            value = self._number(source, {}, node.dtype, [])
        place = self._index(node, contiguous(node), {}, [])
        if node in self.copies:
            copy = b.and_(self.row, I64(COPIES - 1))
            place = b.add(place, b.mul(copy, I64(node.size)))
            at = b.gep(self.copies[node], [place], source_etype=memory_type(node.dtype))
        else:
            at = self._place(access, [], place)
        store(b, _combine(b, "sum", load(b, at, node.dtype), value, node.dtype, ()), at, node.dtype)

    def _local_row(self) -> Any:
        """The row within its block."""
        return self.row if self.first is None else self.b.sub(self.row, self.first, flags=("nsw",))

    def _room(self, t: Any, count: int = 1) -> Any:
        """Memory of the function's frame."""
        b = ir.IRBuilder(self.entry)
        if self.entry.instructions:
            b.position_at_start(self.entry)
        return b.alloca(t, size=I64(count)) if count > 1 else b.alloca(t)

    # Blocks

    def _partials(self) -> list[tuple[Node, Any, np.dtype]] | None:
        """What every block sums up for itself: (node, index of a register or None for an array, dtype); None if the
        region is small, or its sums are too many, so that it runs in one go."""
        region = self.region
        work = sum(region.rows * math.prod(w.sizes[1:]) * _operations(w) for w in region.walks if w.sizes)
        if work < PARALLEL or region.rows < 8 * BLOCKS:
            return None
        out: list[tuple[Node, Any, np.dtype]] = []
        slots = 0
        for walk in region.walks:
            for node in walk.nest.ends:
                name = node.op.name
                if name == "index_add" or (self._over_rows(walk, node) and not self._in_cells(walk, node)):
                    out.append((node, None, node.dtype))
                    slots += node.size
                elif self._in_cells(walk, node):
                    kept = (range(walk.sizes[k]) for k in self._kept(walk, node))
                    cells = list(itertools.product(*kept))
                    out += [(node, index, _accumulator(node)) for index in cells]
                    slots += len(cells)
        self.stride = slots
        return out if slots <= PARTIALS else None

    def _slots(self) -> list[tuple[Node, Any, np.dtype, int]]:
        out, at = [], 0
        assert self.partials is not None
        for node, index, dtype in self.partials:
            out.append((node, index, dtype, at))
            at += node.size if index is None else 1
        return out

    def _open_block(self, sums: Any) -> None:
        """Clear the arrays that a block adds into."""
        b = self.b
        self.sums = sums
        for node, index, dtype, at in self._slots():
            if index is None:
                base = b.gep(sums, [I64(at)], source_etype=I64)
                name = "sum" if node.op.name == "index_add" else node.op.name
                with for_range(b, I64(0), I64(node.size)) as j:
                    place = b.gep(base, [j], source_etype=memory_type(dtype))
                    store(b, constant(identity(name, dtype), dtype), place, dtype)
                self.pointer[node] = base

    def _call_blocks(self, f: Any, arguments: list[Any]) -> None:
        """Share the blocks out over threads, then add up what they found, in order."""
        segment, b = self.segment, self.segment.b
        frame = ir.IRBuilder(segment.frame)
        context = frame.alloca(I64, size=I64(len(arguments) + 1))
        if segment.sums is None:  # one for all regions, which run one after the other
            segment.sums = frame.alloca(I64, size=I64(PARTIALS * BLOCKS))
        context, sums = _untyped(b, context), _untyped(b, segment.sums)
        for k, v in enumerate([*arguments, sums]):
            b.store(v, b.gep(context, [I64(k)], source_etype=I64))
        share = self._share(f, [v.type for v in arguments])
        run = segment.scope.declare(parallel.symbol(), ir.VoidType(), [PTR, PTR, I64])
        b.call(run, [_untyped(b, share), context, I64(BLOCKS)])
        for node, index, dtype, at in self._slots():
            name = "sum" if node.op.name == "index_add" else node.op.name
            self._add_up(sums, frame, node, index, dtype, at, name)

    def _add_up(self, sums: Any, frame: Any, node: Node, index: Any, dtype: np.dtype, at: int, name: str) -> None:
        b, t = self.segment.b, memory_type(dtype)
        target = self.segment.address(node)
        cell = frame.alloca(ir_type(dtype))

        def total(first: Any) -> Any:
            b.store(constant(identity(name, dtype), dtype), cell)
            with for_range(b, I64(0), I64(BLOCKS)) as block:
                line = b.gep(sums, [b.add(b.mul(block, I64(self.stride)), I64(at))], source_etype=I64)
                value = load(b, b.gep(line, [first], source_etype=t), dtype)
                b.store(_combine(b, name, b.load(cell), value, dtype, ()), cell)
            return b.load(cell)

        if index is None:
            with for_range(b, I64(0), I64(node.size)) as j:
                store(b, total(j), b.gep(target, [j], source_etype=t), dtype)
            return
        walk = next(w for w in self.region.walks if node in w.reduced)
        access, kept = walk.accesses["reduce", node], self._kept(walk, node)
        place = access.offset + sum(access.strides[k] * i for k, i in zip(kept, index, strict=True))
        value = cast(b, total(I64(0)), dtype, node.dtype)
        store(b, value, b.gep(target, [I64(place)], source_etype=memory_type(node.dtype)), node.dtype)

    def _share(self, f: Any, types: list[Any]) -> Any:
        """share(context, first, last): the region over those blocks."""
        scope = self.segment.scope
        name = f"{f.name}.blocks"
        share = ir.Function(scope.module, ir.FunctionType(ir.VoidType(), [PTR, I64, I64]), name)
        share.linkage = "internal"
        scope.functions[name] = share
        b = ir.IRBuilder(share.append_basic_block())
        context, first, last = share.args
        given = [b.load(b.gep(context, [I64(k)], source_etype=I64), typ=t) for k, t in enumerate(types)]
        sums = b.load(b.gep(context, [I64(len(types))], source_etype=I64), typ=PTR)
        rows = self.region.rows
        size = -(-rows // BLOCKS // 8) * 8  # rows of a block, a multiple of any vector's width
        size = max(size, 8)
        with for_range(b, first, last) as block:
            lo = b.mul(block, I64(size))
            lo = b.select(b.icmp_signed("<", lo, I64(rows)), lo, I64(rows))
            hi = b.add(lo, I64(size))
            final = b.icmp_signed("==", block, I64(BLOCKS - 1))
            over = b.or_(final, b.icmp_signed(">", hi, I64(rows)))
            hi = b.select(over, I64(rows), hi)
            own = b.gep(sums, [b.mul(block, I64(self.stride))], source_etype=I64)
            b.call(f, [*given, lo, hi, own])
        b.ret_void()
        return share

    # Reductions

    def _over_rows(self, walk: Walk, node: Node) -> bool:
        return 0 in walk.reduced[node]

    def _kept(self, walk: Walk, node: Node) -> list[int]:
        """Inner dimensions that the reduction keeps."""
        return [k for k in range(1, len(walk.sizes)) if k not in walk.reduced[node]]

    def _in_cells(self, walk: Walk, node: Node) -> bool:
        """Sums over rows that are few enough for registers."""
        return self._over_rows(walk, node) and (self._unrolled(walk) or not self._kept(walk, node))

    def _suffix(self, walk: Walk, node: Node) -> bool:
        axes = {k for k in walk.reduced[node] if k}
        return axes == set(range(len(walk.sizes) - len(axes), len(walk.sizes)))

    def _prepare(self, walk: Walk, node: Node) -> None:
        """Start values of what is added up in memory."""
        if node.op.name == "index_add":
            self.segment.clear(node)
        elif node not in self.region.local and self._adds_in_memory(walk, node):
            fill(self.segment, node, identity(node.op.name, node.dtype))

    def _adds_in_memory(self, walk: Walk, node: Node) -> bool:
        if not walk.sizes or self._unrolled(walk):
            return False
        if self._over_rows(walk, node):
            return bool(self._kept(walk, node))
        return not self._suffix(walk, node)

    def _open_sums(self) -> None:
        for walk in self.region.walks:
            for node in walk.reduced:
                if self._in_cells(walk, node):
                    wide = _accumulator(node)
                    for index in itertools.product(*(range(walk.sizes[k]) for k in self._kept(walk, node))):
                        cell = self._room(ir_type(wide))
                        self.b.store(constant(identity(node.op.name, wide), wide), cell)
                        self.cells[node, index] = cell

    def _close_sums(self) -> None:
        b = self.b
        if self.partials is not None:
            for node, index, dtype, at in self._slots():
                if index is not None:
                    key = index if (node, index) in self.cells else ()
                    value = b.load(self.cells[node, key])
                    store(b, value, b.gep(self.sums, [I64(at)], source_etype=I64), dtype)
        for walk in self.region.walks:
            for node in walk.reduced:
                if not self._in_cells(walk, node):
                    continue
                if self.partials is not None:
                    continue
                wide, access, kept = _accumulator(node), walk.accesses["reduce", node], self._kept(walk, node)
                for index in itertools.product(*(range(walk.sizes[k]) for k in kept)):
                    value = cast(b, b.load(self.cells[node, index]), wide, node.dtype)
                    place = access.offset + sum(access.strides[k] * i for k, i in zip(kept, index, strict=True))
                    pointer = b.gep(self.pointer[_id(access.base)], [I64(place)], source_etype=memory_type(node.dtype))
                    store(b, value, pointer, node.dtype)

    # Walking

    def _walk(self, walk: Walk) -> None:
        """One row of a nest."""
        self.walk = walk
        self.partial: dict[tuple[Node, tuple[int, ...]], Any] = {}
        inner = walk.sizes[1:]
        for node in walk.reduced:
            if node in self.region.local and self._adds_in_memory(walk, node):
                self._fill_row(node)
        if self._unrolled(walk):
            for index in itertools.product(*map(range, inner)):
                self._body(list(index))
            for node in walk.reduced:
                if self._over_rows(walk, node) or not walk.sizes:
                    continue
                for kept in itertools.product(*(range(walk.sizes[k]) for k in self._kept(walk, node))):
                    value = self.partial.get((node, kept))
                    if value is None:  # of nothing
                        value = constant(identity(node.op.name, node.dtype), node.dtype)
                    self._write(walk.accesses["reduce", node], self._full_index(walk, node, kept), value, node)
        else:
            self._level([])

    def _full_index(self, walk: Walk, node: Node, index: tuple[int, ...]) -> list[Any]:
        of = dict(zip(self._kept(walk, node), index, strict=True))
        return [of.get(k, 0) for k in range(1, len(walk.sizes))]

    def _fill_row(self, node: Node) -> None:
        b, value = self.b, constant(identity(node.op.name, node.dtype), node.dtype)
        row = self.region.local[node]
        with for_range(b, I64(0), I64(row)) as j:
            if node in self.buffers:
                j = b.add(j, b.mul(self._local_row(), I64(row)))
            at = b.gep(self.buffers.get(node) or self.scratch[node], [j], source_etype=memory_type(node.dtype))
            store(b, value, at, node.dtype)

    def _level(self, index: list[Any]) -> None:
        """Loops over the inner dimensions, with sums over the innermost ones in registers."""
        b, walk, depth = self.b, self.walk, len(index) + 1
        here = [
            n
            for n in walk.reduced
            if not self._over_rows(walk, n)
            and self._suffix(walk, n)
            and len(walk.sizes) - len(walk.reduced[n]) == depth
        ]
        for node in here:
            wide = _accumulator(node)
            cell = self._room(ir_type(wide))
            b.store(constant(identity(node.op.name, wide), wide), cell)
            self.cells[node] = cell
        if depth == len(walk.sizes):
            self._body(index)
        else:
            with for_range(b, I64(0), I64(walk.sizes[depth])) as j:
                self._level([*index, j])
        for node in here:
            value = cast(b, b.load(self.cells[node]), _accumulator(node), node.dtype)
            rest = [0] * (len(walk.sizes) - 1 - len(index))
            self._write(walk.accesses["reduce", node], [*index, *rest], value, node)

    def _place(self, access: Access, index: list[Any], extra: Any = None) -> Any:
        """Address of the element of an access at the current row and inner index."""
        b = self.b
        base = access.base
        local = isinstance(base, Node) and base in self.scratch
        block = isinstance(base, Node) and base in self.buffers
        fixed, terms = access.offset, [] if extra is None else [extra]
        if access.strides and access.strides[0] and not local:
            s = access.strides[0]
            row = self._local_row() if block else self.row
            terms.append(row if s == 1 else b.mul(row, I64(s), flags=("nsw",)))
        for j, s in zip(index, access.strides[1:], strict=True):
            if s and isinstance(j, int):
                fixed += j * s
            elif s:
                terms.append(j if s == 1 else b.mul(j, I64(s), flags=("nsw",)))
        if fixed or not terms:
            terms.append(I64(fixed))
        total = terms[0]
        for t in terms[1:]:
            total = b.add(total, t, flags=("nsw",))
        pointer = self.buffers[base] if block else self.scratch[base] if local else self.pointer[_id(base)]
        return b.gep(pointer, [total], inbounds=True, source_etype=memory_type(access.dtype))

    def _slot(self, access: Access, index: list[Any]) -> tuple[Node, int]:
        """Which value of the row an access to a local array means."""
        return access.base, access.offset + sum(j * s for j, s in zip(index, access.strides[1:], strict=True) if s)

    def _read(self, access: Access, index: list[Any]) -> Any:
        if isinstance(access.base, Node) and access.base in self.in_registers:
            return self.row_values[self._slot(access, index)]
        return load(self.b, self._place(access, index), access.dtype)

    def _write(self, access: Access, index: list[Any], value: Any, node: Node) -> None:
        if isinstance(access.base, Node) and access.base in self.in_registers:
            self.row_values[self._slot(access, index)] = value
        else:
            store(self.b, value, self._place(access, index), node.dtype)

    def _value(self, a: Any, values: dict[Any, Any], index: list[Any]) -> Any:
        """The value of an operand, or None for a number."""
        if isinstance(a, Node):
            if a in values:
                return values[a]
            if a in self.given:
                return self.given[a]
        elif not isinstance(a, np.ndarray):
            return None
        return self._read(self.walk.accesses["read", _id(a)], index)

    def _number(self, a: Any, values: dict[Any, Any], dtype: np.dtype, index: list[Any]) -> Any:
        v = self._value(a, values, index)
        return constant(a, dtype) if v is None else cast(self.b, v, a.dtype, dtype)

    def _body(self, index: list[Any]) -> None:
        b, walk, nest = self.b, self.walk, self.walk.nest
        values: dict[Any, Any] = {}
        for node in nest.body:
            if node.op.name == "getitem":
                view = self.plan.view(node.args[0])
                at = self._place(walk.accesses["gather", node], index, self._index(node, view, values, index))
                values[node] = load(b, at, node.dtype)
            else:
                values[node] = self._emit(node, values, index)
            if ("write", node) in walk.accesses:
                self._write(walk.accesses["write", node], index, values[node], node)
        for node in nest.ends:
            source, name = node.args[0], node.op.name
            if node in self.deferred:
                if isinstance(source, Node):
                    t = memory_type(source.dtype)
                    line = b.gep(self.buffers["scatter", node], [self._local_row()], source_etype=t)
                    store(b, self._number(source, values, source.dtype, index), line, source.dtype)
            elif name == "index_add":
                extra = self._index(node, contiguous(node), values, index)
                at = self._place(walk.accesses["scatter", node], index, extra)
                value = self._number(source, values, node.dtype, index)
                store(b, _combine(b, "sum", load(b, at, node.dtype), value, node.dtype, ()), at, node.dtype)
            else:
                self._reduce(node, name, values, index)
        for k, (source, _) in enumerate(nest.stores):
            access = walk.accesses["store", k]
            store(b, self._number(source, values, access.dtype, index), self._place(access, index), access.dtype)

    def _reduce(self, node: Node, name: str, values: dict[Any, Any], index: list[Any]) -> None:
        b, walk, wide = self.b, self.walk, _accumulator(node)
        value = self._number(node.args[0], values, wide, index)
        kept = tuple(index[k - 1] for k in self._kept(walk, node))
        if not walk.sizes:
            self._write(walk.accesses["reduce", node], index, cast(b, value, wide, node.dtype), node)
        elif self._in_cells(walk, node):
            cell = self.cells[node, kept if self._unrolled(walk) else ()]
            b.store(_combine(b, name, b.load(cell), value, wide, FLAGS), cell)
        elif self._unrolled(walk):
            value = cast(b, value, wide, node.dtype)
            before = self.partial.get((node, kept))
            self.partial[node, kept] = value if before is None else _combine(b, name, before, value, node.dtype, FLAGS)
        elif not self._over_rows(walk, node) and self._suffix(walk, node):
            cell = self.cells[node]
            b.store(_combine(b, name, b.load(cell), value, wide, FLAGS), cell)
        else:
            at = self._place(walk.accesses["reduce", node], index)
            value = cast(b, value, wide, node.dtype)
            store(b, _combine(b, name, load(b, at, node.dtype), value, node.dtype, ()), at, node.dtype)

    def _emit(self, node: Node, values: dict[Any, Any], index: list[Any]) -> Any:
        for only in chosen(node, self.known):
            return self._number(only, values, node.dtype, index)
        args, known = [], dict(values)
        for a in node.args:
            stand = Node(None, (), {}, a.shape, a.dtype) if isinstance(a, np.ndarray) and a.ndim else a
            if isinstance(stand, Node) and stand not in known:
                known[stand] = self._value(a, values, index)
            args.append(stand)
        if node.op.name == "broadcast_to":
            return known[args[0]] if isinstance(args[0], Node) else constant(args[0], node.dtype)
        return emit(self.scope, self.b, Node(node.op, tuple(args), node.params, node.shape, node.dtype), known)

    def _index(self, node: Node, view: View, values: dict[Any, Any], at: list[Any]) -> Any:
        """Offset that the index arrays select; negative ones count from the end, out of bounds sets the error."""
        b = self.b
        index = node.params["index"]
        lead = sum(p == slice(None) for p in index)
        total = None
        for part in index[lead:]:
            assert isinstance(part, Slot)
            a = node.args[1 + part.k]
            axis = lead + part.k
            if isinstance(a, Node) and (a in values or a in self.given):
                i = cast(b, self._value(a, values, at), a.dtype, np.dtype(np.int64))
            elif shape_of(a) == () and not isinstance(a, Node):
                i = I64(int(a))
            else:
                i = cast(b, self._read(self.walk.accesses["index", _id(a), id(node)], at), a.dtype, np.dtype(np.int64))
            n = I64(view.shape[axis])
            i = b.select(b.icmp_signed("<", i, I64(0)), b.add(i, n), i)
            known = (_id(a), view.shape[axis])
            if node in self.deferred and known in self.checked:
                step = i if view.strides[axis] == 1 else b.mul(i, I64(view.strides[axis]))
                total = step if total is None else b.add(total, step)
                continue
            if not isinstance(a, Node) or a not in values:  # an array that is read, at every row
                self.checked.add(known)
            inside = b.icmp_unsigned("<", i, n)  # at every call: index arrays are read where they lie, and may change
            b.store(b.or_(b.load(self.outside), b.zext(b.not_(inside), I64)), self.outside)
            i = b.select(inside, i, I64(0))
            step = i if view.strides[axis] == 1 else b.mul(i, I64(view.strides[axis]))
            total = step if total is None else b.add(total, step)
        return total


class Phase(NamedTuple):
    """One loop over rows: walks that share it, or the scatter of one value."""

    matrix: bool
    walks: list[Walk]
    scatters: list[Node]


def _untyped(b: Any, pointer: Any) -> Any:
    """A pointer that llvmlite takes for one to anything."""
    return b.inttoptr(b.ptrtoint(pointer, I64), PTR)


def _accumulator(node: Node) -> np.dtype:
    """Sums of float32 are kept in double."""
    return F64 if node.dtype == np.float32 and node.op.name in ("sum", "prod") else node.dtype


def identity(name: str, dtype: np.dtype) -> Any:
    """The value that a reduction starts from."""
    if name in ("sum", "any"):
        return 0
    if name in ("prod", "all"):
        return 1
    if dtype.kind == "f":
        return -np.inf if name == "max" else np.inf
    if dtype.kind == "b":
        return name == "min"
    info = np.iinfo(dtype)
    return info.min if name == "max" else info.max


def _combine(b: Any, name: str, x: Any, y: Any, dtype: np.dtype, flags: tuple[str, ...]) -> Any:
    real = dtype.kind == "f"
    if name == "sum":
        return b.fadd(x, y, flags=flags) if real else b.add(x, y)
    if name == "prod":
        return b.fmul(x, y, flags=flags) if real else b.mul(x, y)
    if name in ("any", "all"):
        return b.or_(x, y) if name == "any" else b.and_(x, y)
    return extremum(b, "maximum" if name == "max" else "minimum", x, y, dtype)


def fill(segment: Any, node: Node, value: Any) -> None:
    """Set every element of the array of a node."""
    if value == 0:
        segment.clear(node)
        return
    b, base = segment.b, segment.address(node)
    with for_range(b, I64(0), I64(node.size)) as i:
        store(b, constant(value, node.dtype), b.gep(base, [i], source_etype=memory_type(node.dtype)), node.dtype)
