"""Arguments as variables of a tape, and cotangents in the structure, shape and dtype of what they belong to."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from probdiff.ad.reverse import Tape, Variable
from probdiff.ad.thunk import unthunk_tree
from probdiff.errors import DifferentiationError, ShapeError, UnsupportedError
from probdiff.ops.dispatch import dtype_of, is_float, is_lifted, shape_of
from probdiff.tree import Array, Tree, flatten, unflatten


def lift(tape: Tape, arg: Tree) -> tuple[Tree, Any]:
    """The argument with variables for its floating-point leaves, and what `collect` needs to read them back."""
    kind = type(arg)
    if kind is np.ndarray and arg.dtype.kind == "f":
        x = tape.variable(arg)
        return x, (x, None, arg)
    leaves, spec = flatten(arg)
    variables = [tape.variable(strong(x)) if is_float(x) else without_tangent(x) for x in leaves]
    return unflatten(spec, variables), (variables, spec, leaves)


def strong(x: Any) -> Any:
    """A Python float as NumPy's, which divides by zero and overflows like an array."""
    return np.float64(x) if type(x) is float else x


def without_tangent(x: Any) -> Any:
    """A leaf that is not differentiated; complex numbers and objects are refused."""
    if getattr(getattr(x, "dtype", None), "kind", "") == "c" or isinstance(x, complex):
        raise UnsupportedError("complex numbers are not supported. Keep real and imaginary parts apart.")
    if getattr(getattr(x, "dtype", None), "kind", "") == "O":
        raise UnsupportedError("arrays of objects are not supported. Use a float array, or a tuple of arrays.")
    return x


def collect(plan: Any) -> Tree:
    """The cotangents of one lifted argument, in its structure; None for leaves without a tangent."""
    variables, spec, values = plan
    if spec is None:
        return project(variables.x_bar, values)
    return unflatten(
        spec, [project(v.x_bar, x) if type(v) is Variable else None for v, x in zip(variables, values, strict=True)]
    )


def drop(x: Any, tape: Tape) -> Any:
    """The value of a variable of this tape; anything else as it is."""
    return x.value if type(x) is Variable and x.tape is tape else x


def project(x_bar: Array, x: Array) -> Array:
    """A cotangent in the shape, dtype and kind of the value that it belongs to."""
    if type(x_bar) is np.ndarray and type(x) is np.ndarray and x_bar.shape == x.shape and x_bar.dtype == x.dtype:
        return x_bar
    if x_bar is None:
        return 0.0 if type(x) is float else np.zeros(shape_of(x), dtype_of(x))[()]
    shape, dtype = shape_of(x), dtype_of(x)
    if shape_of(x_bar) != shape:
        x_bar = np.broadcast_to(x_bar, shape)
        x_bar = x_bar if is_lifted(x_bar) else x_bar.copy()
    if is_lifted(x_bar):
        return x_bar if x_bar.dtype == dtype else x_bar.astype(dtype)
    if type(x) is float:
        return float(x_bar)
    return np.asarray(x_bar, dtype)[()] if not shape else np.asarray(x_bar, dtype)


def cotangents(y_bar: Tree, spec: Any, leaves: list[Any]) -> list[Any]:
    """The leaves of a cotangent for a result of structure `spec`; shapes are checked, None is zero."""
    y_bar = unthunk_tree(y_bar)
    if y_bar is None:
        return [None] * len(leaves)
    given = match(spec, y_bar, len(leaves))
    out: list[Any] = []
    for g, y in zip(given, leaves, strict=True):
        if g is None or not is_float(y):
            out.append(None)
            continue
        if type(g) is complex or getattr(getattr(g, "dtype", None), "kind", "") == "c":
            g = np.real(g)
        if shape_of(g) != shape_of(y) and shape_of(g) != ():
            if int(np.prod(shape_of(g))) != int(np.prod(shape_of(y))):
                raise ShapeError(f"the cotangent has shape {shape_of(g)}, the result {shape_of(y)}")
            g = np.reshape(g, shape_of(y))
        wanted = dtype_of(y)
        out.append(g if type(g) is float or dtype_of(g) == wanted else np.asarray(g, wanted) if not is_lifted(g) else g)
    return out


def match(spec: Any, tree: Tree, n: int) -> list[Any]:
    """Leaves of `tree` in the order of `spec`; a key that a dict lacks, or None, stands for zeros."""
    if n == 1 and not isinstance(tree, tuple | list | dict):
        leaves = flatten(tree)[0]
        if len(leaves) == 1:
            return leaves
    children = spec.children()
    if not children:
        return [tree] if spec.num_leaves else []
    if isinstance(tree, dict):
        keys = spec.entries()
        unknown = set(tree) - set(keys)
        if unknown:
            raise ShapeError(f"the cotangent has keys {sorted(unknown)} that the result has not")
        parts = [tree.get(k) for k in keys]
    elif isinstance(tree, tuple | list):
        parts = list(tree)
    else:
        from optree import tree_flatten_one_level

        parts = list(tree_flatten_one_level(tree, namespace="probdiff")[0])
    if len(parts) != len(children):
        raise ShapeError(f"the cotangent has {len(parts)} entries, the result {len(children)}")
    out: list[Any] = []
    for child, part in zip(children, parts, strict=True):
        out.extend([None] * child.num_leaves if part is None else match(child, part, child.num_leaves))
    return out


@lru_cache(maxsize=1024)
def numbered(argnums: int | tuple[int, ...], n: int) -> tuple[int, ...]:
    """Argument numbers as a tuple, negative ones counted from the end."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for k in numbers:
        if not -n <= k < n:
            raise DifferentiationError(f"argnums {k} is out of range for a call with {n} positional arguments")
    return tuple(k % n for k in numbers)
