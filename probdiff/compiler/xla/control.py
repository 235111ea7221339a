"""Branches and loops in JAX. Where a body of scalars meets arrays, every element goes its own way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.compiler.xla.library import cast, jnp, lax
from probdiff.errors import UnsupportedError
from probdiff.graph.program import Node, Program
from probdiff.ops.control import CALL, COND, QUADRATURE, SCAN, WHILE, rule
from probdiff.ops.dispatch import dtype_of, shape_of

Evaluate = Callable[[Program, list[Any]], list[Any]]
_boolean = np.dtype(bool)


def control(node: Node, args: list[Any], evaluate: Evaluate) -> tuple[Any, ...]:
    """The results of a control operation; `evaluate` runs its bodies."""
    op, params = node.op, node.params
    run = {COND: _cond, WHILE: _while, SCAN: _scan, CALL: _call, QUADRATURE: _quadrature}.get(op)
    if run is None:
        raise UnsupportedError(f"The JAX backend has no rule for {op.name}. Use backend='native'.")
    batch = op.batch(tuple(args), params)
    kinds = op.outputs(tuple(args), params)
    args = [cast(a, dtype_of(a)) for a in args]
    results = run(args, params, batch, evaluate)
    return tuple(jnp.broadcast_to(cast(r, d), shape) for r, (shape, d) in zip(results, kinds, strict=True))


def _call(args: list[Any], params: dict[str, Any], batch: tuple[int, ...], evaluate: Evaluate) -> list[Any]:
    return evaluate(params["body"], args)


def _cond(args: list[Any], params: dict[str, Any], batch: tuple[int, ...], evaluate: Evaluate) -> list[Any]:
    pred, *rest = args
    true, false = params["true"], params["false"]
    pred = cast(pred, _boolean)
    if pred.ndim:
        both = zip(evaluate(true, rest), evaluate(false, rest), strict=True)
        return [jnp.where(pred, a, b) for a, b in both]

    def branch(program: Program) -> Callable[..., Any]:
        return lambda *xs: _results(evaluate(program, list(xs)), program.outputs, batch)

    found: list[Any] = lax.cond(pred, branch(true), branch(false), *rest)
    return found


def _while(args: list[Any], params: dict[str, Any], batch: tuple[int, ...], evaluate: Evaluate) -> list[Any]:
    k, m = params["carry"], params["cond_consts"]
    check, step, inputs = args[k : k + m], args[k + m :], params["body"].inputs
    start = _carry(args[:k], inputs, batch)

    def going(carry: list[Any]) -> Any:
        return cast(evaluate(params["cond"], [*carry, *check])[0], _boolean)

    def body(state: Any) -> Any:
        on, carry = state
        new = _carry(evaluate(params["body"], [*carry, *step]), inputs, batch)
        if batch:
            new = [jnp.where(on, a, b) for a, b in zip(new, carry, strict=True)]
        return on & jnp.broadcast_to(going(new), batch), new

    first = jnp.broadcast_to(going(start), batch)
    found: list[Any] = lax.while_loop(lambda state: jnp.any(state[0]), body, (first, start))[1]
    return found


def _quadrature(args: list[Any], params: dict[str, Any], batch: tuple[int, ...], evaluate: Evaluate) -> list[Any]:
    on, *consts = args
    nodes, weights = (jnp.asarray(v, consts[0].dtype) for v in rule(params["panels"]))
    program = params["body"]

    def add(k: Any, sums: list[Any]) -> list[Any]:
        terms = evaluate(program, [nodes[k], *consts])
        return [total + weights[k] * jnp.broadcast_to(y, batch) for total, y in zip(sums, terms, strict=True)]

    start = [jnp.zeros(batch, consts[0].dtype) for _ in program.outputs]
    sums = lax.fori_loop(0, nodes.size, add, start)
    return [jnp.where(on, s, 0.0) for s in sums]


def _scan(args: list[Any], params: dict[str, Any], batch: tuple[int, ...], evaluate: Evaluate) -> list[Any]:
    k, m, program = params["carry"], params["xs"], params["body"]
    xs, consts = args[k : k + m], args[k + m :]

    def body(carry: list[Any], rows: Any) -> Any:
        out = evaluate(program, [*carry, *rows, *consts])
        ys = _results(out[k:], program.outputs[k:], batch)
        return _carry(out[:k], program.inputs, batch), ys

    start = _carry(args[:k], program.inputs, batch)
    carry, ys = lax.scan(body, start, tuple(xs), length=params["length"], reverse=params["reverse"])
    return [*carry, *ys]


def _carry(values: list[Any], inputs: list[Node], batch: tuple[int, ...]) -> list[Any]:
    """Carries in the shape and dtype that the loop keeps."""
    return [jnp.broadcast_to(cast(v, n.dtype), batch or n.shape) for v, n in zip(values, inputs, strict=False)]


def _results(values: list[Any], outputs: list[Any], batch: tuple[int, ...]) -> list[Any]:
    """Results of a body in the shape and dtype that every branch or step gives them."""
    return [jnp.broadcast_to(cast(v, dtype_of(o)), batch or shape_of(o)) for v, o in zip(values, outputs, strict=True)]
