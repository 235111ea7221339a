"""Small arrays as scalars: a program over arrays of a few elements, written out element by element.

A body of a loop becomes straight-line code whose values live in registers. The program is evaluated on arrays of
tracers: operations that move elements are then NumPy's own, and the others are applied element by element.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from probdiff.compiler.inline import inlined
from probdiff.compiler.interpret import interpret
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import Graph, Tracer
from probdiff.ops.control import (
    CALL_DENSITY,
    COND,
    PROJECT,
    SCAN,
    WHILE,
    Control,
    row_range,
    scalar_program,
    shapes_of_scan,
)
from probdiff.ops.dispatch import Op, apply, dtype_of, shape_of
from probdiff.ops.elementwise import ASTYPE, rows
from probdiff.ops.index import Slot, fill, has_arrays

LIMIT = 4000  # operations of a body that are worth writing out
WIDTH = 256  # elements of one operand
ROWS = 64  # rows up to which a scan inside a body is written out

_pairs = {
    "sum": rows["add"],
    "prod": rows["multiply"],
    "max": rows["maximum"],
    "min": rows["minimum"],
    "any": rows["logical_or"],
    "all": rows["logical_and"],
}
_moves = ("reshape", "transpose", "broadcast_to", "concatenate")


class TooLarge(Exception):
    """The program is not worth writing out, or has an operation that cannot be."""


def scalarised(program: Program) -> Program | None:
    """The program over the elements of its inputs, in C order, and of its outputs; None if it is too large."""
    program = inlined(program)
    if scalar_program(program):
        return program
    try:
        return _written_out(program)
    except TooLarge:
        return None


def _written_out(program: Program) -> Program:
    graph = Graph()
    values: dict[Node, np.ndarray] = {}
    inputs = []
    for n in program.inputs:
        if n.size > WIDTH:
            raise TooLarge
        elements = [graph.input((), n.dtype) for _ in range(n.size)]
        inputs += [e.node for e in elements]
        values[n] = _array(elements, n.shape)
    results = _run(program, values, graph)
    outputs: list[Any] = []
    for o, result in zip(program.outputs, results, strict=True):
        outputs += [_output(e, dtype_of(o)) for e in result.ravel()]
    return Program(inputs, outputs)


def _run(program: Program, values: dict[Node, np.ndarray], graph: Graph) -> list[np.ndarray]:
    """The outputs of a program on arrays of tracers of `graph`."""
    for node in program.nodes:
        args = [values[a] if isinstance(a, Node) else _constant(a) for a in node.args]
        values[node] = _evaluate(node, args, graph)
        if len(graph.nodes) > LIMIT:
            raise TooLarge
    return [values[o] if isinstance(o, Node) else _constant(o) for o in program.outputs]


def _output(e: Any, dtype: np.dtype) -> Any:
    if isinstance(e, Tracer):
        return (e if e.dtype == dtype else apply(ASTYPE, e, dtype=dtype)).node
    return np.asarray(e, dtype)


def _array(elements: list[Any], shape: tuple[int, ...]) -> np.ndarray:
    out = np.empty(len(elements), object)
    for k, e in enumerate(elements):
        out[k] = e
    return out.reshape(shape)


def _boxed(x: Any) -> np.ndarray:
    """An array of objects, also around a single one."""
    return x if isinstance(x, np.ndarray) else _array([x], ())


def _constant(a: Any) -> np.ndarray:
    if np.size(a) > WIDTH:
        raise TooLarge
    flat = np.ravel(a)
    return _array([flat[k] if np.ndim(a) else a for k in range(flat.size)], np.shape(a))


def _each(op: Op, args: list[np.ndarray], params: dict[str, Any]) -> np.ndarray:
    shape = np.broadcast_shapes(*(a.shape for a in args))
    if int(np.prod(shape, dtype=int)) > WIDTH * 4:
        raise TooLarge
    spread = [np.broadcast_to(a, shape) for a in args]
    return _array([apply(op, *(s[i] for s in spread), **params) for i in np.ndindex(shape)], shape)


def _evaluate(node: Node, args: list[np.ndarray], graph: Graph) -> Any:
    op, params = node.op, node.params
    assert op is not None
    name = op.name
    if op is PROJECT:
        return args[0][params["k"]]
    if isinstance(op, Control):
        return _control(op, args, params, graph)
    if op.elementwise:
        return _each(op, args, params)
    if name in _moves:
        return _boxed(op.evaluate(*args, **params))
    if name in _pairs:
        return _reduce(_pairs[name], args[0], params["axis"], node)
    if name == "getitem":
        return _pick(args, params["index"])
    if name == "index_add":
        return _put(args, params)
    if name == "matmul":
        return _boxed(np.matmul(*args))
    if name == "einsum":
        return _boxed(np.einsum(params["subscripts"], *args, optimize=False))
    if name == "cumsum":
        return np.add.accumulate(args[0], axis=params["axis"])
    if name == "cholesky" and args[0].ndim == 2:
        return cholesky(args[0])
    if name == "solve_triangular" and args[0].ndim == args[1].ndim == 2:
        a, b = args
        return solve_triangular(a, b, **params)
    raise TooLarge


def cholesky(a: np.ndarray) -> np.ndarray:
    """The factor of a small matrix of elements, row by row; NaN if there is none."""
    n = a.shape[0]
    out = _array([0.0] * (n * n), (n, n))
    good: Any = np.True_
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j]
            for k in range(j):
                rest = rest - out[i, k] * out[j, k]
            if i == j:
                good = np.logical_and(good, rest > 0.0)
            out[i, j] = np.sqrt(rest) if i == j else rest / out[j, j]
    return _unless(good, out)


def solve_triangular(a: np.ndarray, b: np.ndarray, lower: bool, transpose: bool) -> np.ndarray:
    """The solution of a small triangular system of elements, by substitution; NaN if it is singular."""
    if transpose:
        a, lower = a.T, not lower
    n = a.shape[0]
    out = b.copy()
    good: Any = np.True_
    for i in range(n) if lower else reversed(range(n)):
        good = np.logical_and(good, a[i, i] != 0.0)
        for c in range(b.shape[1]):
            rest = b[i, c]
            for j in range(i) if lower else range(i + 1, n):
                rest = rest - a[i, j] * out[j, c]
            out[i, c] = rest / a[i, i]
    return _unless(good, out)


def _unless(good: Any, out: np.ndarray) -> np.ndarray:
    return _each(rows["where"], [_array([good], ()), out, _array([np.nan], ())], {})


def _reduce(pair: Op, x: np.ndarray, axis: tuple[int, ...], node: Node) -> np.ndarray:
    kept = [k for k in range(x.ndim) if k not in axis]
    moved = x.transpose((*kept, *axis)).reshape((*(x.shape[k] for k in kept), -1))
    out = []
    for i in np.ndindex(moved.shape[:-1]):
        row = list(moved[i])
        if not row:
            raise TooLarge
        total = functools.reduce(lambda a, b: apply(pair, a, b), row)
        if isinstance(total, Tracer) and total.dtype != node.dtype:
            total = apply(ASTYPE, total, dtype=node.dtype)
        out.append(total)
    return _array(out, node.shape)


def _pick(args: list[np.ndarray], index: tuple[Any, ...]) -> np.ndarray:
    x, *arrays = args
    traced = [a for a in arrays if any(isinstance(e, Tracer) for e in a.ravel())]
    if not traced:
        return _boxed(x[fill(index, [a.astype(np.intp) for a in arrays])])
    if index != (Slot(0),) or arrays[0].shape != () or x.shape[0] > 16:
        raise TooLarge
    at = arrays[0][()]
    at = np.where(at < 0, at + x.shape[0], at)
    picked = x[0]
    for k in range(1, x.shape[0]):
        picked = _each(rows["where"], [_array([at == k], ()), x[k : k + 1].reshape(x.shape[1:]), _boxed(picked)], {})
    return _boxed(picked)


def _put(args: list[np.ndarray], params: dict[str, Any]) -> np.ndarray:
    x, *arrays = args
    if any(isinstance(e, Tracer) for a in arrays for e in a.ravel()):
        raise TooLarge
    shape = params["shape"]
    if int(np.prod(shape, dtype=int)) > WIDTH:
        raise TooLarge
    out = _array([0.0] * int(np.prod(shape, dtype=int)), shape)
    places = np.arange(out.size).reshape(shape)[fill(params["index"], [a.astype(np.intp) for a in arrays])]
    flat = out.reshape(-1)
    for place, e in zip(np.ravel(places), np.broadcast_to(x, np.shape(places)).ravel(), strict=True):
        held = flat[place]
        flat[place] = e if not has_arrays(params["index"]) or (type(held) is float and held == 0.0) else held + e
    return flat.reshape(shape)


def _control(op: Control, args: list[np.ndarray], params: dict[str, Any], graph: Graph) -> tuple[np.ndarray, ...]:
    """A control operation inside the body, with its own bodies written out."""
    if op is SCAN and (params["xs"] or len(params["body"].outputs) > params["carry"]):
        return _unrolled(args, params, graph)
    written = None if op is CALL_DENSITY else expanded(op, [a.shape for a in args], params)
    if written is None:
        raise TooLarge
    kinds = op.outputs(tuple(Node(None, (), {}, a.shape, np.dtype(float)) for a in args), params)
    flat = list(op.run(*(e for a in args for e in a.ravel()), **written))
    out, start = [], 0
    for shape, _ in kinds:
        n = int(np.prod(shape, dtype=int))
        out.append(_array(flat[start : start + n], shape))
        start += n
    return tuple(out)


def _unrolled(args: list[np.ndarray], params: dict[str, Any], graph: Graph) -> tuple[np.ndarray, ...]:
    """A scan over a few rows, one after the other."""
    k, m, length, body = params["carry"], params["xs"], params["length"], params["body"]
    if length > ROWS:
        raise TooLarge
    carry, ys = args[:k], {}
    for t in reversed(range(length)) if params["reverse"] else range(length):
        given = [*carry, *(_boxed(x[t]) for x in args[k : k + m]), *args[k + m :]]
        out = _run(body, dict(zip(body.inputs, given, strict=True)), graph)
        carry = [_cast(c, n.dtype) for c, n in zip(out[:k], body.inputs, strict=False)]
        ys[t] = out[k:]
    kinds = shapes_of_scan(params)[k:]
    stacked = [
        _array([e for t in range(length) for e in _cast(ys[t][j], dtype).ravel()], shape)
        for j, (shape, dtype) in enumerate(kinds)
    ]
    return (*carry, *stacked)


def _cast(elements: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Elements in the dtype that the array has by declaration."""
    flat = [
        (e if e.dtype == dtype else apply(ASTYPE, e, dtype=dtype)) if isinstance(e, Tracer) else dtype.type(e)
        for e in elements.ravel()
    ]
    return _array(flat, elements.shape)


def expanded(op: Control, shapes: list[tuple[int, ...]], params: dict[str, Any]) -> dict[str, Any] | None:
    """The parameters of a control operation whose operands are given element by element; None if too large."""
    bodies = {name: scalarised(p) if isinstance(p, Program) else p for name, p in params.items()}
    if any(p is None for name, p in bodies.items() if isinstance(params[name], Program)):
        return None
    sizes = [int(np.prod(s, dtype=int)) for s in shapes]
    if op is COND:
        return bodies
    k = params["carry"]
    bodies["carry"] = sum(sizes[:k])
    if op is WHILE:
        bodies["cond_consts"] = sum(sizes[k : k + params["cond_consts"]])
    else:
        rows_ = shapes[k : k + params["xs"]]
        bodies["xs"] = sum(int(np.prod(s[1:], dtype=int)) for s in rows_)
    return bodies


def _widened(args: list[Any], params: dict[str, Any], batch: tuple[int, ...]) -> tuple[Any, ...]:
    """A scan over rows whose body of scalars meets arrays, as a scan whose body computes with arrays."""
    k, m, body = params["carry"], params["xs"], params["body"]
    shapes = [batch] * k + [shape_of(x)[1:] for x in args[k : k + m]] + [shape_of(c) for c in args[k + m :]]
    graph = Graph()
    inputs = [graph.input(shape, n.dtype) for shape, n in zip(shapes, body.inputs, strict=True)]
    outputs = [np.broadcast_to(y, batch) for y in interpret(body, inputs)]
    wide = Program([x.node for x in inputs], [y.node if isinstance(y, Tracer) else np.asarray(y) for y in outputs])
    carry = [np.broadcast_to(c, batch) for c in args[:k]]
    return tuple(SCAN.run(*carry, *args[k:], **{**params, "body": wide}))


def rewritten(op: Control, args: list[Any], params: dict[str, Any]) -> tuple[Any, ...]:
    """The results of a control operation on tracers, by the operation over elements where that is worth it."""
    bodies = [p for p in params.values() if isinstance(p, Program)]
    if op is CALL_DENSITY or all(scalar_program(p) for p in bodies):
        batch = op.batch(tuple(args), params)
        if op is SCAN and batch and (params["xs"] or len(params["body"].outputs) > params["carry"]):
            return _widened(args, params, batch)
        return tuple(op.run(*args, **params))
    shapes = [shape_of(a) for a in args]
    written = expanded(op, shapes, params)
    if written is None or op.batch(tuple(args), params) != ():
        return tuple(op.run(*args, **params))
    k = params.get("carry", 0)
    by_row = row_range(op, params)
    flat: list[Any] = []
    for j, a in enumerate(args):
        if j in by_row:
            columns = np.reshape(a, (shapes[j][0], int(np.prod(shapes[j][1:], dtype=int))))
            flat += [columns[:, c] for c in range(shape_of(columns)[1])]
        elif shapes[j] == ():
            flat.append(a)
        else:
            line = np.reshape(a, (-1,))
            flat += [line[c] for c in range(shape_of(line)[0])]
    results = list(op.run(*flat, **written))
    out, start = [], 0
    for number, (shape, _) in enumerate(op.outputs(tuple(args), params)):
        stacked = op is SCAN and number >= k
        core = shape[1:] if stacked else shape
        n = int(np.prod(core, dtype=int))
        piece = results[start : start + n]
        start += n
        if core == ():
            out.append(piece[0])
        else:
            out.append(np.reshape(np.stack(piece, axis=-1) if n else np.zeros(shape), shape))
    return tuple(out)
