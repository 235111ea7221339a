"""One loop nest in LLVM: a function of pointers that do not alias and of scalars.

Axes that every operand walks alike are merged. A reduction over the innermost axes is kept in a register; any other
reduction, and a scatter, adds into memory.
"""

from __future__ import annotations

from typing import Any

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.fuse import REDUCTIONS, Nest, View, contiguous
from probdiff.compiler.native.kernel import for_range
from probdiff.compiler.native.scalar import (
    F64,
    I8,
    I64,
    PTR,
    _extremum,
    cast,
    constant,
    emit,
    ir_type,
    load,
    memory_type,
    store,
)
from probdiff.graph.program import Node
from probdiff.ops.dispatch import shape_of
from probdiff.ops.index import Slot

FLAGS = ("reassoc", "nsz", "contract")  # of the additions and products that make a reduction, so that they vectorise


def emit_nest(segment: Any, nest: Nest) -> None:
    """Emit the nest as a function of its own and call it from the segment."""
    Emitter(segment, nest).emit()


class Access:
    """An array walked with fixed strides."""

    __slots__ = ("base", "dtype", "offset", "strides")

    def __init__(self, base: Any, offset: int, strides: list[int], dtype: np.dtype) -> None:
        self.base = base
        self.offset = offset
        self.strides = strides
        self.dtype = dtype


class Emitter:
    def __init__(self, segment: Any, nest: Nest) -> None:
        self.segment = segment
        self.scope = segment.scope
        self.nest = nest
        self.plan = segment.layout.plan
        self.space = nest.space
        self.members = set(nest.body)
        self.accesses: dict[Any, Access] = {}
        self.pointers: dict[Any, int] = {}
        self.scalars: dict[Node, int] = {}
        self.checked = False  # whether an index is checked at run time

    # What the nest reads and writes

    def _operand(self, a: Any) -> None:
        if not isinstance(a, Node | np.ndarray) or a in self.members if isinstance(a, Node) else not isinstance(a, np.ndarray):
            return
        if shape_of(a) == ():
            self.scalars.setdefault(a, 0)
        else:
            self._access(("read", _id(a)), self.plan.view(a), a.dtype)

    def _access(self, key: Any, view: View, dtype: np.dtype, strides: list[int] | None = None) -> None:
        if key not in self.accesses:
            self.pointers.setdefault(_id(view.base), view.base)
            self.accesses[key] = Access(view.base, view.offset, strides or self._aligned(view), dtype)

    def _aligned(self, view: View) -> list[int]:
        lead = len(self.space) - len(view.shape)
        return [0] * lead + [0 if n == 1 else s for n, s in zip(view.shape, view.strides, strict=True)]

    def _indexed(self, node: Node, view: View, key: Any, index_args: Any, space: tuple[int, ...]) -> None:
        """Strides of the axes that index arrays do not touch, and the index arrays themselves."""
        index = node.params["index"]
        lead = sum(p == slice(None) for p in index)
        count = len(index) - lead
        wide = len(np.broadcast_shapes(*(shape_of(a) for a in index_args)))
        rest = len(view.shape) - lead - count
        strides = list(view.strides[:lead]) + [0] * wide + list(view.strides[lead + count :])
        strides = [0 if n == 1 else s for n, s in zip(space, strides, strict=True)]
        self._access(key, view, node.dtype, strides)
        for a in index_args:
            if isinstance(a, Node) and a in self.members:
                continue
            if shape_of(a) == ():
                if isinstance(a, Node):
                    self.scalars.setdefault(a, 0)
                continue
            v = self.plan.view(a)
            own = [0] * (lead + wide - len(v.shape)) + [0 if n == 1 else s for n, s in zip(v.shape, v.strides, strict=True)]
            self._access(("index", _id(a), id(node)), v, a.dtype, own + [0] * rest)

    def _survey(self) -> None:
        for node in self.nest.body:
            if node.op.name == "getitem":  # type: ignore[union-attr]
                self._indexed(node, self.plan.view(node.args[0]), ("gather", node), node.args[1:], node.shape)
            else:
                for a in node.args:
                    self._operand(a)
            if node in self.plan.stored and node.shape == self.space or node in self.segment.layout.offset and self.space == ():
                self._access(("write", node), contiguous(node), node.dtype)
        for node in self.nest.ends:
            self._operand(node.args[0])
            if node.op.name == "index_add":  # type: ignore[union-attr]
                self._indexed(node, contiguous(node), ("scatter", node), node.args[1:], self.space)
                continue
            kept = iter(contiguous(node).strides)
            strides = [0 if k in node.params["axis"] else next(kept) for k in range(len(self.space))]
            self._access(("reduce", node), contiguous(node), node.dtype, strides)
        for k, (source, target) in enumerate(self.nest.stores):
            self._operand(source)
            self._access(("store", k), target, target.base.dtype)

    def _collapse(self) -> None:
        """Drop axes of one element and merge neighbours that every access walks as one."""
        dims = [(n, k) for k, n in enumerate(self.space) if n != 1]
        sizes = [n for n, _ in dims]
        for a in self.accesses.values():
            a.strides = [a.strides[k] for _, k in dims]
        self.reduced = {n: {i for i, (_, k) in enumerate(dims) if k in n.params["axis"]} for n in self.nest.ends if n.op.name in REDUCTIONS}  # type: ignore[union-attr]
        k = 0
        while k + 1 < len(sizes):
            same = all(a.strides[k] == a.strides[k + 1] * sizes[k + 1] for a in self.accesses.values())
            same = same and all((k in r) == (k + 1 in r) for r in self.reduced.values())
            if same:
                sizes[k : k + 2] = [sizes[k] * sizes[k + 1]]
                for a in self.accesses.values():
                    del a.strides[k]
                for n, r in self.reduced.items():
                    self.reduced[n] = {i if i <= k else i - 1 for i in r}
            else:
                k += 1
        self.sizes = sizes

    # Emission

    def emit(self) -> None:
        segment = self.segment
        self._survey()
        self._collapse()
        for node in self.nest.ends:
            self._prepare(node)
        for _, target in self.nest.stores:
            if target.base.op.name == "index_add":
                segment.clear(target.base)
        scalars = list(self.scalars)
        values = [segment.scalar(a) for a in scalars]
        bases = list(self.pointers.values())
        name = f"nest{len(segment.scope.functions)}"
        types = [PTR] * (len(bases) + 1) + [v.type for v in values]
        f = ir.Function(segment.scope.module, ir.FunctionType(ir.VoidType(), types), name)
        f.linkage = "internal"
        segment.scope.functions[name] = f
        for a in f.args[: len(bases) + 1]:
            a.add_attribute("noalias")
        self.entry = f.append_basic_block("entry")
        self.b = b = ir.IRBuilder(f.append_basic_block("start"))
        self.pointer = {_id(base): a for base, a in zip(bases, f.args, strict=False)}
        self.error = f.args[len(bases)]
        self.given = dict(zip(scalars, f.args[len(bases) + 1 :], strict=True))
        self.indices: list[Any] = []
        self.accumulators: dict[Node, Any] = {}
        first = b.block
        self._level(0)
        b.ret_void()
        ir.IRBuilder(self.entry).branch(first)
        segment.b.call(f, [*(segment.address(base) for base in bases), segment.error, *values])
        for node in self.nest.body:  # a gather of one element is a scalar afterwards
            if self.space == ():
                segment.values.pop(node, None)

    def _prepare(self, node: Node) -> None:
        """Start values of what is added up in memory."""
        name = node.op.name  # type: ignore[union-attr]
        if name == "index_add":
            self.segment.clear(node)
        elif not self._suffix(node):
            fill(self.segment, node, identity(name, node.dtype))

    def _suffix(self, node: Node) -> bool:
        axes = self.reduced[node]
        return axes == set(range(len(self.sizes) - len(axes), len(self.sizes)))

    def _start(self, node: Node) -> int:
        return len(self.sizes) - len(self.reduced[node])

    def _level(self, depth: int) -> None:
        b = self.b
        here = [n for n in self.nest.ends if n in self.reduced and self._suffix(n) and self._start(n) == depth]
        for node in here:
            wide = _accumulator(node)
            cell = ir.IRBuilder(self.entry)
            if self.entry.instructions:
                cell.position_at_start(self.entry)
            cell = cell.alloca(ir_type(wide))
            b.store(constant(identity(node.op.name, wide), wide), cell)  # type: ignore[union-attr]
            self.accumulators[node] = cell
        if depth == len(self.sizes):
            self._body()
        else:
            with for_range(b, I64(0), I64(self.sizes[depth])) as i:
                self.indices.append(i)
                self._level(depth + 1)
                self.indices.pop()
        for node in here:
            wide = _accumulator(node)
            value = cast(b, b.load(self.accumulators[node]), wide, node.dtype)
            store(b, value, self._at(self.accesses["reduce", node]), node.dtype)

    def _at(self, access: Access, extra: Any = None) -> Any:
        """Address of the element of an access at the current indices."""
        b = self.b
        terms = [] if not access.offset else [I64(access.offset)]
        for i, s in zip(self.indices, access.strides, strict=False):
            if s:
                terms.append(i if s == 1 else b.mul(i, I64(s), flags=("nsw",)))
        if extra is not None:
            terms.append(extra)
        pointer = self.pointer[_id(access.base)]
        if not terms:
            return pointer
        total = terms[0]
        for t in terms[1:]:
            total = b.add(total, t, flags=("nsw",))
        return b.gep(pointer, [total], inbounds=True, source_etype=memory_type(access.dtype))

    def _value(self, a: Any, values: dict[Node, Any]) -> Any:
        if isinstance(a, Node):
            if a in values:
                return values[a]
            if a in self.given:
                return self.given[a]
        elif not isinstance(a, np.ndarray):
            return None
        return load(self.b, self._at(self.accesses["read", _id(a)]), a.dtype)

    def _body(self) -> None:
        b = self.b
        values: dict[Any, Any] = {}
        for node in self.nest.body:
            if node.op.name == "getitem":  # type: ignore[union-attr]
                access = self.accesses["gather", node]
                at = self._at(access, self._index(node, self.plan.view(node.args[0]), values))
                values[node] = load(b, at, node.dtype)
            else:
                values[node] = self._emit(node, values)
            if ("write", node) in self.accesses:
                store(b, values[node], self._at(self.accesses["write", node]), node.dtype)
        for node in self.nest.ends:
            source = node.args[0]
            value = self._number(source, values, node.dtype)
            if node.op.name == "index_add":  # type: ignore[union-attr]
                at = self._at(self.accesses["scatter", node], self._index(node, contiguous(node), values))
                store(b, _combine(b, "sum", load(b, at, node.dtype), value, node.dtype, ()), at, node.dtype)
                continue
            name = node.op.name  # type: ignore[union-attr]
            if node in self.accumulators:
                wide, cell = _accumulator(node), self.accumulators[node]
                widened = self._number(source, values, wide)
                b.store(_combine(b, name, b.load(cell), widened, wide, FLAGS), cell)
            else:
                at = self._at(self.accesses["reduce", node])
                store(b, _combine(b, name, load(b, at, node.dtype), value, node.dtype, ()), at, node.dtype)
        for k, (source, _) in enumerate(self.nest.stores):
            access = self.accesses["store", k]
            store(b, self._number(source, values, access.dtype), self._at(access), access.dtype)

    def _number(self, a: Any, values: dict[Any, Any], dtype: np.dtype) -> Any:
        """The value of `a` at the current indices, as `dtype`."""
        v = self._value(a, values)
        return constant(a, dtype) if v is None else cast(self.b, v, a.dtype, dtype)

    def _emit(self, node: Node, values: dict[Any, Any]) -> Any:
        args = tuple(a if not isinstance(a, np.ndarray) else self._stand_in(a) for a in node.args)
        for a, original in zip(args, node.args, strict=True):
            if isinstance(a, Node) and a not in values:
                v = self._value(original, values)
                if a is original:
                    # loads are not kept across nodes: LLVM merges them, and the dictionary stays that of the body
                    values = {**values, a: v}
                else:
                    values = {**values, a: v}
        if node.op.name == "broadcast_to":  # type: ignore[union-attr]
            return values[args[0]] if isinstance(args[0], Node) else constant(args[0], node.dtype)
        return emit(self.scope, self.b, Node(node.op, args, node.params, node.shape, node.dtype), values)

    def _stand_in(self, a: np.ndarray) -> Node:
        return Node(None, (), {}, a.shape, a.dtype)

    def _index(self, node: Node, view: View, values: dict[Any, Any]) -> Any:
        """Offset that the index arrays select, with negative ones counted from the end; out of bounds sets the error."""
        b = self.b
        index = node.params["index"]
        lead = sum(p == slice(None) for p in index)
        total = None
        for part in index[lead:]:
            assert isinstance(part, Slot)
            a = node.args[1 + part.k]
            axis = lead + part.k
            if isinstance(a, Node) and (a in values or a in self.given):
                i = cast(b, self._value(a, values), a.dtype, np.dtype(np.int64))
            elif shape_of(a) == ():
                i = I64(int(a))
            else:
                i = cast(b, load(b, self._at(self.accesses["index", _id(a), id(node)]), a.dtype), a.dtype, np.dtype(np.int64))
            n = I64(view.shape[axis])
            i = b.select(b.icmp_signed("<", i, I64(0)), b.add(i, n), i)
            # also for constants: programs that differ in them share this code, and their elements may change
            signs = b.or_(i, b.sub(I64(view.shape[axis] - 1), i))  # negative where i is: sign bits are cheap in vectors
            b.store(b.or_(b.load(self.error, typ=I64), b.lshr(signs, I64(63))), self.error)
            i = b.select(b.icmp_signed("<", signs, I64(0)), I64(0), i)
            step = i if view.strides[axis] == 1 else b.mul(i, I64(view.strides[axis]))
            total = step if total is None else b.add(total, step)
        return total


def _id(a: Any) -> Any:
    return a if isinstance(a, Node) else id(a)


def _accumulator(node: Node) -> np.dtype:
    """Sums of float32 are kept in double."""
    return F64 if node.dtype == np.float32 and node.op.name in ("sum", "prod") else node.dtype  # type: ignore[union-attr]


def identity(name: str, dtype: np.dtype) -> Any:
    """The value that a reduction starts from."""
    if name in ("sum", "any"):
        return 0
    if name in ("prod", "all"):
        return 1
    if dtype.kind == "f":
        return -np.inf if name == "max" else np.inf
    info = np.iinfo(dtype) if dtype.kind != "b" else None
    if info is None:
        return name == "min"
    return info.min if name == "max" else info.max


def _combine(b: Any, name: str, x: Any, y: Any, dtype: np.dtype, flags: tuple[str, ...]) -> Any:
    real = dtype.kind == "f"
    if name == "sum":
        return b.fadd(x, y, flags=flags) if real else b.add(x, y)
    if name == "prod":
        return b.fmul(x, y, flags=flags) if real else b.mul(x, y)
    if name in ("any", "all"):
        return b.or_(x, y) if name == "any" else b.and_(x, y)
    return _extremum(b, "maximum" if name == "max" else "minimum", x, y, dtype)


def fill(segment: Any, node: Node, value: Any) -> None:
    """Set every element of the array of a node."""
    if value == 0:
        segment.clear(node)
        return
    b, base = segment.b, segment.address(node)
    with for_range(b, I64(0), I64(node.size)) as i:
        store(b, constant(value, node.dtype), b.gep(base, [i], source_etype=memory_type(node.dtype)), node.dtype)


__all__ = ["I8", "emit_nest"]
