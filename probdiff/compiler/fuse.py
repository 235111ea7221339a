"""From a program to loops: which operations share a loop nest, what is stored, and in which order the nests run.

Every value is computed over its own index space. Elementwise operations and gathers over one space that can run at the
same time form one nest, together with the reductions, scatters and stores that end in it. Operations that only move
elements (slices, transposes, most reshapes) are views: strides into the array that holds the elements.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from probdiff.compiler.inline import inlined
from probdiff.compiler.native.blas import fits
from probdiff.compiler.native.scalar import has_native, has_registers
from probdiff.compiler.region import FULL, Region, regions
from probdiff.compiler.scalarise import rewritten
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import Graph, Tracer, sweep
from probdiff.ops.control import CALL_DENSITY, PROJECT, SCAN, Control
from probdiff.ops.dispatch import apply, dtype_of, shape_of
from probdiff.ops.elementwise import rows
from probdiff.ops.index import SET_AT, Slot, has_arrays

REDUCTIONS = ("sum", "prod", "max", "min", "any", "all")
MATVEC_LIMIT = 1 << 22  # elements of a matrix up to which its product with a vector is a loop like any other
DEEP = 16  # operations through which a view moves: what it moves past may be computed twice
COPY = rows["stop_gradient"]


class View(NamedTuple):
    """Elements of the array that `base` holds: an offset and a stride per axis, in elements."""

    base: Any
    offset: int
    strides: tuple[int, ...]
    shape: tuple[int, ...]


def contiguous(base: Any) -> View:
    """The whole of an array in C order."""
    return View(base, 0, c_strides(base.shape), base.shape)


def constant_view(a: np.ndarray) -> View:
    """A constant array where it lies, in whatever order."""
    if a.size and all(s % a.itemsize == 0 for s in a.strides) and a.flags.aligned and a.dtype.isnative:
        return View(a, 0, tuple(s // a.itemsize for s in a.strides), a.shape)
    return contiguous(a)


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of an array in C order, in elements."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


# Rewriting


def rewrite(program: Program) -> Program:
    """The same program with products of matrix and vector as loops, and views moved from results to arguments."""
    program = inlined(program)
    graph = Graph()
    values: dict[Node, Any] = {n: graph.input(n.shape, n.dtype) for n in program.inputs}
    for node in program.nodes:
        args = [values[a] if isinstance(a, Node) else a for a in node.args]
        sweep.now = node.sweep
        values[node] = _rewritten(node, args)
    sweep.now = ""
    outputs = [values[o] if isinstance(o, Node) else o for o in program.outputs]
    return Program(
        [values[n].node for n in program.inputs], [o.node if isinstance(o, Tracer) else np.asarray(o) for o in outputs]
    )


def _rewritten(node: Node, args: list[Any]) -> Any:
    name = node.op.name
    if node.op is PROJECT:
        return args[0][node.params["k"]]
    if isinstance(node.op, Control):
        return rewritten(node.op, args, node.params)
    if name == "cumsum":
        return _running_sum(args[0], node)
    if name == "add" and (joined := _joined(args)) is not None:
        return joined
    if name == "matmul":
        x, y = args
        if len(node.shape) == 2 and shape_of(x)[0] * shape_of(x)[1] * shape_of(y)[1] <= MATVEC_LIMIT:
            if node.shape[1] == 1:
                return np.sum(x * np.reshape(y, (1, -1)), axis=1, keepdims=True)
            if node.shape[0] == 1:
                return np.sum(np.reshape(x, (-1, 1)) * y, axis=0, keepdims=True)
    if (
        name in ("reshape", "transpose", "getitem")
        and isinstance(args[0], Tracer)
        and not has_arrays(node.params.get("index", ()))
    ):
        return viewed(args[0], node.op, node.params)
    return apply(node.op, *args, **node.params)


def _running_sum(x: Any, node: Node) -> Any:
    """A running sum as a scan over its axis."""
    axis = node.params["axis"]
    rows_ = np.moveaxis(x, axis, 0)
    length, rest = shape_of(rows_)[0], shape_of(rows_)[1:]
    if not length:
        return apply(node.op, x, **node.params)
    inner = Graph()
    before, row = inner.input(rest, node.dtype), inner.input(rest, dtype_of(x))
    total: Any = np.add(before, row)
    body = Program([before.node, row.node], [total.node, total.node])
    params = {"body": body, "carry": 1, "xs": 1, "length": length, "reverse": False}
    return np.moveaxis(rewritten(SCAN, [np.zeros(rest, node.dtype)[()], rows_], params)[1], 0, axis)


def _joined(args: list[Any]) -> Any:
    """The sum of two vectors, each zero outside some pieces, as one concatenation of their pieces; None if it is not.

    Gradients of the slices of a parameter vector add up like this.
    """
    parts: list[tuple[int, int, Any]] = []
    shape = None
    for a in args:
        found = _pieces_of(a)
        if found is None or (shape is not None and shape_of(a) != shape):
            return None
        shape = shape_of(a)
        parts += found
    parts.sort(key=lambda p: p[0])
    out, at = [], 0
    for start, length, piece in parts:
        if start < at:
            return None
        if start > at:
            out.append(_zeros(args[0], start - at))
        out.append(np.reshape(piece, (length,)))
        at = start + length
    assert shape is not None
    if at < shape[0]:
        out.append(_zeros(args[0], shape[0] - at))
    return np.concatenate(out)


def _zeros(like: Tracer, n: int) -> np.ndarray:
    """Zeros that nobody else can write to."""
    zeros = np.zeros(n, like.dtype)
    like.graph.zeros[id(zeros)] = zeros
    return zeros


def _pieces_of(a: Any) -> list[tuple[int, int, Any]] | None:
    """Start, length and value of the pieces of a vector that is zero elsewhere."""
    if not isinstance(a, Tracer) or len(a.shape) != 1 or a.node.op is None:
        return None
    node, graph = a.node, a.graph
    if node.op.name == "index_add":
        (part,) = node.params["index"] if len(node.params["index"]) == 1 else (None,)
        if isinstance(part, int):
            start, length, step = part % a.shape[0], 1, 1
        elif isinstance(part, slice):
            start, stop, step = part.indices(a.shape[0])
            length = max(stop - start, 0)
        else:
            return None
        if step != 1 or length != int(np.prod(shape_of(node.args[0]), dtype=int)):
            return None
        value = node.args[0]
        return [(start, length, Tracer(graph, value) if isinstance(value, Node) else value)]
    if node.op.name == "concatenate":
        out, at = [], 0
        for piece in node.args:
            n = shape_of(piece)[0]
            zero = isinstance(piece, np.ndarray) and id(piece) in graph.zeros
            if not zero:
                out.append((at, n, Tracer(graph, piece) if isinstance(piece, Node) else piece))
            at += n
        return out
    return None


def viewed(x: Tracer, op: Any, params: dict[str, Any], depth: int = 0) -> Any:
    """A view of an elementwise result as the elementwise result of views, where that is possible."""
    inner = x.node
    if inner.op is None or not inner.op.elementwise or not inner.shape or depth == DEEP:
        return apply(op, x, **params)
    key = (inner, op, repr(params))
    if key not in x.graph.views:
        x.graph.views[key] = _pushed(x, op, params, depth)
    return x.graph.views[key]


def _pushed(x: Tracer, op: Any, params: dict[str, Any], depth: int) -> Any:
    inner = x.node
    assert inner.op is not None
    moved = []
    for a in inner.args:
        if shape_of(a) == ():
            moved.append(Tracer(x.graph, a) if isinstance(a, Node) else a)
            continue
        piece = _moved(Tracer(x.graph, a) if isinstance(a, Node) else a, inner.shape, op, params, depth)
        if piece is None:
            return apply(op, x, **params)
        moved.append(piece)
    return apply(inner.op, *moved, **inner.params)


def _moved(a: Any, full: tuple[int, ...], op: Any, params: dict[str, Any], depth: int) -> Any:
    """The argument `a`, which broadcasts to `full`, under the view."""
    shape = shape_of(a)
    if shape != full:
        if op.name == "reshape":
            return None
        padded = (1,) * (len(full) - len(shape)) + shape
        a = np.reshape(a, padded)
        if op.name == "getitem":
            index = []
            for part, n, own in zip(explicit(params["index"], full), full, padded, strict=True):
                if own == n:
                    index.append(part)
                else:
                    index.append(0 if isinstance(part, int) else slice(None))
            if any(p is None for p in params["index"]):
                return None
            params = {"index": tuple(index)}
    if not isinstance(a, Tracer):
        piece = op.evaluate(a, **params)
        return piece if np.may_share_memory(piece, a) else None  # a copy would not see a change of the elements
    return viewed(a, op, params, depth + 1)


def explicit(index: tuple[Any, ...], shape: tuple[int, ...]) -> list[Any]:
    """An index with one entry per axis: no ellipsis; new axes are left out."""
    parts = [p for p in index if p is not None]
    given = sum(p is not Ellipsis for p in parts)
    rest = [slice(None)] * (len(shape) - given)
    if Ellipsis in parts:
        k = parts.index(Ellipsis)
        return parts[:k] + rest + parts[k + 1 :]
    return parts + rest


def view_of(view: View, node: Node) -> View | None:
    """The view that `node` (a reshape, transpose or basic index) makes of a view; None if strides cannot say it."""
    name, params = node.op.name, node.params
    if name == "transpose":
        axes = params["axes"]
        return View(view.base, view.offset, tuple(view.strides[k] for k in axes), node.shape)
    if name == "getitem":
        return _indexed(view, params["index"], node.shape)
    if view.strides == c_strides(view.shape):
        return View(view.base, view.offset, c_strides(node.shape), node.shape)
    old = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n != 1]
    if [n for n, _ in old] != [n for n in node.shape if n != 1]:
        return None
    kept = iter(s for _, s in old)
    return View(view.base, view.offset, tuple(0 if n == 1 else next(kept) for n in node.shape), node.shape)


def _indexed(view: View, index: tuple[Any, ...], shape: tuple[int, ...]) -> View:
    offset, strides, axis = view.offset, [], 0
    given = sum(p is not None and p is not Ellipsis for p in index)
    for part in index if Ellipsis in index else (*index, Ellipsis):
        if part is None:
            strides.append(0)
        elif part is Ellipsis:
            while axis < len(view.shape) - (given - _before(index)):
                strides.append(view.strides[axis])
                axis += 1
        elif isinstance(part, slice):
            start, _, step = part.indices(view.shape[axis])
            offset += start * view.strides[axis]
            strides.append(step * view.strides[axis])
            axis += 1
        else:
            offset += (part % view.shape[axis]) * view.strides[axis]
            axis += 1
    return View(view.base, offset, tuple(strides), shape)


def _before(index: tuple[Any, ...]) -> int:
    """Indexed axes before the ellipsis (all of them if there is none)."""
    count = 0
    for part in index:
        if part is Ellipsis:
            break
        count += part is not None
    return count


# Planning


class Store(NamedTuple):
    """The end of a value in a nest: written to a view of another array (a slice of a concatenation)."""

    source: Any
    target: View


class Nest:
    """One loop nest: its space, what it computes, and how values leave it."""

    def __init__(self, space: tuple[int, ...], stage: int) -> None:
        self.space = space
        self.stage = stage
        self.body: list[Node] = []
        self.ends: list[Node] = []  # reductions and scatters over this space
        self.stores: list[Store] = []


class Sequence(NamedTuple):
    """A scan over rows with a body of scalars."""

    node: Node
    stage: int


class Routine(NamedTuple):
    """A call of BLAS or LAPACK."""

    node: Node
    stage: int


class Nested(NamedTuple):
    """A loop or branch whose bodies compute with arrays."""

    node: Node
    stage: int
    plans: dict[str, Plan]


class Opaque(NamedTuple):
    """An operation that NumPy evaluates."""

    node: Node
    stage: int


class Plan:
    """Steps in order, and for every array that must exist, its node; `views` says where the others lie."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.views: dict[Node, View] = {}
        self.stage: dict[Node, int] = {}
        self.kind: dict[Node, str] = {}
        self.stored: dict[Node, None] = {}
        self.order: list[Node] = []
        self.bodies: dict[Node, dict[str, Plan]] = {}  # of nested operations
        self.places: list[Place] | None = None  # of the body of a loop: what becomes of its carry
        self.members: dict[Node, list[Node]] = {}  # results of scans and of opaque control operations
        self._classify()
        self._schedule()
        self._collect()

    def view(self, a: Any) -> View:
        """Where the elements of a node or constant array are."""
        return self.views.get(a) or contiguous(a) if isinstance(a, Node) else constant_view(a)

    def source(self, a: Any) -> Any:
        """The node that holds the elements of `a`, or the operation that it is a result of."""
        if isinstance(a, Node):
            if a in self.views:
                a = self.views[a].base
            if isinstance(a, Node) and a.op is PROJECT and self.kind[a] == "member":
                return a.args[0]
        return a

    def _classify(self) -> None:
        replaced: dict[Node, Node] = {}
        for node in self.program.nodes:
            kind = kind_of(node)
            if kind == "view":
                base = node.args[0]
                found = view_of(self.view(base), node)
                if found is None:
                    copy = replaced.get(base)
                    if copy is None:
                        copy = Node(COPY, (base,), {}, base.shape, base.dtype)
                        replaced[base] = copy
                        self.kind[copy] = kind_of(copy)
                        self.order.append(copy)
                    found = view_of(contiguous(copy), node)
                assert found is not None
                self.views[node] = found
            if kind == "opaque" and fits(node, self.view):
                kind = "routine"
            if node.op is CALL_DENSITY or node.op is SET_AT:
                kind = "routine"
            if kind == "opaque" and isinstance(node.op, Control) and (plans := body_plans(node)) is not None:
                kind = "nested"
                self.bodies[node] = plans
            self.kind[node] = kind
            self.order.append(node)

    def _ready(self, a: Any, space: tuple[int, ...] | None) -> int:
        """The first stage at which a nest over `space` can use `a`."""
        if not isinstance(a, Node) or a.op is None:
            return 0
        if a in self.views:
            base = self.views[a].base
            return self._ready(base, None)
        stage = self.stage[a]
        return stage if self.kind[a] in ("loop", "gather") and a.shape == space else stage + 1

    def _schedule(self) -> None:
        for node in self.order:
            kind = self.kind[node]
            if kind == "view":
                continue
            if kind in ("loop", "gather"):
                bases = node.args[:1] if kind == "gather" else ()
                own = node.args[1:] if kind == "gather" else node.args
                self.stage[node] = max(
                    [0, *(self._ready(a, node.shape) for a in own), *(self._ready(a, None) for a in bases)]
                )
            elif kind == "member":
                self.stage[node] = self.stage[node.args[0]]
            elif kind in ("reduce", "scatter"):
                self.stage[node] = max(self._ready(a, node.args[0].shape) for a in node.args)
            elif kind == "join":
                self.stage[node] = max(self._ready(a, shape_of(a)) for a in node.args)
            else:
                self.stage[node] = max([0, *(self._ready(a, None) for a in node.args)])
        self._delay()

    def _delay(self) -> None:
        """Move elementwise work to the last stage that can still use it, so that fewer arrays are stored."""
        latest: dict[Node, int] = {}
        outputs = {o for o in self.program.outputs if isinstance(o, Node)}

        def need(a: Any, stage: int, space: tuple[int, ...] | None) -> None:
            if not isinstance(a, Node) or a.op is None:
                return
            if a in self.views:
                need(self.views[a].base, stage, None)
                return
            same = self.kind[a] in ("loop", "gather") and a.shape == space
            limit = stage if same else stage - 1
            latest[a] = min(latest.get(a, limit), limit)

        for node in reversed(self.order):
            kind = self.kind[node]
            if kind == "view":
                continue
            if kind == "member":
                continue
            fixed = node in outputs or isinstance(node.op, Control) or node.op is PROJECT
            if kind in ("loop", "gather") and node in latest and not fixed:
                self.stage[node] = max(self.stage[node], latest[node])
            stage = self.stage[node]
            for k, a in enumerate(node.args):
                if kind == "gather":
                    need(a, stage, None if k == 0 else node.shape)
                elif kind == "loop":
                    need(a, stage, node.shape)
                elif kind in ("reduce", "scatter"):
                    need(a, stage, node.args[0].shape)
                elif kind == "join":
                    need(a, stage, shape_of(a))
                else:
                    need(a, stage, None)

    def _collect(self) -> None:
        nests: dict[Any, list[Nest]] = {}
        opaque: list[Opaque | Sequence | Routine | Nested] = []
        home: dict[Node, Nest] = {}
        user: dict[Any, Nest] = {}  # the nest in which a node (or the argument k of a join) is used up

        def nest(space: tuple[int, ...], stage: int, near: Any = None) -> Nest:
            """The nest over a space: `near`'s own if it fits, else the last one, or a new one after a full."""
            own = home.get(near) if isinstance(near, Node) else None
            if own is not None and own.space == space and own.stage == stage:
                return own
            found = nests.setdefault((space, stage), [Nest(space, stage)])
            if len(found[-1].body) >= FULL:
                found.append(Nest(space, stage))
            return found[-1]

        for node in self.order:
            kind, stage = self.kind[node], self.stage.get(node, 0)
            if kind in ("loop", "gather"):
                home[node] = user[node] = nest(node.shape, stage, node.args[0] if node.op is PROJECT else None)
                home[node].body.append(node)
                if kind == "gather" and node.shape == ():
                    self._store(node)  # a function of its own reads it, which hands it over in memory
            elif kind in ("reduce", "scatter"):
                user[node] = nest(shape_of(node.args[0]), stage, node.args[0])
                user[node].ends.append(node)
                self.stored[node] = None
            elif kind == "join":
                self.stored[node] = None
                for k, (a, target) in enumerate(zip(node.args, _pieces(node), strict=True)):
                    user[node, k] = nest(shape_of(a), stage, a)
                    user[node, k].stores.append(Store(a, target))
            elif kind == "member":
                self.stored[node] = None
                self.members.setdefault(node.args[0], []).append(node)
            elif kind == "sequence":
                opaque.append(Sequence(node, stage))
            elif kind == "nested":
                opaque.append(Nested(node, stage, self.bodies[node]))
            elif kind == "routine":
                opaque.append(Routine(node, stage))
                if not isinstance(node.op, Control):
                    self.stored[node] = None
            elif kind == "opaque":
                opaque.append(Opaque(node, stage))
                if not isinstance(node.op, Control):
                    self.stored[node] = None
        for node in self.order:
            kind = self.kind[node]
            for k, a in enumerate(node.args):
                if not isinstance(a, Node) or a.op is None:
                    continue
                if a in self.views:
                    self._store(self.views[a].base)
                elif a in home:
                    if kind in ("view", "opaque", "sequence", "routine", "nested") or (kind == "gather" and k == 0):
                        self._store(a)
                    elif home[a] is not user.get((node, k) if kind == "join" else node):
                        self._store(a)
        for o in self.program.outputs:
            if isinstance(o, Node) and o.op is not None:
                self._store(self.views[o].base if o in self.views else o)
        every = [*(n for found in nests.values() for n in found), *opaque]
        ordered = sorted(every, key=lambda s: (s.stage, isinstance(s, Opaque)))
        self.steps: list[Any] = regions(ordered, self)
        for step in self.steps:
            if isinstance(step, Region):
                for node in step.local:
                    del self.stored[node]

    def _store(self, a: Any) -> None:
        if isinstance(a, Node) and a.op is not None:
            self.stored[a] = None


def body_plans(node: Node) -> dict[str, Plan] | None:
    """Plans of the bodies of a control operation; None if NumPy has to evaluate a part of one."""
    if node.op.batch(node.args, node.params) != ():
        return None
    plans = {}
    for name, body in node.params.items():
        if isinstance(body, Program):
            program, places = rewrite(body), None
            if name == "body":
                program, places = in_place(program, node.params["carry"])
            plan = plans[name] = Plan(with_own_outputs(program, constants_too=True))
            plan.places = places
            if any(isinstance(step, Opaque) for step in plan.steps) or plan.program.constants():
                return None
    return plans


class Place(NamedTuple):
    """What becomes of a carry: nothing, a new value, or one new row; numbers of outputs of the body."""

    value: int | None
    row: int | None = None


def in_place(program: Program, carry: int) -> tuple[Program, list[Place]]:
    """A loop's body without the parts of its carry that do not change, and with rows in place of arrays that get one.

    The new rows are written when the body has run, so that it reads the carry as it was.
    """
    outputs: list[Any] = []
    places = []
    for old, o in zip(program.inputs[:carry], program.outputs, strict=False):
        if o is old:
            places.append(Place(None))
        elif isinstance(o, Node) and o.op is SET_AT and o.args[0] is old:
            places.append(Place(len(outputs), len(outputs) + 1))
            outputs += o.args[1:]
        else:
            places.append(Place(len(outputs)))
            outputs.append(o)
    return Program(program.inputs, outputs + program.outputs[carry:]), places


def with_own_outputs(program: Program, constants_too: bool = False) -> Program:
    """Every output a computed node of its own, so that each has a buffer that something writes."""
    seen: set[Node] = set()
    outputs = []
    for o in program.outputs:
        if isinstance(o, Node):
            name = o.op.name if o.op else ""
            if o.op is None or name in ("reshape", "transpose", "getitem") or o in seen:
                o = Node(COPY, (o,), {}, o.shape, o.dtype)
            seen.add(o)
        elif constants_too:
            o = Node(COPY, (np.asarray(o)[()] if not np.ndim(o) else o,), {}, shape_of(o), dtype_of(o))
        outputs.append(o)
    return Program(program.inputs, outputs)


def kind_of(node: Node) -> str:
    """How a node takes part: loop, gather, reduce, scatter, join, view or opaque."""
    op, params = node.op, node.params
    name = op.name
    if op is PROJECT:
        return "loop" if kind_of(node.args[0]) == "loop" else "member"
    if isinstance(op, Control):
        if not has_native(node):
            return "opaque"
        return "sequence" if op is SCAN and (params["xs"] or len(params["body"].outputs) > params["carry"]) else "loop"
    if name in ("reshape", "transpose"):
        return "view"
    if name == "getitem" and not has_arrays(params["index"]):
        return "view"
    if not all(has_registers(dtype_of(a)) for a in (node, *node.args)):
        return "opaque"
    if name == "getitem":
        return "gather" if simple_gather(params["index"]) else "opaque"
    if name == "broadcast_to":
        return "loop"
    if op.elementwise:
        return "loop" if has_native(node) else "opaque"
    if name in REDUCTIONS:
        return "reduce"
    if name == "index_add":
        index = params["index"]
        return "join" if not has_arrays(index) else "scatter" if simple_gather(index) else "opaque"
    if name == "concatenate":
        return "join"
    return "opaque"


def simple_gather(index: tuple[Any, ...]) -> bool:
    """Full slices, then index arrays side by side, then nothing."""
    k = 0
    while k < len(index) and index[k] == slice(None):
        k += 1
    return all(isinstance(p, Slot) for p in index[k:])


def _pieces(node: Node) -> list[View]:
    """Where the arguments of a concatenation (or the one of an addition into zeros) go."""
    whole = contiguous(node)
    if node.op.name == "index_add":
        return [_indexed(whole, node.params["index"], shape_of(node.args[0]))]
    axis, out, start = node.params["axis"], [], 0
    for a in node.args:
        out.append(View(node, start * whole.strides[axis], whole.strides, shape_of(a)))
        start += shape_of(a)[axis]
    return out
