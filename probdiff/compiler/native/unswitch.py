"""Conditions that are the same in all rows: a loop for each outcome, without what the other outcome needs.

A log-density with a form for small and one for large shapes computes both and selects; with one shape for all data,
the selection is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

import llvmlite.ir as ir
import numpy as np

from probdiff.compiler.native.instructions import SHORT
from probdiff.compiler.native.vectormath import decompositions
from probdiff.graph.program import Node

__all__ = ["chosen", "outcomes", "worth_deciding"]

CONDITIONS = 2  # that are decided ahead of a loop, at most: each doubles the code
SPARED = 8  # operations that one outcome must spare
FUNCTION = 10  # operations that a function in plain arithmetic stands for
LONG = {*decompositions, *SHORT}


def chosen(node: Node, known: Mapping[Node, bool]) -> list[Any]:
    """The operand that a selection with a known condition is, in a list of one; an empty list for other nodes."""
    if not known or node.op is None or node.op.name != "where":
        return []
    condition, yes, no = node.args
    if not isinstance(condition, Node) or condition not in known:
        return []
    return [yes if known[condition] else no]


def worth_deciding(nodes: Collection[Node], roots: Collection[Any], fixed: Callable[[Node], bool]) -> list[Node]:
    """The conditions of selections among `nodes`, `fixed` in all rows, that spare the `roots` most operations."""
    selections = [n for n in nodes if n.op is not None and n.op.name == "where"]
    conditions = dict.fromkeys(c for n in selections if isinstance(c := n.args[0], Node) and fixed(c))
    members = dict.fromkeys(nodes)
    every = cost(_needed(roots, members, {})) if conditions else 0
    spared = {c: every - min(cost(_needed(roots, members, {c: side})) for side in (True, False)) for c in conditions}
    found = [c for c in conditions if spared[c] >= SPARED]
    return sorted(found, key=lambda c: -spared[c])[:CONDITIONS]


def cost(nodes: Iterable[Node]) -> int:
    """Their operations, functions counted as many."""
    return sum(1 if n.op is None or n.op.name not in LONG else FUNCTION for n in nodes)


def _needed(roots: Iterable[Any], members: Mapping[Node, None], known: Mapping[Node, bool]) -> set[Node]:
    """The members that the roots are computed from; not what only a cotangent of zero is multiplied with."""
    zeros: set[Any] = set()
    for node in members:
        if _is_zero(node, zeros, known):
            zeros.add(node)
    needed: set[Node] = set()
    left = [r for r in roots if isinstance(r, Node) and r in members]
    while left:
        node = left.pop()
        if node not in needed and node not in zeros:
            needed.add(node)
            left += [a for a in chosen(node, known) or node.args if isinstance(a, Node) and a in members]
    return needed


def _is_zero(node: Node, zeros: set[Any], known: Mapping[Node, bool]) -> bool:
    """Whether LLVM finds out that a node is zero, given the members before it that are."""

    def zero(a: Any) -> bool:
        return a in zeros if isinstance(a, Node) else isinstance(a, (int, float)) and a == 0

    name = node.op.name if node.op is not None else ""
    if name == "where":
        return all(map(zero, chosen(node, known) or node.args[1:]))
    if name == "times":
        return any(map(zero, node.args))
    if name == "multiply":
        return any(map(zero, node.args)) and all(zero(a) or not isinstance(a, Node | np.ndarray) for a in node.args)
    return name in ("add", "subtract", "negative") and all(map(zero, node.args))


def outcomes(
    b: ir.IRBuilder, conditions: list[Node], values: Mapping[Node, Any], known: dict[Node, bool]
) -> Iterator[None]:
    """Place the builder where the conditions have each of their outcomes, which are in `known` meanwhile."""
    if not conditions:
        yield
        return
    first, *rest = conditions
    with b.if_else(values[first]) as sides:
        for outcome, side in zip((True, False), sides, strict=True):
            with side:
                known[first] = outcome
                yield from outcomes(b, rest, values, known)
    del known[first]
