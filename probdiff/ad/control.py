"""Control flow that can be recorded: cond, while_loop, fori_loop, scan, over structured carries.

Bodies are recorded as programs of their own; what they close over becomes an operand. What an operation then means on
arrays, tracers, duals and variables of a tape is in `control_rules`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.dual import Dual
from probdiff.ad.reverse import Variable
from probdiff.errors import ParameterError, ShapeError, TracedValueError, UnsupportedError
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import Tracer, capture, recording
from probdiff.ops.control import COND, SCAN, WHILE
from probdiff.ops.dispatch import dtype_of, is_lifted, shape_of, user_line
from probdiff.ops.elementwise import ASTYPE
from probdiff.tree import Array, Tree, flatten, map_leaves, unflatten


def cond(pred: Array, true_fun: Callable[..., Tree], false_fun: Callable[..., Tree], *operands: Tree) -> Tree:
    """true_fun(*operands) if pred else false_fun(*operands); only the chosen branch runs.

    Both branches must return the same structure, shapes and dtypes.
    """
    if shape_of(pred) != ():
        raise ShapeError(f"{user_line()}: cond needs a scalar condition, got shape {shape_of(pred)}. Use np.where.")
    if not isinstance(_beneath(pred), Tracer):
        return true_fun(*operands) if pred else false_fun(*operands)
    leaves, spec = flatten(operands)
    true, false = Body(true_fun, spec, leaves), Body(false_fun, spec, leaves)
    if true.out_spec != false.out_spec:
        found = f"{structure(true.out_spec)} and {structure(false.out_spec)}"
        raise ShapeError(f"{user_line()}: the branches of cond return structures {found}.")
    kinds = [np.result_type(a.dtype, b.dtype) for a, b in zip(true.outputs, false.outputs, strict=True)]
    for a, b in zip(true.outputs, false.outputs, strict=True):
        if a.shape != b.shape:
            raise ShapeError(f"{user_line()}: the branches of cond return shapes {a.shape} and {b.shape}.")
    extra_true = [_input(x) for x in true.extra]
    extra_false = [_input(x) for x in false.extra]
    n = len(leaves)
    t, f = true.program.inputs, false.program.inputs
    params = {
        "true": _typed(Program(t + extra_false, true.program.outputs), kinds),
        "false": _typed(Program(f[:n] + extra_true + f[n:], false.program.outputs), kinds),
    }
    out = COND.run(pred, *leaves, *true.extra, *false.extra, **params)
    return unflatten(true.out_spec, list(out))


def while_loop(cond: Callable[[Any], Array], body: Callable[[Any], Any], init: Tree) -> Tree:
    """Apply `body` to the carry while `cond` of it is true; `init` is the first carry.

    The carry keeps its structure, shapes and dtypes. Forward mode differentiates it with no storage; reverse mode
    cannot, since the number of steps is not known: wrap the function around the loop in `fwddiff`.
    """
    return _carried("while_loop", _while, body, init, cond)


def _while(body: Callable[[Any], Any], leaves: list[Any], spec: Any, test: Any, name: str) -> list[Any]:
    step = Body(body, spec, [leaves], wrap=True)
    check = Body(test, spec, [leaves], wrap=True)
    step.same_as(leaves, spec, name)
    shapes = [o.shape for o in check.outputs]
    if shapes != [()]:
        rule = "the condition of while_loop must be one scalar"
        raise ShapeError(f"{user_line()}: {rule}, got shapes {shapes}. Use np.any.")
    test_program = _typed(check.program, [np.dtype(bool)])
    params = {"cond": test_program, "body": step.program, "carry": len(leaves), "cond_consts": len(check.extra)}
    return list(WHILE.run(*leaves, *check.extra, *step.extra, **params))


def fori_loop(lower: int, upper: int, body: Callable[[Array, Any], Any], init: Tree) -> Tree:
    """Apply carry = body(i, carry) for i = lower, ..., upper - 1.

    With plain integers as bounds it differentiates in both modes, like `scan`; with traced ones it is a `while_loop`.
    """
    for name, bound in (("lower", lower), ("upper", upper)):
        if shape_of(bound) != () or dtype_of(bound).kind not in "iu":
            raise ParameterError(f"{user_line()}: fori_loop.{name} must be an integer, got {bound!r}")
    if is_lifted(lower) or is_lifted(upper):
        return while_loop(lambda c: c[0] < upper, lambda c: (c[0] + 1, body(*c)), (lower, init))[1]
    start = np.int64(lower)

    def step(carry: Any, _: None) -> tuple[Any, None]:
        i, inner = carry
        return (i + 1, body(i, inner)), None

    length = max(int(upper) - int(lower), 0)
    return _carried("fori_loop", _scan, step, (start, init), ([], flatten(None)[1], length, False))[0][1]


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Tree,
    xs: Tree = None,
    length: int | None = None,
    reverse: bool = False,
    keep_every: int = 1,
) -> tuple[Any, Any]:
    """carry, ys with carry, ys[t] = f(carry, xs[t]) for t = 0, 1, …: a loop over the first axis of `xs`.

    The carry keeps its structure, shapes and dtypes; ys are stacked. Both modes differentiate it: forward mode stores
    nothing, reverse mode keeps the carries and runs f again on the way back. With `reverse`, t runs from the end.
    With `keep_every=k`, reverse mode keeps one carry in k and recomputes the others: memory for length / k + k of them,
    at the price of one more run of the loop.
    """
    x_leaves, x_spec = flatten(xs)
    x_leaves = [x if is_lifted(x) else np.asarray(x) for x in x_leaves]
    if length is not None and (not isinstance(length, int | np.integer) or length < 0):
        raise ParameterError(f"{user_line()}: scan.length must be a non-negative integer, got {length!r}")
    lengths = {shape_of(x)[0] for x in x_leaves if shape_of(x)}
    if any(not shape_of(x) for x in x_leaves) or len(lengths | ({length} if length is not None else set())) > 1:
        asked = "" if length is None else f" and length={length}"
        shapes = [shape_of(x) for x in x_leaves]
        raise ShapeError(f"{user_line()}: scan needs xs with leading axes of one length, got shapes {shapes}{asked}")
    if not lengths and length is None:
        raise ShapeError(f"{user_line()}: scan without xs needs length=")
    n = int(next(iter(lengths)) if lengths else length or 0)
    if not isinstance(keep_every, int | np.integer) or keep_every < 1:
        raise ParameterError(f"{user_line()}: scan.keep_every must be a positive integer, got {keep_every!r}")
    if 1 < keep_every < n:
        return _in_pieces(f, init, (x_leaves, x_spec, n), reverse, int(keep_every))
    carry, ys, y_spec = _carried("scan", _scan, f, init, (x_leaves, x_spec, n, reverse))
    return carry, unflatten(y_spec, ys) if y_spec is not None else ys


def _in_pieces(
    f: Callable[..., Any], init: Tree, rows: tuple[list[Any], Any, int], reverse: bool, k: int
) -> tuple[Tree, Tree]:
    """A scan over pieces of k rows, each a scan of its own; the rows that are left over run last."""
    x_leaves, x_spec, n = rows
    pieces, rest = divmod(n, k)
    main, left = (slice(rest, None), slice(None, rest)) if reverse else (slice(None, n - rest), slice(n - rest, None))
    blocks = [np.reshape(x[main], (pieces, k, *shape_of(x)[1:])) for x in x_leaves]

    def piece(carry: Any, block: Any) -> Any:
        return scan(f, carry, block, k, reverse)

    carry, ys = scan(piece, init, unflatten(x_spec, blocks), pieces, reverse)
    ys = map_leaves(lambda y: np.reshape(y, (pieces * k, *shape_of(y)[2:])), ys)
    if not rest:
        return carry, ys
    carry, more = scan(f, carry, unflatten(x_spec, [x[left] for x in x_leaves]), rest, reverse)
    both = (more, ys) if reverse else (ys, more)
    return carry, map_leaves(lambda a, b: np.concatenate([a, b]), *both)


def _scan(f: Callable[..., Any], leaves: list[Any], spec: Any, more: Any, name: str) -> Any:
    x_leaves, x_spec, length, reverse = more
    rows = [Kind(shape_of(x)[1:], dtype_of(x)) for x in x_leaves]
    body = Body(f, (spec, x_spec), [leaves, rows], wrap=True)
    k = len(leaves)
    y_spec = body.split(k, spec, name)
    params = {"body": body.program, "carry": k, "xs": len(x_leaves), "length": length, "reverse": reverse}
    out = SCAN.run(*leaves, *x_leaves, *body.extra, **params)
    return list(out[:k]), list(out[k:]), y_spec


def _carried(name: str, run: Any, f: Any, init: Tree, more: Any) -> Any:
    """Record and run a loop; integers in `init` become floats where the body makes them so; Python where it must be."""
    leaves, spec = flatten(init)
    leaves = [x if is_lifted(x) else np.asarray(x)[()] if np.ndim(x) == 0 else np.asarray(x) for x in leaves]
    while True:  # ends: dtypes only grow
        try:
            out = run(f, leaves, spec, more, name)
        except _Promote as promotion:
            leaves = [x if d is None else x.astype(d) for x, d in zip(leaves, promotion.dtypes, strict=True)]
            continue
        except TracedValueError:
            others = more[0] if run is _scan else []
            if any(isinstance(_beneath(x), Tracer) for x in [*leaves, *others]):
                raise
            return _in_python(run, f, unflatten(spec, leaves), more)
        if run is _scan:
            return unflatten(spec, out[0]), out[1], out[2]
        return unflatten(spec, out)


def _in_python(run: Any, f: Any, carry: Any, more: Any) -> Any:
    """A body that branches in Python on values at hand: an ordinary loop."""
    if run is _while:
        while more(carry):
            carry = f(carry)
        return carry
    x_leaves, x_spec, length, reverse = more
    ys = []
    for t in reversed(range(length)) if reverse else range(length):
        carry, y = f(carry, unflatten(x_spec, [x[t] for x in x_leaves]))
        ys.append(flatten(y))
    ys = ys[::-1] if reverse else ys
    y_spec = ys[0][1] if ys else None
    return carry, [np.stack(column) for column in zip(*(y[0] for y in ys), strict=True)], y_spec


class _Promote(Exception):
    def __init__(self, dtypes: list[Any]) -> None:
        self.dtypes = dtypes


class Kind:
    """Shape and dtype of an input that is not at hand."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.shape = shape
        self.dtype = dtype


class Body:
    """A recorded body: its program, whose inputs are its arguments' leaves and then `extra`, what it closes over."""

    def __init__(self, f: Callable[..., Any], spec: Any, leaves: Any, wrap: bool = False) -> None:
        if wrap:  # specs and leaves of several arguments
            specs = spec if isinstance(spec, tuple) else (spec,)
            flat = [x for group in leaves for x in group]
            sizes = [len(group) for group in leaves]

            def call(*args: Any) -> Any:
                pieces, start = [], 0
                for s, n in zip(specs, sizes, strict=True):
                    pieces.append(unflatten(s, args[start : start + n]))
                    start += n
                return f(*pieces)

            spec = flatten(tuple(0.0 for _ in flat))[1]
        else:
            call, flat = f, leaves
        described = [(shape_of(x), dtype_of(x)) for x in flat]
        recording.bodies += 1
        try:
            recorded = capture(call, spec, described, list(range(len(flat))))
        finally:
            recording.bodies -= 1
        if recorded.statics:
            raise UnsupportedError(f"{user_line()}: a loop or branch returns {next(iter(recorded.statics.values()))!r}")
        self.out_spec = recorded.out_spec
        self.program, arrays = hoisted(recorded.program)
        self.extra: list[Any] = [*recorded.lifted, *arrays]

    @property
    def outputs(self) -> list[Any]:
        return [o if isinstance(o, Node) else np.asarray(o) for o in self.program.outputs]

    def same_as(self, leaves: list[Any], spec: Any, name: str) -> None:
        """The carry must come out as it went in."""
        if self.out_spec != spec:
            found = structure(self.out_spec)
            raise ShapeError(f"{user_line()}: the body of {name} takes a carry {structure(spec)} and returns {found}.")
        _check_carry(leaves, self.outputs, name)

    def split(self, k: int, spec: Any, name: str) -> Any:
        """The structure of ys in a result (carry, ys)."""
        children = self.out_spec.children()
        if len(children) != 2:
            found = structure(self.out_spec)
            raise ShapeError(f"{user_line()}: the body of {name} must return (carry, y), got {found}.")
        if children[0] != spec:
            takes, gives = structure(spec), structure(children[0])
            if name == "fori_loop":  # whose carry has the index beside it
                takes, gives = (structure(s.children()[1]) for s in (spec, children[0]))
            raise ShapeError(f"{user_line()}: the body of {name} takes a carry {takes} and returns {gives}.")
        _check_carry(self.program.inputs[:k], self.outputs[:k], name)
        return children[1]


def structure(spec: Any) -> str:
    """The nesting of a tree, a star for each leaf."""
    return str(spec).removeprefix("PyTreeSpec(").removesuffix(")")


def _check_carry(before: Any, after: Any, name: str) -> None:
    wanted: list[Any] = []
    for x, y in zip(before, after, strict=True):
        if shape_of(x) != shape_of(y):
            raise ShapeError(
                f"{user_line()}: the carry of {name} changes its shape from {shape_of(x)} to {shape_of(y)}."
            )
        dtype = np.result_type(dtype_of(x), dtype_of(y))
        wanted.append(dtype if dtype != dtype_of(x) else None)
    if any(d is not None for d in wanted):
        raise _Promote(wanted)


def hoisted(program: Program) -> tuple[Program, list[np.ndarray]]:
    """The program with its constant arrays as further inputs."""
    arrays = [c for c in program.constants() if c.ndim]
    if not arrays:
        return program, []
    stand = {id(c): Node(None, (), {}, c.shape, c.dtype) for c in arrays}
    made: dict[Node, Node] = {n: n for n in program.inputs}

    def moved(a: Any) -> Any:
        if isinstance(a, Node):
            return made[a]
        return stand.get(id(a), a) if isinstance(a, np.ndarray) else a

    for node in program.nodes:
        made[node] = Node(node.op, tuple(moved(a) for a in node.args), node.params, node.shape, node.dtype)
    outputs = [moved(o) for o in program.outputs]
    return Program(program.inputs + list(stand.values()), outputs), arrays


def _typed(program: Program, dtypes: list[np.dtype]) -> Program:
    outputs = [
        o if dtype_of(o) == d else Node(ASTYPE, (o,), {"dtype": d}, shape_of(o), d)
        for o, d in zip(program.outputs, dtypes, strict=True)
    ]
    return Program(program.inputs, outputs)


def _input(x: Any) -> Node:
    return Node(None, (), {}, shape_of(x), dtype_of(x))


def _beneath(x: Any) -> Any:
    while isinstance(x, Dual | Variable):
        x = x.value
    return x
