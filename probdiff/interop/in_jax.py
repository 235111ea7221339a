"""Our programs inside JAX's programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from probdiff.interop.jax_function import JaxFunction


def to_jax(f: Callable[..., Any], *, max_operations: int = 100_000) -> JaxFunction:
    """f, written in NumPy, as a function of JAX's arrays; see `JaxFunction`.

    max_operations  of one recording, as for `compile`
    """
    from probdiff.interop.jax_function import JaxFunction

    return JaxFunction(f, max_operations)
