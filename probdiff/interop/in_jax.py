"""Our programs inside JAX's programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from probdiff.interop.entries import entries_of, without_refs
from probdiff.tree import Tree

if TYPE_CHECKING:
    from probdiff.interop.jax_function import JaxFunction
    from probdiff.interop.sharded_model import ShardedModel


def to_jax(f: Callable[..., Any], *, max_operations: int = 100_000) -> JaxFunction:
    """f, written in NumPy, as a function of JAX's arrays; see `JaxFunction`.

    max_operations  of one recording, as for `compile`
    """
    from probdiff.interop.jax_function import JaxFunction

    return JaxFunction(f, max_operations)


def sharded(posterior: Any, mesh: Any = None, *, dtype: Any = np.float64) -> ShardedModel:
    """`posterior` with its data on the devices of `mesh`, rows over its axis "data"; see `ShardedModel`.

    mesh   a `jax.sharding.Mesh`, such as `jax.make_mesh((8,), ("data",))`; None: JAX's first device
    dtype  float64, or float32: arrays are in single precision, sums of them and single numbers in double

    Rows are along the first axis of the observed data; where a model holds its data itself, along the longest first
    axis of the arrays that its density reads. Arrays with that many rows are spread, others are on every device.
    Where several processes hold the devices, the model of each is that of its own rows, as many in each: their
    log-likelihoods add up, and the prior counts once.

    ShapeError if rows do not divide evenly; DataError if the models of the processes differ in more than their rows.
    """
    from probdiff.interop.sharded_model import ShardedModel

    return ShardedModel(posterior, mesh, dtype)


def call(f: Any, args: tuple[Tree, ...], kwargs: dict[str, Any]) -> Tree:
    """f(*args, **kwargs), some of the leaves being arrays of JAX; so are all numbers and arrays of the result."""
    from probdiff.interop.jax_function import JaxFunction

    entries = entries_of(f)
    f, args, held = without_refs(f, args)
    known: Any = entries.get(held)
    if known is None:
        known = entries[held] = JaxFunction(lambda args, kwargs: f(*args, **kwargs))
    return known(args, kwargs)
