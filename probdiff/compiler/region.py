"""Nests that can share their outermost loop: values pass from one to the next row by row, in registers.

A nest walks its space in the order of its largest strides. Two nests that walk rows of the same number fuse if the
second reads of the first only what belongs to the same row; an array that nobody reads outside is then never stored.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.graph.program import Node
from probdiff.ops.dispatch import shape_of

if TYPE_CHECKING:
    from probdiff.compiler.fuse import Nest, Plan, View

FULL = 300  # operations of a nest, and of one function of machine code: LLVM's time grows faster than their number
LOCAL = 1 << 15  # elements of rows that a region keeps on the stack
UNROLL = 16  # inner elements of a row up to which they are written out
SIDE_BY_SIDE = 4  # the same, for rows that lie in memory: more would be gathered one by one


class Access:
    """An array walked with fixed strides, one per dimension of the walk."""

    __slots__ = ("base", "dtype", "offset", "strides")

    def __init__(self, base: Any, offset: int, strides: list[int], dtype: np.dtype) -> None:
        self.base = base
        self.offset = offset
        self.strides = strides
        self.dtype = dtype

    def inside_row(self, sizes: list[int], row: int) -> bool:
        """Whether it stays in the row of the outermost index, for rows of `row` elements."""
        if self.strides[0] != row or any(s < 0 for s in self.strides[1:]):
            return False
        last = self.offset + sum((n - 1) * s for n, s in zip(sizes[1:], self.strides[1:], strict=True))
        return 0 <= self.offset and last < row


class Walk:
    """How a nest goes over its space: sizes of its dimensions, outermost first, and what it reads and writes."""

    def __init__(self, nest: Nest, plan: Plan) -> None:
        self.nest = nest
        self.plan = plan
        self.space = nest.space
        self.members = set(nest.body)
        self.accesses: dict[Any, Access] = {}
        self.scalars: dict[Node, None] = {}
        self.reduced: dict[Node, set[int]] = {}
        self._survey()
        self._arrange()

    @property
    def matrix(self) -> bool:
        """Whether the inner dimensions are loops: many elements, or elements that lie side by side in memory.

        Otherwise they are written out, and the vectoriser works across rows.
        """
        inner = math.prod(self.sizes[1:])
        stored = any(
            key[0] == "read" and a.strides[0] and a.strides[-1] == 1 and not self._is_local(a.base)
            for key, a in self.accesses.items()
            if len(a.strides) > 1
        )
        return inner > UNROLL or (inner > SIDE_BY_SIDE and stored)

    def _is_local(self, base: Any) -> bool:
        return isinstance(base, Node) and base.op is not None

    def reads(self) -> set[Any]:
        """Bases of the arrays, and the scalars, that the nest needs."""
        bases = {_id(a.base) for k, a in self.accesses.items() if k[0] in ("read", "gather", "index")}
        return bases | set(self.scalars)

    def _operand(self, a: Any) -> None:
        if isinstance(a, Node) and a in self.members or not isinstance(a, Node | np.ndarray):
            return
        if shape_of(a) == ():
            if isinstance(a, Node):
                self.scalars[a] = None
        else:
            self._access(("read", _id(a)), self.plan.view(a), a.dtype)

    def _access(self, key: Any, view: View, dtype: np.dtype, strides: list[int] | None = None) -> None:
        if key not in self.accesses:
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
        self._access(key, view, node.dtype, [0 if n == 1 else s for n, s in zip(space, strides, strict=True)])
        for a in index_args:
            if isinstance(a, Node) and a in self.members:
                continue
            if shape_of(a) == ():
                if isinstance(a, Node):
                    self.scalars[a] = None
                continue
            v = self.plan.view(a)
            own = [0 if n == 1 else s for n, s in zip(v.shape, v.strides, strict=True)]
            self._access(("index", _id(a), id(node)), v, a.dtype, [0] * (lead + wide - len(own)) + own + [0] * rest)

    def _survey(self) -> None:
        from probdiff.compiler.fuse import contiguous

        for node in self.nest.body:
            if node.op.name == "getitem":
                self._indexed(node, self.plan.view(node.args[0]), ("gather", node), node.args[1:], node.shape)
            else:
                for a in node.args:
                    self._operand(a)
            if node in self.plan.stored and node.shape == self.space:
                self._access(("write", node), contiguous(node), node.dtype)
        for node in self.nest.ends:
            self._operand(node.args[0])
            if node.op.name == "index_add":
                self._indexed(node, contiguous(node), ("scatter", node), node.args[1:], self.space)
                continue
            kept = iter(contiguous(node).strides)
            axes = set(node.params["axis"])
            strides = [0 if k in axes else next(kept) for k in range(len(self.space))]
            self._access(("reduce", node), contiguous(node), node.dtype, strides)
            self.reduced[node] = axes
        for k, (source, target) in enumerate(self.nest.stores):
            self._operand(source)
            self._access(("store", k), target, target.base.dtype)

    def _arrange(self) -> None:
        """Largest strides outermost; dimensions of one element dropped."""
        n = len(self.space)
        weight = [sum(abs(a.strides[k]) for a in self.accesses.values()) for k in range(n)]
        order = sorted((k for k in range(n) if self.space[k] != 1), key=lambda k: -weight[k])
        self.sizes = [self.space[k] for k in order]
        for a in self.accesses.values():
            a.strides = [a.strides[k] for k in order]
        self.reduced = {r: {order.index(k) for k in axes if k in order} for r, axes in self.reduced.items()}

    def collapse(self, first: int) -> None:
        """Merge neighbouring dimensions from `first` on that everything walks as one."""
        k, sizes = first, self.sizes
        while k + 1 < len(sizes):
            same = all(a.strides[k] == a.strides[k + 1] * sizes[k + 1] for a in self.accesses.values())
            if same and all((k in r) == (k + 1 in r) for r in self.reduced.values()):
                sizes[k : k + 2] = [sizes[k] * sizes[k + 1]]
                for a in self.accesses.values():
                    del a.strides[k]
                for node, r in self.reduced.items():
                    self.reduced[node] = {i if i <= k else i - 1 for i in r}
            else:
                k += 1

    def row_results(self, n: int) -> dict[Node, int]:
        """Nodes that are written row by row, with the elements of a row."""
        out = {}
        for key, a in self.accesses.items():
            if key[0] in ("write", "reduce"):
                node = key[1]
                if a.strides and a.strides[0] and a.strides[0] * n == node.size:
                    out[node] = a.strides[0]
        return out

    def results(self) -> set[Any]:
        """Everything that is written."""
        keys = ("write", "reduce", "scatter", "store")
        return {_id(a.base) for key, a in self.accesses.items() if key[0] in keys}


class Region:
    """Nests that run together, row by row; `local` holds the arrays that stay inside, with the elements of a row."""

    def __init__(self, first: Walk) -> None:
        self.walks = [first]
        self.rows = first.sizes[0] if first.sizes else 1
        self.local: dict[Node, int] = {}

    @property
    def stage(self) -> int:
        """The stage of its nests: those of a later one read what these write."""
        return self.walks[0].nest.stage

    def takes(self, walk: Walk) -> bool:
        """Whether the nest can run in the same pass."""
        if not walk.sizes or not self.walks[0].sizes or walk.sizes[0] != self.rows or self.rows < 2:
            return False
        if sum(len(w.nest.body) for w in (*self.walks, walk)) > FULL:
            return False
        written = set().union(*(w.results() for w in self.walks))
        rows: dict[Node, int] = {}
        for w in self.walks:
            rows |= w.row_results(self.rows)
        if any(walk.plan.source(s) in written for s in walk.scalars) or walk.results() & written:
            return False
        for key, a in walk.accesses.items():
            if key[0] in ("read", "index", "gather") and _id(a.base) in written:
                row = rows.get(a.base)
                if key[0] == "gather" or row is None or not a.inside_row(walk.sizes, row):
                    return False
        return True


def regions(steps: list[Any], plan: Plan) -> list[Any]:
    """The steps with nests gathered in regions, in an order that respects what each needs."""
    from probdiff.compiler.fuse import Nest

    walks = {id(s): Walk(s, plan) for s in steps if isinstance(s, Nest) and s.space != ()}
    out = _gathered(list(steps), walks, plan)
    _find_local(out, plan)
    return out


def _gathered(steps: list[Any], walks: dict[int, Walk], plan: Plan) -> list[Any]:
    out: list[Any] = []
    while steps:
        k = next((k for k, s in enumerate(steps) if id(s) in walks), None)
        if k is None:
            return out + steps
        region = Region(walks[id(steps[k])])
        before, late = steps[:k], []
        made = _made(steps[k], walks)
        waiting: set[Any] = set()
        for s in steps[k + 1 :]:
            needs = _needs(s, walks, plan)
            walk = walks.get(id(s))
            if walk is not None and not needs & waiting and region.takes(walk):
                region.walks.append(walk)
                made |= _made(s, walks)
            elif walk is None and not needs & (made | waiting) and not _is_opaque(s):
                before.append(s)
            else:
                late.append(s)
                waiting |= _made(s, walks)
        out += [*before, region]
        steps = late
    return out


def _is_opaque(step: Any) -> bool:
    from probdiff.compiler.fuse import Opaque

    return isinstance(step, Opaque)


def _made(step: Any, walks: dict[int, Walk]) -> set[Any]:
    """What a step computes for others."""
    from probdiff.compiler.fuse import Nest

    if id(step) in walks:
        return walks[id(step)].results()
    if isinstance(step, Nest):
        return {*step.body, *step.ends, *(t.base for _, t in step.stores)}
    return {step.node}


def _needs(step: Any, walks: dict[int, Walk], plan: Plan) -> set[Any]:
    from probdiff.compiler.fuse import Nest

    if id(step) in walks:
        return {plan.source(a) for a in walks[id(step)].reads()}
    if isinstance(step, Nest):
        own = {*step.body}
        args = [a for n in (*step.body, *step.ends) for a in n.args] + [s for s, _ in step.stores]
        return {plan.source(a) for a in args if isinstance(a, Node) and a not in own}
    return {plan.source(a) for a in step.node.args if isinstance(a, Node)}


def _find_local(steps: list[Any], plan: Plan) -> None:
    """Arrays written and read in one region only need no memory."""
    outputs = {plan.source(o) for o in plan.program.outputs if isinstance(o, Node)}
    for region in steps:
        if not isinstance(region, Region):
            continue
        outside = set(outputs)
        for other in steps:
            if other is not region:
                if isinstance(other, Region):
                    for w in other.walks:
                        outside |= {plan.source(a) for a in w.reads()}
                else:
                    outside |= _needs(other, {}, plan)
        room = LOCAL
        for w in region.walks:
            for node, row in w.row_results(region.rows).items():
                if node not in outside and row <= room:
                    region.local[node] = row
                    room -= row if row > UNROLL else 0


def _id(a: Any) -> Any:
    return a if isinstance(a, Node) else id(a)
