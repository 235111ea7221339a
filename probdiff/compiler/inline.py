"""Calls of functions with their own rules, written out: rules do not matter once nothing is differentiated any more."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.graph.program import Node, Program
from probdiff.graph.trace import Graph, Tracer, sweep
from probdiff.ops.control import CALL, PROJECT, Control
from probdiff.ops.dispatch import apply


def inlined(program: Program) -> Program:
    """The same program without calls, in its bodies as well."""
    if not _calls(program):
        return program
    graph = Graph()
    inputs = [graph.input(n.shape, n.dtype) for n in program.inputs]
    outputs = _run(program, inputs)
    return Program([x.node for x in inputs], [o.node if isinstance(o, Tracer) else np.asarray(o) for o in outputs])


def _calls(program: Program) -> bool:
    return any(
        n.op is CALL or any(_calls(p) for p in n.params.values() if isinstance(p, Program)) for n in program.nodes
    )


def _run(program: Program, inputs: list[Any]) -> list[Any]:
    values: dict[Node, Any] = dict(zip(program.inputs, inputs, strict=True))
    for node in program.nodes:
        args = [values[a] if isinstance(a, Node) else a for a in node.args]
        sweep.now = node.sweep
        if node.op is CALL:
            values[node] = _run(node.params["body"], args)
        elif node.op is PROJECT:
            values[node] = args[0][node.params["k"]]
        elif isinstance(node.op, Control):
            params = {k: inlined(p) if isinstance(p, Program) else p for k, p in node.params.items()}
            values[node] = node.op.run(*args, **params)
        else:
            values[node] = apply(node.op, *args, **node.params)
    sweep.now = ""
    return [values[o] if isinstance(o, Node) else o for o in program.outputs]
