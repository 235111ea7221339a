"""All derivatives at once: jacobian and hessian; and the product of a hessian with a vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ad.arguments import numbered, strong
from probdiff.ad.dual import Dual, expanded, partial_of, value_below
from probdiff.ad.transforms import grad, pullback, pushforward
from probdiff.errors import DifferentiationError
from probdiff.ops.dispatch import dtype_of, is_float, new_level, shape_of
from probdiff.tree import Array, Tree, flatten, unflatten

_CHUNK = 16  # directions that one forward pass carries


def jacobian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Tree]:
    """A function that returns the Jacobian: the result's shape followed by the argument's, for each pair of leaves.

    Forward mode for as many inputs as outputs or fewer, reverse mode otherwise.
    """

    def wrapped(*args: Tree) -> Tree:
        (k,) = numbered(argnums, len(args))
        leaves, spec = flatten(args[k])
        if not all(is_float(x) for x in leaves):
            raise DifferentiationError(f"jacobian needs floating-point values in argument {k}")

        def of(*xs: Array) -> Tree:
            return f(*args[:k], unflatten(spec, xs), *args[k + 1 :])

        n = sum(int(np.prod(shape_of(x), dtype=int)) for x in leaves)
        if n <= _CHUNK:
            return _forward_jacobian(of, leaves, spec)
        y, back = pullback(of, *leaves)
        outputs, out_spec = flatten(y)
        m = sum(int(np.prod(shape_of(o), dtype=int)) for o in outputs)
        if n <= m:
            return _forward_jacobian(of, leaves, spec)
        blocks = [[_rows(back, outputs, j, i, x) for i, x in enumerate(leaves)] for j in range(len(outputs))]
        return unflatten(out_spec, [unflatten(spec, row) for row in blocks])

    return wrapped


def _rows(back: Any, outputs: list[Any], j: int, i: int, x: Any) -> Array:
    shape = shape_of(outputs[j])
    size = int(np.prod(shape, dtype=int))
    columns = []
    for k in range(size):
        unit = np.zeros(size)
        unit[k] = 1.0
        seed: Any = [None] * len(outputs)
        seed[j] = unit.reshape(shape)
        columns.append(back(seed[0] if len(outputs) == 1 else tuple(seed))[i])
    stacked = np.stack(columns) if columns else np.zeros((0, *shape_of(x)))
    return np.reshape(stacked, shape + shape_of(x))


def _forward_jacobian(f: Callable[..., Any], leaves: list[Any], spec: Any) -> Tree:
    sizes = [int(np.prod(shape_of(x), dtype=int)) for x in leaves]
    n = sum(sizes)
    pieces: list[list[Any]] = []
    out_spec = outputs = None
    for start in range(0, max(n, 1), _CHUNK):
        level = new_level()
        stop = min(start + _CHUNK, n)
        duals, offset = [], 0
        for x, size in zip(leaves, sizes, strict=True):
            units: list[Any] = []
            for k in range(start, stop):
                if offset <= k < offset + size:
                    unit = np.zeros(size, dtype_of(x))
                    unit[k - offset] = 1.0
                    units.append(unit.reshape(shape_of(x)) if shape_of(x) else 1.0)
                else:
                    units.append(None)
            duals.append(Dual(level, strong(x), tuple(units)))
            offset += size
        outputs, out_spec = flatten(f(*duals))
        for k in range(stop - start):
            pieces.append([expanded(partial_of(y, level, k), value_below(y, level)) for y in outputs])
        outputs = [value_below(y, level) for y in outputs]
    assert outputs is not None and out_spec is not None
    results = []
    for j, y in enumerate(outputs):
        columns, offset, row = [p[j] for p in pieces], 0, []
        for x, size in zip(leaves, sizes, strict=True):
            block = columns[offset : offset + size]
            stacked = np.stack(block, axis=-1) if block else np.zeros((*shape_of(y), 0))
            row.append(np.reshape(stacked, shape_of(y) + shape_of(x)))
            offset += size
        results.append(unflatten(spec, row))
    return unflatten(out_spec, results)


def hessian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Tree]:
    """A function that returns the matrix of second derivatives: forward mode over reverse mode."""
    return jacobian(grad(f, argnums), argnums)


def hvp(f: Callable[..., Any]) -> Callable[[Tree, Tree], Tree]:
    """A function (x, v) -> H(x) v, at the cost of a few gradients and without H."""

    def product(x: Tree, v: Tree) -> Tree:
        return pushforward(grad(f), x)(v)

    return product
