"""Control flow as operations: a branch, a loop until a condition fails, a loop over rows.

Their bodies are recorded programs. An operation has several results: its node stands for all of them, and a `project`
node for each. A branch or loop whose body is a program of scalars acts elementwise on arrays.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from probdiff.ops.dispatch import Op, dtype_of, shape_of
from probdiff.tree import Array

Kinds = list[tuple[tuple[int, ...], np.dtype]]


class Project(Op):
    """The k-th result of a control operation."""

    name = "project"
    smooth = ()

    def evaluate(self, results: Any, *, k: int) -> Any:
        return results[k]


class Control(Op):
    """An operation with bodies and several results."""

    def run(self, *operands: Any, **params: Any) -> tuple[Array, ...]:
        """Evaluate, record or differentiate, as the operands ask for."""
        from probdiff.ad.control_rules import run

        return run(self, operands, params)

    def outputs(self, args: tuple[Any, ...], params: dict[str, Any]) -> Kinds:
        """Shapes and dtypes of the results."""
        raise NotImplementedError

    def infer(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[tuple[int, ...], np.dtype]:
        return self.batch(args, params), np.dtype(bool)

    def batch(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[int, ...]:
        """The space over which a program of scalars is applied; () for one application."""
        bodies = [p for p in params.values() if hasattr(p, "nodes")]
        if not all(scalar_program(p) for p in bodies):
            return ()
        rows = row_range(self, params)
        return np.broadcast_shapes(*(shape_of(a)[1:] if k in rows else shape_of(a) for k, a in enumerate(args)))

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        from probdiff.compiler.control import evaluate

        return evaluate(self, operands, params)


def row_range(op: Control, params: dict[str, Any]) -> range:
    """Which operands a scan reads row by row."""
    if op is not SCAN:
        return range(0)
    return range(params["carry"], params["carry"] + params["xs"])


class Cond(Control):
    """A branch on a predicate: bodies `true` and `false` take the same operands."""

    name = "cond"

    def outputs(self, args: tuple[Any, ...], params: dict[str, Any]) -> Kinds:
        batch = self.batch(args, params)
        return [(batch or shape_of(o), dtype_of(o)) for o in params["true"].outputs]


class While(Control):
    """A loop: `cond` and `body` take the carry and constants of their own."""

    name = "while_loop"

    def outputs(self, args: tuple[Any, ...], params: dict[str, Any]) -> Kinds:
        batch = self.batch(args, params)
        return [(batch or n.shape, n.dtype) for n in params["body"].inputs[: params["carry"]]]


class Scan(Control):
    """A loop over rows: `body` takes the carry, a row of each xs and constants."""

    name = "scan"

    def outputs(self, args: tuple[Any, ...], params: dict[str, Any]) -> Kinds:
        return shapes_of_scan(params, self.batch(args, params))


class Quadrature(Control):
    """Sums of `body`(node, *constants) times weights over a rule on [0, 1]; zero where the first operand is false.

    It occurs in formulas of special functions, whose derivatives are formulas of their own.
    """

    name = "quadrature"

    def outputs(self, args: tuple[Any, ...], params: dict[str, Any]) -> Kinds:
        return [(self.batch(args, params), np.dtype(float)) for _ in params["body"].outputs]


class Call(Control):
    """A function with its own rules in a recording that is differentiated later: `rules` is the function."""

    name = "call"

    def outputs(self, args: tuple[Any, ...], params: dict[str, Any]) -> Kinds:
        batch = self.batch(args, params)
        return [(batch or shape_of(o), dtype_of(o)) for o in params["body"].outputs]


class CallDensity(Control):
    """A log-density and its gradient by the address of a C function: results for (address, q)."""

    name = "call_density"

    def outputs(self, args: tuple[Any, ...], params: dict[str, Any]) -> Kinds:
        return [((), np.dtype(float)), (shape_of(args[1]), np.dtype(float))]

    def batch(self, args: tuple[Any, ...], params: dict[str, Any]) -> tuple[int, ...]:
        return ()

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        address, q = operands
        q = np.ascontiguousarray(q, float)
        grad, logp = np.empty_like(q), np.empty(1)
        code = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, *[ctypes.c_void_p] * 4)(int(address))
        if code(q.size, q.ctypes.data, grad.ctypes.data, logp.ctypes.data, None):
            return np.float64(np.nan), np.full_like(q, np.nan)
        return logp[0], grad


@functools.cache
def rule(panels: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [0, 1]: Gauss and Legendre's rule of sixteen nodes on panels that grow linearly."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    bounds = (np.arange(panels + 1.0) / panels) ** 2
    half = 0.5 * np.diff(bounds)[:, None]
    return (bounds[:-1, None] + half * (nodes + 1.0)).ravel(), (half * weights).ravel()


def shapes_of_scan(params: dict[str, Any], batch: tuple[int, ...] = ()) -> Kinds:
    """Carries as they went in, then rows stacked."""
    k, body = params["carry"], params["body"]
    carries = [(batch or n.shape, n.dtype) for n in body.inputs[:k]]
    return carries + [((params["length"], *batch, *shape_of(o)), dtype_of(o)) for o in body.outputs[k:]]


def scalar_program(program: Any) -> bool:
    """Whether every value of a program is a scalar made by elementwise operations, so that it can act on arrays."""
    if program.scalar is not None:
        known: bool = program.scalar
        return known
    fits = all(n.shape == () for n in program.inputs) and all(shape_of(o) == () for o in program.outputs)
    for n in program.nodes:
        if not fits or n.op is CALL_DENSITY:
            fits = False
            break
        inner = all(scalar_program(p) for p in n.params.values() if hasattr(p, "nodes"))
        fits = n.shape == () and (n.op.elementwise or n.op is PROJECT or (isinstance(n.op, Control) and inner))
        if isinstance(n.op, Scan) and n.params["xs"]:
            fits = False
    program.scalar = fits
    return fits


PROJECT = Project()
COND = Cond()
WHILE = While()
SCAN = Scan()
QUADRATURE = Quadrature()
CALL = Call()
CALL_DENSITY = CallDensity()
