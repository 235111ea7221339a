"""A NumPy program as an ordinary function of JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.compiler.arguments import described
from probdiff.compiler.compiled import KEPT
from probdiff.compiler.xla.library import jax, jnp
from probdiff.errors import ParameterError
from probdiff.graph.closure import snapshot, unchanged
from probdiff.graph.trace import Capture, capture
from probdiff.interop.jax_derivative import function_of
from probdiff.ops.dispatch import Lifted
from probdiff.tree import Tree, flatten, unflatten


class JaxFunction:
    """f on JAX's arrays: for `jax.jit`, `grad`, `jvp`, `vmap`, sharding, and other functions of JAX around it.

    Derivatives are ours: reverse mode with `fwddiff` as the seam, so that what f wraps in it may hold a `while_loop`
    and stores nothing but its partials. f is recorded once for the shapes and dtypes it is called with; arrays that it
    closes over become constants. Precision is that of the arguments and of JAX's `jax_enable_x64`.
    """

    def __init__(self, f: Callable[..., Any], max_operations: int = 100_000) -> None:
        functools.update_wrapper(self, f, updated=())
        self.f = f
        self.max_operations = max_operations
        self._entries: dict[Any, tuple[Any, Capture, Any]] = {}

    def __fingerprint__(self) -> tuple[Any, ...]:
        return (self.f,)

    def __call__(self, *args: Tree) -> Tree:
        leaves, spec = flatten(args)
        if any(isinstance(x, Lifted) for x in leaves):
            return self.f(*args)
        given = [jnp.asarray(x) if _is_number(x) else x for x in leaves]
        places = [k for k, x in enumerate(leaves) if _is_number(x)]
        kinds = tuple((x.shape, np.dtype(x.dtype)) if k in places else (type(x), x) for k, x in enumerate(given))
        entry = self._entries.get((spec, kinds))
        if entry is None or not unchanged(entry[0]):
            entry = self._entries[spec, kinds] = self._record(given, spec, places)
            while len(self._entries) > KEPT:
                self._entries.pop(next(iter(self._entries)))
        _, found, function = entry
        return found.rebuild(function(*(given[k] for k in places)))

    def _record(self, given: list[Any], spec: Any, places: list[int]) -> tuple[Any, Capture, Any]:
        like = [np.broadcast_to(np.zeros((), x.dtype), x.shape) if k in places else x for k, x in enumerate(given)]
        kinds, _ = described(self.f, like, spec)
        found = capture(self.f, spec, kinds, places, self.max_operations)
        if found.lifted:
            raise ParameterError(
                "to_jax cannot close over a value that is being differentiated; pass it as an argument"
            )

        def flat(*xs: Any) -> list[Any]:
            full = list(like)
            for k, x in zip(places, xs, strict=True):
                full[k] = x
            out = flatten(self.f(*unflatten(spec, full)))[0]
            return [y for k, y in enumerate(out) if k not in found.statics]

        return snapshot(self.f), found, function_of(flat, found.program)


def _is_number(x: Any) -> bool:
    kinds = (float, int, np.ndarray, np.generic, jax.Array)
    return isinstance(x, kinds) and not isinstance(x, bool)
