"""The reference backend: a program evaluated operation by operation.

Arguments may be plain arrays, or lifted ones, in which case the program is recorded or differentiated again.
"""

from __future__ import annotations

from probdiff.graph.program import Node, Program
from probdiff.ops.control import PROJECT, Control
from probdiff.ops.dispatch import apply
from probdiff.tree import Array


def interpret(program: Program, inputs: list[Array]) -> list[Array]:
    """Values of the program's outputs."""
    values: dict[Node, Array] = dict(zip(program.inputs, inputs, strict=True))
    evaluate(program.nodes, values)
    return [values[o] if type(o) is Node else o for o in program.outputs]


def evaluate(nodes: list[Node], values: dict[Node, Array]) -> None:
    """Add the values of some nodes, in order, to those that are known."""
    for node in nodes:
        args = [values[a] if type(a) is Node else a for a in node.args]
        op = node.op
        if op is PROJECT:
            values[node] = args[0][node.params["k"]]
        elif isinstance(op, Control):
            values[node] = op.run(*args, **node.params)
        else:
            values[node] = apply(op, *args, **node.params)
