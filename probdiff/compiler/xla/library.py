"""JAX, the only place that imports it: its modules, float64 for a while, and the error if it is not there."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from probdiff.errors import UnsupportedError

try:
    import jax
    import jax.numpy as jnp
    import jax.scipy as jsp
    from jax import lax
except ModuleNotFoundError:
    raise UnsupportedError("The JAX backend needs JAX 0.8 or later. Install it with: pip install jax") from None

__all__ = ["automatic", "canonical", "cast", "double", "jax", "jnp", "jsp", "lax", "no_tangent"]


def double() -> AbstractContextManager[Any]:
    """Within it, JAX computes in float64 in this thread; the user's own setting is not touched."""
    context: AbstractContextManager[Any] = jax.enable_x64(True)
    return context


def canonical(dtype: np.dtype) -> np.dtype:
    """The dtype that JAX has for one of NumPy's: itself, or its half where 64 bits are off."""
    found: np.dtype = np.dtype(jax.dtypes.canonicalize_dtype(dtype))
    return found


def cast(x: Any, dtype: np.dtype) -> Any:
    """x as an array of the dtype."""
    dtype = canonical(dtype)
    if getattr(x, "dtype", None) == dtype:
        return x
    with np.errstate(over="ignore"):  # a constant that float32 takes as infinite
        return jnp.asarray(x, dtype)


def no_tangent(shape: tuple[int, ...]) -> np.ndarray:
    """What JAX takes as the tangent of integers and booleans."""
    return np.zeros(shape, jax.dtypes.float0)


def automatic(mesh: Any) -> Any:
    """The same devices under the same names, with the sharding of results left to XLA."""
    return jax.sharding.Mesh(mesh.devices, mesh.axis_names)
