"""A program in JAX: each operation by its rule, in order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import numpy as np

from probdiff.compiler.xla.arrays import ARRAYS
from probdiff.compiler.xla.control import control
from probdiff.compiler.xla.elementwise import elementwise
from probdiff.compiler.xla.library import jnp
from probdiff.compiler.xla.matrix import MATRICES
from probdiff.errors import UnsupportedError
from probdiff.graph.program import Node, Program
from probdiff.graph.trace import capture
from probdiff.ops.control import CALL_DENSITY, PROJECT, Control
from probdiff.ops.elementwise import rows
from probdiff.ops.linalg import EINSUM
from probdiff.tree import flatten

RULES: dict[str, Callable[[Node, list[Any], bool], Any]] = {**ARRAYS, **MATRICES}
Density = Callable[[Any], tuple[Any, Any]]
"""q -> (log-density, gradient), of arrays of JAX."""


def evaluate(
    program: Program, inputs: Any, constants: Mapping[int, Any] | None = None, linear: bool = False,
    density: Density | None = None,
) -> list[Any]:  # fmt: skip
    """Values of the outputs.

    constants  may stand for arrays of the program, by their ids
    density    what the program calls as its density; the address that it has for machine code is not used
    """
    values = dict(zip(program.inputs, inputs, strict=True))
    run(program.nodes, values, constants or {}, linear, density)
    return [_value(o, values, constants or {}) for o in program.outputs]


def run(
    nodes: list[Node], values: dict[Node, Any], constants: Mapping[int, Any], linear: bool = False,
    density: Density | None = None,
) -> None:  # fmt: skip
    """Add the values of the nodes, in order. With `linear`, they are linear in what JAX may transpose."""
    for node in nodes:
        same = _unturned(_signed(node, values), values)
        values[node] = operation(same, [_value(a, values, constants) for a in same.args], linear, density)


def _signed(node: Node, values: dict[Node, Any]) -> Node:
    """The same value with its sign elsewhere: z + (-x) as z - x, and -(c / y) as (-c) / y.

    Two loops then no longer share a quotient that XLA would store for them: it divides faster than it stores.
    """
    name, args = node.op.name, node.args
    if node.dtype.kind != "f":
        return node
    if name == "add":
        for x, z in (args, args[::-1]):
            if _is(x, "negative") and x.dtype == node.dtype and _known(x.args[0], values):
                return Node(rows["subtract"], (z, x.args[0]), {}, node.shape, node.dtype)
    turned = name == "negative" or name == "multiply" and type(args[1]) is float and args[1] == -1.0
    x = args[0] if turned else None
    if _is(x, "divide") and type(x.args[0]) is float and _known(x.args[1], values):
        return Node(rows["divide"], (-x.args[0], x.args[1]), {}, node.shape, node.dtype)
    return node


def _unturned(node: Node, values: dict[Node, Any]) -> Node:
    """x' y as a sum of products over the first axis of both: of a product with x', XLA makes x' first, in memory."""
    if node.op.name == "matmul" and len(node.shape) == 2:
        x, y = node.args
        if _is(x, "transpose") and _known(x.args[0], values):
            return Node(EINSUM, (x.args[0], y), {"subscripts": "ki,kj->ij"}, node.shape, node.dtype)
    return node


def _known(x: Any, values: dict[Node, Any]) -> bool:
    return isinstance(x, Node) and x in values


def _is(x: Any, name: str) -> TypeGuard[Node]:
    return isinstance(x, Node) and x.op is not None and x.op.name == name


def called(f: Callable[..., Any], args: tuple[Any, ...], density: Density | None = None) -> Any:
    """f, written in NumPy, of structures of JAX's arrays: recorded for their shapes, and evaluated."""
    leaves, spec = flatten(args)
    leaves = [jnp.asarray(x) for x in leaves]
    kinds = [(x.shape, np.dtype(x.dtype)) for x in leaves]
    found = capture(f, spec, kinds, list(range(len(leaves))))
    return found.rebuild(evaluate(found.program, leaves, density=density))


def operation(node: Node, args: list[Any], linear: bool, density: Density | None = None) -> Any:
    """The value of one node."""
    op = node.op
    if op is PROJECT:
        return args[0][node.params["k"]]
    if op is CALL_DENSITY and density is not None:
        return density(args[1])
    if isinstance(op, Control):
        return control(node, args, functools.partial(evaluate, linear=linear, density=density))
    if op.elementwise:
        return elementwise(node, args, linear)
    if op.name not in RULES:
        raise UnsupportedError(f"The JAX backend has no rule for {op.name}. Use backend='native'.")
    return RULES[op.name](node, args, linear)


def _value(a: Any, values: dict[Node, Any], constants: Mapping[int, Any]) -> Any:
    return values[a] if type(a) is Node else constants.get(id(a), a)
