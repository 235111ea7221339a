"""Arrays that record what is done to them: a shape and a dtype, and no value yet."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from probdiff.errors import TracedValueError, UnsupportedError
from probdiff.graph.program import Node, Program
from probdiff.graph.simplify import identity
from probdiff.ops.dispatch import Lifted, Op, is_lifted, new_level, user_line
from probdiff.ops.elementwise import TIMES, rows
from probdiff.tree import Array, flatten, unflatten

MULTIPLY = rows["multiply"]


class Sweep(threading.local):
    """What is being recorded now: "" the function itself, "forward" or "reverse" a derivative of it."""

    now = ""


sweep = Sweep()


class Recording(threading.local):
    """How many bodies of loops and branches are being recorded, one in the other."""

    bodies = 0


recording = Recording()


class Graph:
    """One recording. Equal operations on equal arguments are recorded once."""

    __slots__ = ("finite", "level", "lifted", "limit", "memo", "nodes", "views", "zeros")

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit  # of operations; more are refused
        self.level = new_level()
        self.memo: dict[Any, Node] = {}
        self.nodes: list[Node] = []  # keeps every node alive, so that the ids in memo stay valid
        self.lifted: list[tuple[Lifted, Node]] = []
        self.finite: dict[int, tuple[np.ndarray, bool]] = {}
        self.zeros: dict[int, np.ndarray] = {}  # arrays of zeros that rewriting has made
        self.views: dict[Any, Array] = {}  # of elementwise results: see compiler.fuse

    def input(self, shape: tuple[int, ...], dtype: Any) -> Tracer:
        """A new input of the recording."""
        return Tracer(self, Node(None, (), {}, shape, np.dtype(dtype)))

    def outside(self, value: Lifted) -> Node:
        """An array of an outer level that the function closes over: one more input."""
        for known, node in self.lifted:
            if known is value:
                return node
        node = Node(None, (), {}, value.shape, value.dtype)
        self.lifted.append((value, node))
        return node

    def _finite(self, a: np.ndarray) -> bool:
        """Whether no element of a constant array is zero, infinite or NaN, so that a product with it needs no guard."""
        known = self.finite.get(id(a))
        if known is None:
            known = self.finite[id(a)] = a, bool(np.isfinite(a).all() and a.all())
        return known[1]

    def record(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Array:
        """The result of an operation: an earlier one that is equal, or a new node."""
        nodes: list[Any] = []
        for a in args:
            if isinstance(a, Tracer) and a.graph is self:
                nodes.append(a.node)
            elif isinstance(a, Lifted):
                nodes.append(self.outside(a))
            elif isinstance(a, np.ndarray) and a.ndim == 0:
                nodes.append(a[()])
            elif isinstance(a, float | int | np.generic | np.ndarray):
                nodes.append(a)
            else:
                nodes.append(np.asarray(a))
        if op is TIMES and any(_finite_number(a) or (type(a) is np.ndarray and self._finite(a)) for a in nodes):
            op = MULTIPLY
        same = identity(op, nodes)
        if same is not None:
            return Tracer(self, same) if isinstance(same, Node) else same
        key: tuple[Any, ...] = (op, tuple(_key(a) for a in nodes), tuple(params.items()) if params else ())
        try:
            node = self.memo.get(key)
        except TypeError:  # a slice in the parameters, unhashable before Python 3.12
            key = (op, tuple(_key(a) for a in nodes), repr(params))
            node = self.memo.get(key)
        if node is None:
            shape, dtype = op.infer(tuple(nodes), params)
            node = Node(op, tuple(nodes), params, shape, dtype)
            node.sweep = sweep.now
            if len(self.nodes) == self.limit:
                self._too_long()
            self.memo[key] = node
            self.nodes.append(node)
        return Tracer(self, node)

    def _too_long(self) -> NoReturn:
        raise UnsupportedError(
            f"{user_line()} makes the recording longer than {self.limit:,} operations.\n    "
            "A Python loop is unrolled while it is recorded: write probdiff.scan or probdiff.fori_loop, or an "
            "operation on whole arrays; or raise compile(..., max_operations=)."
        )


def _finite_number(a: Any) -> bool:
    return type(a) is float and a != 0.0 and abs(a) < 1e300


def _key(a: Any) -> Any:
    if isinstance(a, Node | np.ndarray):
        return id(a)
    return (type(a), a if a == a else "nan", str(a) if a == 0 else "")  # 0.0 and -0.0 differ


class Tracer(Lifted):
    """An array of a recording."""

    __slots__ = ("graph", "level", "node")

    def __init__(self, graph: Graph, node: Node) -> None:
        self.graph = graph
        self.level = graph.level
        self.node = node

    def process(self, op: Op, args: tuple[Any, ...], params: dict[str, Any]) -> Array:
        return self.graph.record(op, args, params)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.node.shape

    @property
    def dtype(self) -> np.dtype:
        return self.node.dtype

    def __repr__(self) -> str:
        return f"Tracer({self.dtype}{list(self.shape)})"

    def _refuse(self) -> NoReturn:
        raise TracedValueError(
            f"{user_line()} asks for the value of an array that is being traced.\n    "
            "Use np.where(x > 0, a, b) instead of `if`, np.log instead of math.log, np.stack instead of np.array; "
            "or call without compile."
        )

    def __bool__(self) -> bool:
        self._refuse()

    def __float__(self) -> float:
        self._refuse()

    def __int__(self) -> int:
        self._refuse()

    def __index__(self) -> int:
        self._refuse()

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        try:
            super().__array__(dtype, copy)
        except TypeError as error:
            raise TracedValueError(str(error)) from None
        raise AssertionError


class Capture:
    """A function recorded for given kinds of arguments.

    `program` maps the leaves (then the values of `lifted`) to the leaves of the result; `spec` rebuilds the result.
    `rest` holds result leaves that are not numbers (strings, …).
    """

    __slots__ = ("lifted", "out_spec", "program", "statics")

    def __init__(self, program: Program, out_spec: Any, statics: dict[int, Any], lifted: list[Lifted]) -> None:
        self.program = program
        self.out_spec = out_spec
        self.statics = statics
        self.lifted = lifted

    def rebuild(self, leaves: list[Any]) -> Any:
        """The result's structure around `leaves`."""
        if self.statics:
            pieces = iter(leaves)
            n = len(leaves) + len(self.statics)
            leaves = [self.statics[k] if k in self.statics else next(pieces) for k in range(n)]
        return unflatten(self.out_spec, leaves)


def capture(
    f: Callable[..., Any], spec: Any, leaves: list[Any], traced: list[int], limit: int | None = None
) -> Capture:
    """Record `f(*unflatten(spec, leaves))`, the leaves numbered by `traced` being (shape, dtype) of inputs.

    More than `limit` operations are refused.
    """
    graph = Graph(limit)
    leaves = list(leaves)
    inputs = []
    for k in traced:
        leaves[k] = graph.input(*leaves[k])
        inputs.append(leaves[k].node)
    with np.errstate(all="ignore"):
        result = f(*unflatten(spec, leaves))
    out, out_spec = flatten(result)
    outputs: list[Any] = []
    statics: dict[int, Any] = {}
    for k, leaf in enumerate(out):
        if isinstance(leaf, Tracer) and leaf.graph is graph:
            outputs.append(leaf.node)
        elif is_lifted(leaf):
            outputs.append(graph.outside(leaf))
        elif isinstance(leaf, float | int | bool | np.ndarray | np.generic):
            outputs.append(np.asarray(leaf) if not isinstance(leaf, np.ndarray) else leaf)
        else:
            statics[k] = leaf
    lifted = [v for v, _ in graph.lifted]
    program = Program(inputs + [n for _, n in graph.lifted], outputs)
    return Capture(program, out_spec, statics, lifted)
