"""What a compiled function takes: numbers and arrays as inputs, anything else as part of the program."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.errors import UnsupportedError
from probdiff.tree import paths, unflatten

_rules = {
    "c": "complex numbers are not supported. Keep real and imaginary parts apart.",
    "O": "arrays of objects are not supported. Use a float array, or a tuple of arrays.",
    "U": "text is not a number. Pass a single str, which is part of the program, or integer codes.",
    "S": "text is not a number. Pass a single bytes, which is part of the program, or integer codes.",
    "f": "extended precision has no machine code. Use float64: x.astype(float).",
}


def described(f: Callable[..., Any], leaves: list[Any], spec: Any) -> tuple[list[Any], list[int]]:
    """Shape and dtype in place of each input among the leaves, and which leaves are inputs."""
    kinds, traced = list(leaves), []
    for k, x in enumerate(leaves):
        if isinstance(x, float | int | complex | np.ndarray | np.generic) and not isinstance(x, bool):
            array = np.asarray(x)
            if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
                rule = _rules.get(array.dtype.kind, "use floats, integers or booleans.")
                what = "an array of " if array.ndim else ""
                raise UnsupportedError(f"compile: {leaf_names(f, spec)[k]} is {what}{array.dtype}; {rule}")
            kinds[k] = (array.shape, array.dtype)
            traced.append(k)
    return kinds, traced


def leaf_names(f: Callable[..., Any], spec: Any) -> list[str]:
    """How a person would write each leaf: `x`, `params['scale']`."""
    names, out = parameters(f), []
    for path in paths(unflatten(spec, [0.0] * spec.num_leaves)):
        first, rest = path[1:].split("]", 1)
        position = int(first)
        out.append((names[position] if position < len(names) else f"argument {position}") + rest)
    return out


def parameters(f: Callable[..., Any]) -> list[str]:
    """Names of the positional parameters; none if f hides them."""
    try:
        found = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def takes_any_number(f: Callable[..., Any]) -> bool:
    """Whether f has *args, or hides how many arguments it takes."""
    try:
        found = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(p.kind == p.VAR_POSITIONAL for p in found)
