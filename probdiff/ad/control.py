"""Control flow that can be recorded: cond, while_loop, fori_loop, scan, over structured carries.

Bodies are recorded as programs of their own; what they close over becomes an operand. Each operation then has four
meanings: evaluated on plain arrays, recorded by a tracer, pushed forward by duals (the same loop with tangents beside
the values, nothing stored) and pulled back under reverse mode (a scan that keeps its carries and walks them backwards).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.dual import Dual, full
from probdiff.ad.reverse import Tape, Variable
from probdiff.ad.transforms import innermost, pullback, record_many
from probdiff.compiler.interpret import interpret
from probdiff.errors import ParameterError, ShapeError, TracedValueError, UnsupportedError
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import Graph, Tracer, capture
from probdiff.ops.control import COND, PROJECT, SCAN, WHILE, Control, shapes_of_scan
from probdiff.ops.dispatch import dtype_of, is_float, is_lifted, new_level, shape_of, user_line
from probdiff.tree import Array, Tree, flatten, paths, unflatten


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
    kinds = [o.shape for o in check.outputs]
    if kinds != [()]:
        raise ShapeError(f"{user_line()}: the condition of while_loop must be one scalar, got shapes {kinds}. Use np.any.")
    params = {"cond": _typed(check.program, [np.dtype(bool)]), "body": step.program, "carry": len(leaves), "cond_consts": len(check.extra)}
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
) -> tuple[Any, Any]:
    """carry, ys with carry, ys[t] = f(carry, xs[t]) for t = 0, 1, …: a loop over the first axis of `xs`.

    The carry keeps its structure, shapes and dtypes; ys are stacked. Both modes differentiate it: forward mode stores
    nothing, reverse mode keeps the carries and runs f again on the way back. With `reverse`, t runs from the end.
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
    n = next(iter(lengths)) if lengths else length
    carry, ys, y_spec = _carried("scan", _scan, f, init, (x_leaves, x_spec, n, reverse))
    return carry, unflatten(y_spec, ys) if y_spec is not None else ys


def _scan(f: Callable[..., Any], leaves: list[Any], spec: Any, more: Any, name: str) -> Any:
    x_leaves, x_spec, length, reverse = more
    rows = [_Kind(shape_of(x)[1:], dtype_of(x)) for x in x_leaves]
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


class _Kind:
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
        recorded = capture(call, spec, described, list(range(len(flat))))
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
    from probdiff.ops.elementwise import ASTYPE

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


# The four meanings


def run(op: Control, operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[Array, ...]:
    """Evaluate, record or differentiate a control operation."""
    top = innermost(list(operands))
    if top is None:
        return op.evaluate(*operands, **params)
    if isinstance(top, Tracer):
        return _record(top.graph, op, operands, params)
    if type(top) is Dual:
        return _forward(op, top, operands, params)
    assert type(top) is Variable
    return _reverse(op, top.tape, operands, params)


def _record(graph: Graph, op: Control, operands: Any, params: dict[str, Any]) -> tuple[Array, ...]:
    node = graph.record(op, operands, params).node
    shapes = op.outputs(node.args, params)
    out = []
    for k, (shape, dtype) in enumerate(shapes):
        member = Node(PROJECT, (node,), {"k": k}, shape, dtype)
        graph.nodes.append(member)
        out.append(Tracer(graph, member))
    return tuple(out)


def _forward(op: Control, top: Dual, operands: Any, params: dict[str, Any]) -> tuple[Array, ...]:
    level, width = top.level, len(top.partials)
    values = [x.value if type(x) is Dual and x.level == level else x for x in operands]
    dots: list[Any] = [
        [None if p is None else full(p, x.value) for p in x.partials]
        if type(x) is Dual and x.level == level and is_float(x)
        else [None] * width
        for x in operands
    ]
    result = _pushed[op](values, dots, width, params)
    return tuple(Dual(level, z, tuple(z_dots)) if any(d is not None for d in z_dots) else z for z, z_dots in result)


def _dual_program(program: Program, values: Any, dots: Any, width: int) -> list[tuple[Any, list[Any]]]:
    """Values and tangents of a program's outputs."""
    level = new_level()
    inputs = [
        Dual(level, v, tuple(d)) if any(e is not None for e in d) else v for v, d in zip(values, dots, strict=True)
    ]
    out = []
    for y in interpret(program, inputs):
        if type(y) is Dual and y.level == level:
            out.append((y.value, [None if p is None else full(p, y.value) for p in y.partials]))
        else:
            out.append((y, [None] * width))
    return out


def _filled(value: Any, dots: list[Any]) -> list[Any]:
    return [np.zeros(shape_of(value), dtype_of(value))[()] if d is None else d for d in dots]


def _moving(start: list[bool], step: Callable[[list[bool]], list[bool]]) -> list[bool]:
    """Which carries have a tangent, once the loop has been round often enough."""
    now = start
    while True:
        then = [a or b for a, b in zip(now, step(now), strict=True)]
        if then == now:
            return now
        now = then


def _push_cond(values: Any, dots: Any, width: int, params: dict[str, Any]) -> list[tuple[Any, list[Any]]]:
    pred, rest, rest_dots = values[0], values[1:], dots[1:]
    seen: list[list[bool]] = []

    def branch(program: Program) -> Callable[[], Any]:
        def call() -> Any:
            out = _dual_program(program, rest, rest_dots, width)
            return [v for v, _ in out], [d for _, d in out]

        return call

    for name in ("true", "false"):
        graph_values = _probe(branch(params[name]))
        seen.append([any(d is not None for d in dd) for dd in graph_values[1]])
    active = [a or b for a, b in zip(*seen, strict=True)]

    def full_branch(program: Program) -> Callable[[], Any]:
        def call() -> Any:
            vs, ds = branch(program)()
            return vs, [_filled(v, d) if on else None for v, d, on in zip(vs, ds, active, strict=True)]

        return call

    vs, ds = cond(pred, full_branch(params["true"]), full_branch(params["false"]))
    return [(v, d if d is not None else [None] * width) for v, d in zip(vs, ds, strict=True)]


def _probe(f: Callable[[], Any]) -> Any:
    """What f returns in structure; nothing is computed on plain arrays that matters."""
    holder = []

    def keep() -> Any:
        holder.append(f())
        return holder[0]

    capture(lambda: keep() and 0.0, flatten(())[1], [], [])
    return holder[0]


def _push_while(values: Any, dots: Any, width: int, params: dict[str, Any]) -> list[tuple[Any, list[Any]]]:
    k, m = params["carry"], params["cond_consts"]
    check_consts, step_consts, step_dots = values[k : k + m], values[k + m :], dots[k + m :]

    def body(carry: Any) -> Any:
        vs, ds = carry
        padded = [d if d is not None else [None] * width for d in ds]
        out = _dual_program(params["body"], [*vs, *step_consts], [*padded, *step_dots], width)
        return [v for v, _ in out], [
            _filled(v, d) if on is not None else None for (v, d), on in zip(out, ds, strict=True)
        ]

    def spread(on: list[bool]) -> list[bool]:
        ds = [_filled(v, [None] * width) if a else None for v, a in zip(values[:k], on, strict=True)]
        found: list[bool] = []

        def once(*vs: Any) -> Any:
            padded = [d if d is not None else [None] * width for d in ds]
            out = _dual_program(params["body"], [*vs, *step_consts], [*padded, *step_dots], width)
            found.extend(any(d is not None for d in dd) for _, dd in out)
            return 0.0

        _shape_only(once, values[:k])
        return found

    active = _moving([any(d is not None for d in dd) for dd in dots[:k]], spread)
    start = [_filled(v, d) if on else None for v, d, on in zip(values[:k], dots[:k], active, strict=True)]

    def check(carry: Any) -> Array:
        return interpret(params["cond"], [*carry[0], *check_consts])[0]

    vs, ds = while_loop(check, body, (values[:k], start))
    return [(v, d if d is not None else [None] * width) for v, d in zip(vs, ds, strict=True)]


def _shape_only(f: Callable[..., Any], like: list[Any]) -> None:
    """Record f once for its structure."""
    spec = flatten(tuple(0.0 for _ in like))[1]
    capture(f, spec, [(shape_of(x), dtype_of(x)) for x in like], list(range(len(like))))


def _push_scan(values: Any, dots: Any, width: int, params: dict[str, Any]) -> list[tuple[Any, list[Any]]]:
    k, m, program = params["carry"], params["xs"], params["body"]
    xs, x_dots, consts, const_dots = values[k : k + m], dots[k : k + m], values[k + m :], dots[k + m :]
    x_dots = [d if any(e is not None for e in d) else None for d in x_dots]

    def step(vs: Any, ds: Any, x: Any, xd: Any) -> list[tuple[Any, list[Any]]]:
        padded = [d if d is not None else [None] * width for d in ds]
        padded_x = [d if d is not None else [None] * width for d in xd]
        return _dual_program(program, [*vs, *x, *consts], [*padded, *padded_x, *const_dots], width)

    def spread(on: list[bool]) -> list[bool]:
        ds = [_filled(v, [None] * width) if a else None for v, a in zip(values[:k], on, strict=True)]
        xd = [None if d is None else [None if e is None else np.zeros(shape_of(e)[1:]) for e in d] for d in x_dots]
        found: list[bool] = []

        def once(*args: Any) -> Any:
            out = step(args[:k], ds, args[k:], xd)
            found.extend(any(d is not None for d in dd) for _, dd in out[:k])
            return 0.0

        _shape_only(once, [*values[:k], *(_Kind(shape_of(x)[1:], dtype_of(x)) for x in xs)])
        return found

    active = _moving([any(d is not None for d in dd) for dd in dots[:k]], spread)
    start = [_filled(v, d) if on else None for v, d, on in zip(values[:k], dots[:k], active, strict=True)]

    def body(carry: Any, x: Any) -> Any:
        out = step(*carry, *x)
        ds = [_filled(v, d) if on else None for (v, d), on in zip(out[:k], active, strict=True)]
        ys = [(v, d if any(e is not None for e in d) else None) for v, d in out[k:]]
        return ([v for v, _ in out[:k]], ds), ys

    (vs, ds), ys = scan(body, (values[:k], start), (list(xs), x_dots), params["length"], params["reverse"])
    carries = [(v, d if d is not None else [None] * width) for v, d in zip(vs, ds, strict=True)]
    return carries + [(v, d if d is not None else [None] * width) for v, d in ys]


_pushed: dict[Control, Any] = {COND: _push_cond, WHILE: _push_while, SCAN: _push_scan}


def _reverse(op: Control, tape: Tape, operands: Any, params: dict[str, Any]) -> tuple[Array, ...]:
    mine = [k for k, x in enumerate(operands) if type(x) is Variable and x.tape is tape]
    values = [x.value if k in mine else x for k, x in enumerate(operands)]
    if op is WHILE:
        raise UnsupportedError(
            f"{user_line()}: reverse mode met a while_loop, whose number of steps is not known.\n    "
            "Wrap the function around it: fwddiff(f)(x) differentiates it forwards; or use fori_loop or scan."
        )
    if op is COND:
        return _reverse_cond(tape, operands, values, mine, params)
    return _reverse_scan(tape, operands, values, mine, params)


def _bars(program: Program, inputs: list[Any], wrt: list[int], y_bars: list[Any]) -> list[Any]:
    """Cotangents of some inputs of a program, zeros where there are none."""

    def of(*xs: Any) -> tuple[Any, ...]:
        full_inputs = list(inputs)
        for k, x in zip(wrt, xs, strict=True):
            full_inputs[k] = x
        return tuple(interpret(program, full_inputs))

    return list(pullback(of, *(inputs[k] for k in wrt))[1](tuple(y_bars)))


def _reverse_cond(tape: Tape, operands: Any, values: Any, mine: list[int], params: dict[str, Any]) -> tuple[Array, ...]:
    out = list(COND.run(*values, **params))
    floats = [k for k in mine if k > 0]

    def back(y_bars: list[Any]) -> list[Any]:
        def branch(program: Program) -> Callable[[], Any]:
            return lambda: _bars(program, values[1:], [k - 1 for k in floats], y_bars)

        return list(cond(values[0], branch(params["true"]), branch(params["false"])))

    return tuple(record_many(tape, out, [operands[k] for k in floats], back))


def _reverse_scan(tape: Tape, operands: Any, values: Any, mine: list[int], params: dict[str, Any]) -> tuple[Array, ...]:
    k, m, program = params["carry"], params["xs"], params["body"]
    length, reverse = params["length"], params["reverse"]
    init, xs, consts = values[:k], values[k : k + m], values[k + m :]

    def keeping(carry: Any, x: Any) -> Any:
        out = interpret(program, [*carry, *x, *consts])
        return list(out[:k]), (list(out[k:]), list(carry))

    last, (ys, kept) = scan(keeping, list(init), list(xs), length, reverse)
    moving = [j for j in range(k) if program.inputs[j].dtype.kind == "f"]
    x_mine = [j for j in range(m) if k + j in mine]
    c_mine = [j for j in range(len(consts)) if k + m + j in mine]

    def back(y_bars: list[Any]) -> list[Any]:
        ends = [
            np.zeros(shape_of(last[j]), dtype_of(last[j])) if y_bars[j] is None else full(y_bars[j], last[j])
            for j in moving
        ]
        sums = [np.zeros(shape_of(consts[j]), dtype_of(consts[j])) for j in c_mine]
        given = [None if b is None else full(b, y) for b, y in zip(y_bars[k:], ys, strict=True)]

        def step(carry: Any, x: Any) -> Any:
            c_bars, totals = carry
            before, row, bars = x
            full_bars: list[Any] = [None] * k
            for j, b in zip(moving, c_bars, strict=True):
                full_bars[j] = b
            wrt = [*moving, *(k + j for j in x_mine), *(k + m + j for j in c_mine)]
            found = _bars(program, [*before, *row, *consts], wrt, [*full_bars, *bars])
            n, p = len(moving), len(moving) + len(x_mine)
            return (found[:n], [t + f for t, f in zip(totals, found[p:], strict=True)]), found[n:p]

        (starts, totals), x_bars = scan(step, (ends, sums), (kept, list(xs), given), length, not reverse)
        of = dict(zip(moving, starts, strict=True))
        out: list[Any] = []
        for position in mine:
            if position < k:
                out.append(of.get(position))
            elif position < k + m:
                out.append(x_bars[x_mine.index(position - k)])
            else:
                out.append(totals[c_mine.index(position - k - m)])
        return out

    return tuple(record_many(tape, [*last, *ys], [operands[j] for j in mine], back))


__all__ = ["cond", "fori_loop", "paths", "scan", "shapes_of_scan", "while_loop"]
