"""Recordings that rules of derivatives are made of: their kinds, and their linear part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from probdiff.graph.program import Node, Program
from probdiff.graph.trace import capture
from probdiff.ops.dispatch import dtype_of, shape_of
from probdiff.tree import flatten


def recorded(f: Callable[..., Any], kinds: Sequence[Any]) -> Program:
    """f of leaves of these shapes and dtypes, which returns a list of numbers and arrays, as a program."""
    spec = flatten(tuple(0.0 for _ in kinds))[1]
    return capture(f, spec, list(kinds), list(range(len(kinds)))).program


def kinds_of(nodes: Sequence[Any]) -> list[Any]:
    """Shapes and dtypes."""
    return [(shape_of(n), dtype_of(n)) for n in nodes]


def moving(nodes: Sequence[Any]) -> list[int]:
    """Which of them have a tangent."""
    return [k for k, n in enumerate(nodes) if dtype_of(n).kind == "f"]


class Parts:
    """A program in two parts: what is linear in its last `count` inputs, and what that part needs of the others.

    dots      the last inputs
    linear    the nodes of the linear part
    depends   for each output, whether it is in the linear part
    partials  computed from the other inputs alone, and used by the linear part or as outputs
    """

    def __init__(self, program: Program, count: int) -> None:
        n = len(program.inputs) - count
        self.inputs, self.dots = program.inputs[:n], program.inputs[n:]
        self.outputs = program.outputs
        self.linear: list[Node] = []
        on = set(self.dots)
        for node in program.nodes:
            if any(a in on for a in node.args if isinstance(a, Node)):
                on.add(node)
                self.linear.append(node)
        self.depends = [isinstance(o, Node) and o in on for o in program.outputs]
        wanted = [*(a for node in self.linear for a in node.args), *program.outputs]
        fixed = {a: None for a in wanted if isinstance(a, Node) and a not in on and a.op is not None}
        self.partials = list(fixed)
