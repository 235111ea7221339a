"""A program in single precision where it is long: arrays in float32, sums and single numbers in float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.graph.program import Node, Program
from probdiff.ops.dispatch import dtype_of, shape_of
from probdiff.ops.elementwise import ASTYPE, rows
from probdiff.ops.reduce import SUM
from probdiff.ops.shape import RESHAPE

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
MOVES = ("getitem", "reshape", "transpose", "broadcast_to", "max", "min")
"""Operations that pass numbers on, in the precision in which they come."""
SUMS = ("sum", "prod", "cumsum", "index_add")
"""Operations that add up in the precision of their result."""
PRODUCTS = ("matmul", "einsum")


def single(program: Program) -> Program:
    """The program with its arrays in float32: those among its inputs but the first, and what is computed from arrays.

    Sums of them, whatever has no axis, loops and factors of matrices are in float64, and so are the first input and the
    results.
    """
    first, *rest = program.inputs
    made: dict[Any, Any] = {first: first}
    for x in rest:
        made[x] = Node(None, (), {}, x.shape, SINGLE if x.dtype == DOUBLE and x.shape else x.dtype)
    for node in program.nodes:
        made[node] = _node(node, [made[a] if isinstance(a, Node) else a for a in node.args])
    outputs = [_as(made[o], o.dtype) if isinstance(o, Node) else o for o in program.outputs]
    return Program([made[x] for x in program.inputs], outputs)


def _node(node: Node, args: list[Any]) -> Node:
    name, dtype = node.op.name, node.dtype
    if name == "matmul" and node.shape == (1, 1):
        return _inner(node, args)
    if name in MOVES:
        dtype = dtype_of(args[0]) if dtype == DOUBLE else dtype
    elif node.op.elementwise or name in PRODUCTS:
        kind = SINGLE if node.shape else DOUBLE
        args = [_as(a, kind) for a in args]
        dtype = kind if dtype == DOUBLE else dtype
        if name == "astype":
            return Node(node.op, tuple(args), {"dtype": dtype}, node.shape, dtype)
    elif name not in SUMS:
        args = [_as(a, DOUBLE) for a in args]
    return Node(node.op, tuple(args), node.params, node.shape, dtype)


def _inner(node: Node, args: list[Any]) -> Node:
    """A row times a column as a sum, which is added in float64."""
    row, column = (_as(a, SINGLE) for a in args)
    n = shape_of(row)[1]
    turned = Node(RESHAPE, (column,), {"shape": (1, n)}, (1, n), SINGLE)
    product = Node(rows["multiply"], (row, turned), {}, (1, n), SINGLE)
    total = Node(SUM, (product,), {"axis": (0, 1)}, (), DOUBLE)
    return Node(RESHAPE, (total,), {"shape": (1, 1)}, (1, 1), DOUBLE)


def _as(a: Any, dtype: np.dtype) -> Any:
    """An operand in the precision of the operation; other kinds than floats as they are."""
    if dtype_of(a).kind != "f" or dtype_of(a) == dtype:
        return a
    if isinstance(a, Node):
        return Node(ASTYPE, (a,), {"dtype": dtype}, a.shape, dtype)
    return a.astype(dtype) if isinstance(a, np.ndarray) else float(a)
