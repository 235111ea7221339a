"""Rows of the table that have neither a name in JAX nor a formula: NumPy evaluates them on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.compiler.xla.library import jax, jnp, lax
from probdiff.ops.elementwise import Elementwise


def on_host(op: Elementwise) -> Callable[..., Any]:
    """The row by its own `evaluate`, wherever the program runs. Arguments are floats of one kind, and conditions."""

    def call(*args: Any) -> Any:
        xs = jnp.broadcast_arrays(*args)
        dtype = np.dtype(jnp.result_type(*xs))

        def evaluate(*words: Any) -> Any:
            numbers = [_numbers(np.asarray(w)) for w in words]
            with np.errstate(all="ignore"):
                return _words(np.asarray(op.evaluate(*numbers), dtype))

        words = [lax.bitcast_convert_type(x, jnp.uint32) if x.dtype == np.float64 else x for x in xs]
        kind = next(jax.ShapeDtypeStruct(w.shape, w.dtype) for w, x in zip(words, xs, strict=True) if x.dtype == dtype)
        found = jax.pure_callback(evaluate, kind, *words, vmap_method="expand_dims")
        return lax.bitcast_convert_type(found, dtype)

    return call


# JAX may call back in a thread where 64 bits are off, and would round float64 on the way: it travels as two words.
def _numbers(words: np.ndarray) -> np.ndarray:
    return words.view(np.float64)[..., 0] if words.dtype == np.uint32 else words


def _words(x: np.ndarray) -> np.ndarray:
    return x[..., None].view(np.uint32) if x.dtype == np.float64 else x
