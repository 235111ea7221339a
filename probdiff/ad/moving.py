"""Which results of a recorded program have a tangent, given which of its inputs have one.

Read off the program, so that a loop need not be pushed forward once only to see it. A result that is said to move may
turn out to have no tangent (a function with rules of its own may drop it), never the other way round.
"""

from __future__ import annotations

from typing import Any

from probdiff.graph.program import Node, Program
from probdiff.ops.control import COND, PROJECT, SCAN, WHILE, Control


def moving(program: Program, inputs: list[bool]) -> list[bool]:
    """Which outputs move with those inputs."""
    on: dict[Node, Any] = dict(zip(program.inputs, inputs, strict=True))
    for node in program.nodes:
        if node.op is PROJECT:
            on[node] = on[node.args[0]][node.params["k"]]
            continue
        given = [isinstance(a, Node) and on[a] for a in node.args]
        if isinstance(node.op, Control):
            on[node] = _results(node, given)
        else:
            on[node] = node.dtype.kind == "f" and any(g and i in node.op.smooth for i, g in enumerate(given))
    return [isinstance(o, Node) and on[o] for o in program.outputs]


def carried(body: Program, start: list[bool], rest: list[bool]) -> list[bool]:
    """Which carries of a loop move once it has been round often enough; `rest` are the body's other inputs."""
    while True:  # ends: nothing stops moving
        then = [a or b for a, b in zip(start, moving(body, [*start, *rest]), strict=False)]
        if then == start:
            return start
        start = then


def _results(node: Node, given: list[bool]) -> list[bool]:
    """Which results of a control operation move with those operands."""
    params, kinds = node.params, node.op.outputs(node.args, node.params)
    if node.op is COND:
        branches = (moving(params[name], given[1:]) for name in ("true", "false"))
        found = [a or b for a, b in zip(*branches, strict=True)]
    elif node.op is SCAN or node.op is WHILE:
        k = params["carry"]
        rest = given[k:] if node.op is SCAN else given[k + params["cond_consts"] :]
        found = carried(params["body"], given[:k], rest)
        if node.op is SCAN:
            found = found + moving(params["body"], [*found, *rest])[k:]
    else:
        found = [any(given)] * len(kinds)
    return [on and dtype.kind == "f" for on, (_, dtype) in zip(found, kinds, strict=True)]
