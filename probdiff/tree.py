"""Structured values: numbers, arrays, tuples, dicts, dataclasses and distributions, as flat lists of leaves.

Built on optree. A dataclass becomes a node the first time one is met; `register` does it ahead of time and says which
fields are static. Rebuilding never runs a constructor, so parameters that are being traced are not checked again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from probdiff.errors import ShapeError

Array = Any  # a number, an ndarray, or a lifted array (Tracer, Variable, Dual)
Tree = Any  # a structure of such values
NAMESPACE = "probdiff"

_plain_leaves: set[type] = {np.ndarray, float, int, bool, str, np.float64, np.float32, np.int64}


def register(cls: type, fields: tuple[str, ...], static: tuple[str, ...] = ()) -> None:
    """Make instances of `cls` nodes whose children are `fields`; `static` attributes travel with the structure."""

    def split(instance: Any) -> tuple[list[Any], tuple[Any, ...], tuple[str, ...]]:
        return [getattr(instance, f) for f in fields], tuple(getattr(instance, s) for s in static), fields

    def rebuild(metadata: Any, children: Any) -> Any:
        instance: Any = object.__new__(cls)
        for name, value in zip(static, metadata, strict=True):
            object.__setattr__(instance, name, value)
        for name, value in zip(fields, children, strict=True):
            object.__setattr__(instance, name, value)
        return instance

    optree.register_pytree_node(cls, split, rebuild, namespace=NAMESPACE)


def flatten(tree: Tree) -> tuple[list[Any], Any]:
    """Leaves in order, and the structure that `unflatten` needs. None is structure, not a leaf."""
    leaves, spec = optree.tree_flatten(tree, namespace=NAMESPACE)
    for leaf in leaves:
        kind = type(leaf)
        if kind in _plain_leaves:
            continue
        if dataclasses.is_dataclass(kind) and not hasattr(kind, "__array_ufunc__"):
            register(kind, tuple(f.name for f in dataclasses.fields(kind)))
            return flatten(tree)
        _plain_leaves.add(kind)
    return leaves, spec


def unflatten(spec: Any, leaves: Sequence[Any]) -> Tree:
    """The structure again, with other leaves."""
    return optree.tree_unflatten(spec, leaves)


def map_leaves(f: Callable[..., Any], tree: Tree, *rest: Tree) -> Tree:
    """Apply `f` to each leaf (and the leaves at the same places of `rest`)."""
    leaves, spec = flatten(tree)
    others = [flatten(r)[0] for r in rest]
    return unflatten(spec, [f(*column) for column in zip(leaves, *others, strict=True)])


def paths(tree: Tree) -> list[str]:
    """How a person would write the way to each leaf: `.scale`, `['a'][0]`."""
    flatten(tree)
    return [a.codify("") for a in optree.tree_accessors(tree, namespace=NAMESPACE)]


def ravel(tree: Tree) -> tuple[np.ndarray, Callable[[np.ndarray], Tree]]:
    """One flat float vector of all leaves, and the way back. A vector of another length is refused."""
    leaves, spec = flatten(tree)
    shapes = [np.shape(leaf) for leaf in leaves]
    sizes = [int(np.prod(s, dtype=int)) for s in shapes]
    flat = np.concatenate([np.ravel(np.asarray(leaf)) for leaf in leaves]) if leaves else np.zeros(0)

    def back(vector: np.ndarray) -> Tree:
        if vector.shape != (sum(sizes),):
            raise ShapeError(f"unravel needs a vector of length {sum(sizes)}, got shape {vector.shape}")
        pieces, start = [], 0
        for shape, size in zip(shapes, sizes, strict=True):
            piece = vector[start : start + size]
            pieces.append(piece.reshape(shape) if shape else piece[0])
            start += size
        return unflatten(spec, pieces)

    return flat, back
