"""What control operations mean: evaluated on plain arrays, recorded by a tracer, or differentiated.

Forward mode runs the same loop with tangents beside the values and stores nothing. Reverse mode keeps the carries of a
scan and walks them backwards. A body of scalars that meets arrays is differentiated as a body of scalars.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.control import cond, scan, while_loop
from probdiff.ad.dual import Dual, full
from probdiff.ad.moving import carried, moving
from probdiff.ad.reverse import Tape, Variable, record_many
from probdiff.ad.transforms import pullback
from probdiff.compiler.interpret import interpret
from probdiff.errors import UnsupportedError
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import Graph, Tracer, capture
from probdiff.ops.control import CALL, CALL_DENSITY, COND, PROJECT, SCAN, WHILE, Control, row_range
from probdiff.ops.dispatch import dtype_of, innermost, is_float, new_level, shape_of, user_line
from probdiff.ops.elementwise import unbroadcast
from probdiff.tree import Array, flatten


def run(op: Control, operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[Array, ...]:
    """Evaluate, record or differentiate a control operation."""
    top = innermost(list(operands))
    if top is None:
        results: tuple[Array, ...] = op.evaluate(*operands, **params)
        return results
    if isinstance(top, Tracer):
        return _record(top.graph, op, operands, params)
    if op is CALL_DENSITY:
        raise UnsupportedError(
            f"{user_line()}: a density called by its address has no derivatives beyond its gradient."
        )
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
    width = len(top.partials)
    level = top.level
    values = [x.value if type(x) is Dual and x.level == level else x for x in operands]
    dots: list[Any] = [
        [None if p is None else full(p, x.value) for p in x.partials]
        if type(x) is Dual and x.level == level and is_float(x)
        else [None] * width
        for x in operands
    ]
    if op.batch(tuple(values), params):
        result = _per_element(lambda v, d: _pushed[op](v, d, width, params), (values, dots), op, params)
    else:
        result = _pushed[op](values, dots, width, params)
    return tuple(Dual(level, z, tuple(z_dots)) if any(d is not None for d in z_dots) else z for z, z_dots in result)


def _per_element(f: Callable[..., Any], trees: tuple[Any, ...], op: Control, params: dict[str, Any]) -> Any:
    """f of lists of operands (and what goes with them), recorded on scalars and run on arrays of them.

    Rows of a scan keep their first axis. Every result of a program of scalars comes out in the shape of the arrays.
    """
    rows = row_range(op, params)
    described, inputs = [], []
    for tree in trees:
        for k, x in enumerate(tree):
            for leaf in flatten(x)[0]:
                inputs.append(leaf)
                described.append((shape_of(leaf)[:1] if k in rows else (), dtype_of(leaf)))
    recorded = capture(f, flatten(trees)[1], described, list(range(len(inputs))))
    return recorded.rebuild(interpret(recorded.program, [*inputs, *recorded.lifted]))


def _dual_program(program: Program, values: Any, dots: Any, width: int) -> list[tuple[Any, list[Any]]]:
    """Values and tangents of a program's outputs."""
    level = new_level()
    inputs = [
        Dual(level, v, tuple(d)) if any(e is not None for e in d) else v for v, d in zip(values, dots, strict=True)
    ]
    return _split(interpret(program, inputs), level, width)


def _split(ys: list[Any], level: int, width: int) -> list[tuple[Any, list[Any]]]:
    """Values, and tangents at a level."""
    out = []
    for y in ys:
        if type(y) is Dual and y.level == level:
            out.append((y.value, [None if p is None else full(p, y.value) for p in y.partials]))
        else:
            out.append((y, [None] * width))
    return out


def _some(dots: Any) -> list[bool]:
    """Which of the operands have a tangent."""
    return [any(d is not None for d in of) for of in dots]


def _filled(value: Any, dots: list[Any], on: bool) -> list[Any] | None:
    """The tangents of a value that moves, with zeros for those that are missing; None for one that does not."""
    assert on or all(d is None for d in dots)
    return [np.zeros(shape_of(value), dtype_of(value))[()] if d is None else d for d in dots] if on else None


def _push_cond(values: Any, dots: Any, width: int, params: dict[str, Any]) -> list[tuple[Any, list[Any]]]:
    pred, rest, rest_dots = values[0], values[1:], dots[1:]
    either = zip(*(moving(params[name], _some(rest_dots)) for name in ("true", "false")), strict=True)
    active = [a or b for a, b in either]

    def branch(program: Program) -> Callable[[], Any]:
        def call() -> Any:
            out = _dual_program(program, rest, rest_dots, width)
            return [v for v, _ in out], [_filled(v, d, on) for (v, d), on in zip(out, active, strict=True)]

        return call

    vs, ds = cond(pred, branch(params["true"]), branch(params["false"]))
    return [(v, d if d is not None else [None] * width) for v, d in zip(vs, ds, strict=True)]


def _push_while(values: Any, dots: Any, width: int, params: dict[str, Any]) -> list[tuple[Any, list[Any]]]:
    k, m = params["carry"], params["cond_consts"]
    check_consts, step_consts, step_dots = values[k : k + m], values[k + m :], dots[k + m :]
    active = carried(params["body"], _some(dots[:k]), _some(step_dots))
    start = [_filled(v, d, on) for v, d, on in zip(values[:k], dots[:k], active, strict=True)]

    def body(carry: Any) -> Any:
        vs, ds = carry
        padded = [d if d is not None else [None] * width for d in ds]
        out = _dual_program(params["body"], [*vs, *step_consts], [*padded, *step_dots], width)
        return [v for v, _ in out], [_filled(v, d, on) for (v, d), on in zip(out, active, strict=True)]

    def check(carry: Any) -> Array:
        return interpret(params["cond"], [*carry[0], *check_consts])[0]

    vs, ds = while_loop(check, body, (values[:k], start))
    return [(v, d if d is not None else [None] * width) for v, d in zip(vs, ds, strict=True)]


def _push_scan(values: Any, dots: Any, width: int, params: dict[str, Any]) -> list[tuple[Any, list[Any]]]:
    k, m, program = params["carry"], params["xs"], params["body"]
    xs, x_dots, consts, const_dots = values[k : k + m], dots[k : k + m], values[k + m :], dots[k + m :]
    x_dots = [d if any(e is not None for e in d) else None for d in x_dots]
    active = carried(program, _some(dots[:k]), _some(dots[k:]))
    start = [_filled(v, d, on) for v, d, on in zip(values[:k], dots[:k], active, strict=True)]

    def body(carry: Any, x: Any) -> Any:
        (vs, ds), (rows, row_dots) = carry, x
        padded = [d if d is not None else [None] * width for d in (*ds, *row_dots)]
        out = _dual_program(program, [*vs, *rows, *consts], [*padded, *const_dots], width)
        ds = [_filled(v, d, on) for (v, d), on in zip(out, active, strict=False)]
        ys = [(v, d if any(e is not None for e in d) else None) for v, d in out[k:]]
        return ([v for v, _ in out[:k]], ds), ys

    (vs, ds), ys = scan(body, (values[:k], start), (list(xs), x_dots), params["length"], params["reverse"])
    carries = [(v, d if d is not None else [None] * width) for v, d in zip(vs, ds, strict=True)]
    return carries + [(v, d if d is not None else [None] * width) for v, d in ys]


def _push_call(values: Any, dots: Any, width: int, params: dict[str, Any]) -> list[tuple[Any, list[Any]]]:
    level = new_level()
    inputs = [
        Dual(level, v, tuple(d)) if any(e is not None for e in d) else v for v, d in zip(values, dots, strict=True)
    ]
    return _split(params["rules"](*inputs), level, width)


_pushed: dict[Control, Any] = {COND: _push_cond, WHILE: _push_while, SCAN: _push_scan, CALL: _push_call}


def _reverse(op: Control, tape: Tape, operands: Any, params: dict[str, Any]) -> tuple[Array, ...]:
    mine = [k for k, x in enumerate(operands) if type(x) is Variable and x.tape is tape]
    values = [x.value if k in mine else x for k, x in enumerate(operands)]
    if op is WHILE:
        raise UnsupportedError(
            f"{user_line()}: reverse mode met a while_loop, whose number of steps is not known.\n    "
            "Wrap the function around it: fwddiff(f)(x) differentiates it forwards; or use fori_loop or scan."
        )
    if batch := op.batch(tuple(values), params):
        return _reverse_elements(tape, op, operands, values, mine, params, batch)
    if op is CALL:
        return tuple(params["rules"](*operands))
    if op is COND:
        return _reverse_cond(tape, operands, values, mine, params)
    return _reverse_scan(tape, operands, values, mine, params)


def _reverse_elements(
    tape: Tape, op: Control, operands: Any, values: Any, mine: list[int], params: dict[str, Any], batch: tuple[int, ...]
) -> tuple[Array, ...]:
    """Scalars that go their own way in every element: the pullback recorded on scalars, and run on arrays."""
    out = list(op.run(*values, **params))
    rows = row_range(op, params)
    floats = [j for j, y in enumerate(out) if is_float(y)]

    def one(xs: list[Any], y_bars: list[Any]) -> list[Any]:
        def of(*some: Any) -> tuple[Any, ...]:
            full_inputs = list(xs)
            for k, x in zip(mine, some, strict=True):
                full_inputs[k] = x
            return tuple(op.run(*full_inputs, **params))

        given: list[Any] = [None] * len(out)
        for j, y_bar in zip(floats, y_bars, strict=True):
            given[j] = y_bar
        return list(pullback(of, *(xs[k] for k in mine))[1](tuple(given)))

    def back(y_bars: list[Any]) -> list[Any]:
        given = [np.zeros(shape_of(out[j])) if y_bars[j] is None else full(y_bars[j], out[j]) for j in floats]
        stacked = params["carry"] if op is SCAN else len(out)
        described = [shape_of(x)[:1] if k in rows else () for k, x in enumerate(values)]
        described += [shape_of(y)[:1] if j >= stacked else () for j, y in zip(floats, given, strict=True)]
        leaves = [*values, *given]
        kinds = [(shape, dtype_of(x)) for shape, x in zip(described, leaves, strict=True)]
        recorded = capture(one, flatten((values, given))[1], kinds, list(range(len(leaves))))
        bars = recorded.rebuild(interpret(recorded.program, [*leaves, *recorded.lifted]))
        wide = [(*shape_of(values[k])[:1], *batch) if k in rows else batch for k in mine]
        return [
            None if x_bar is None else unbroadcast_rows(x_bar, shape, shape_of(values[k]), k in rows)
            for x_bar, shape, k in zip(bars, wide, mine, strict=True)
        ]

    return tuple(record_many(tape, out, [operands[k] for k in mine], back))


def unbroadcast_rows(x_bar: Array, wide: tuple[int, ...], shape: tuple[int, ...], rows: bool) -> Array:
    """A cotangent over all elements, added up over those that share an operand."""
    if not rows:
        return unbroadcast(np.broadcast_to(x_bar, wide), wide, shape)
    lead = (shape[0], *(1,) * (len(wide) - len(shape)), *shape[1:])
    if shape_of(x_bar) != wide:  # the same in every element
        x_bar = np.broadcast_to(np.reshape(x_bar, (shape[0], *(1,) * (len(wide) - 1))), wide)
    return np.reshape(unbroadcast(x_bar, wide, lead), shape)


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
