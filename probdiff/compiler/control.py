"""Control operations evaluated on plain arrays: the reference that native code is tested against.

Where a body of scalars meets arrays, every element goes its own way: loops run until the last has finished, and those
that are done keep their values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.compiler.interpret import interpret
from probdiff.ops.control import CALL, COND, QUADRATURE, WHILE, Control, rule, shapes_of_scan
from probdiff.ops.dispatch import shape_of


def evaluate(op: Control, operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
    """The results of `op` by the interpreter."""
    results: tuple[Any, ...]
    if op is CALL:
        results = tuple(_exact(interpret(params["body"], list(operands))))
    elif op is COND:
        results = _cond(operands, params)
    elif op is QUADRATURE:
        results = _quadrature(operands, params)
    else:
        results = _while(operands, params) if op is WHILE else _scan(op, operands, params)
    if op.batch(operands, params) == ():
        return results
    kinds = op.outputs(operands, params)  # what does not depend on the arrays is the same in every element
    return tuple(
        r if shape_of(r) == shape else np.broadcast_to(r, shape).copy()
        for r, (shape, _) in zip(results, kinds, strict=True)
    )


def _cond(operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
    pred, *rest = operands
    if shape_of(pred) == ():
        return tuple(_exact(interpret(params["true" if pred else "false"], rest)))
    true, false = interpret(params["true"], rest), interpret(params["false"], rest)
    return tuple(np.where(pred, a, b) for a, b in zip(true, false, strict=True))


def _while(operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
    k, m = params["carry"], params["cond_consts"]
    carry, check, step = list(operands[:k]), operands[k : k + m], operands[k + m :]
    going = interpret(params["cond"], [*carry, *check])[0]
    while np.any(going):
        new = interpret(params["body"], [*carry, *step])
        if shape_of(going) == ():
            carry = _exact(new)
        else:
            carry = [np.where(going, a, b) for a, b in zip(new, carry, strict=True)]
        going = going & interpret(params["cond"], [*carry, *check])[0]
    return tuple(_exact(carry))


def _quadrature(operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
    on, *consts = operands
    sums: list[Any] = [0.0] * len(params["body"].outputs)
    for x, weight in zip(*rule(params["panels"]), strict=True):
        terms = interpret(params["body"], [x, *consts])
        sums = [total + weight * y for total, y in zip(sums, terms, strict=True)]
    return tuple(np.where(on, total, 0.0)[()] for total in sums)


def _scan(op: Control, operands: tuple[Any, ...], params: dict[str, Any]) -> tuple[Any, ...]:
    k, m, length = params["carry"], params["xs"], params["length"]
    carry, xs, consts = list(operands[:k]), operands[k : k + m], operands[k + m :]
    kinds = shapes_of_scan(params, op.batch(operands, params))[k:]
    ys = [np.empty(shape, dtype) for shape, dtype in kinds]
    for t in reversed(range(length)) if params["reverse"] else range(length):
        out = interpret(params["body"], [*carry, *(x[t] for x in xs), *consts])
        carry = _exact(out[:k])
        for y, value in zip(ys, out[k:], strict=True):
            y[t] = value
    return (*carry, *ys)


def _exact(values: list[Any]) -> list[Any]:
    return [v[()] if isinstance(v, np.ndarray) and v.ndim == 0 else v for v in values]
