"""Identities that need no computation: x + 0, x * 1, a selection between equals, a product with a structural zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.graph.program import Node
from probdiff.ops.dispatch import Op


def _is(a: Any, value: float) -> bool:
    return not isinstance(a, Node | np.ndarray) and a == value


def _stands_for(node: Any, other: Any) -> bool:
    """True if `node` alone has the shape and dtype that combining it with the number `other` gives."""
    return (
        isinstance(node, Node)
        and node.dtype.kind == "f"
        and (type(other) in (int, float, bool) or other.dtype == node.dtype)
    )


def identity(op: Op, args: list[Any]) -> Any:
    """The argument or number that the operation equals, or None."""
    name = op.name
    if name == "multiply" or name == "times":
        x, y = args
        if _is(y, 1.0) and _stands_for(x, y):
            return x
        if _is(x, 1.0) and _stands_for(y, x):
            return y
        if name == "times" and (_is(x, 0.0) or _is(y, 0.0)):
            return 0.0
    elif name == "bitwise_and":
        x, y = args
        if isinstance(y, bool | np.bool_) and y and x.dtype.kind == "b":
            return x
        if isinstance(x, bool | np.bool_) and x and y.dtype.kind == "b":
            return y
    elif name == "add":
        x, y = args
        if _is(y, 0.0) and _stands_for(x, y):
            return x
        if _is(x, 0.0) and _stands_for(y, x):
            return y
    elif name == "subtract":
        x, y = args
        if _is(y, 0.0) and _stands_for(x, y):
            return x
    elif name == "divide":
        x, y = args
        if _is(y, 1.0) and _stands_for(x, y):
            return x
    elif name == "negative":
        (x,) = args
        if isinstance(x, Node) and x.op is not None and x.op.name == "negative":
            return x.args[0]
    elif name == "where":
        c, x, y = args
        if isinstance(c, bool | np.bool_):
            chosen, other = (x, y) if c else (y, x)
            if isinstance(chosen, Node) and getattr(other, "shape", ()) in ((), chosen.shape):
                return chosen
        if getattr(c, "shape", ()) == () and type(x) is type(y) is float and str(x) == str(y):
            return x
    return None
