"""Arrays of other frameworks: which framework a value belongs to, told by its type alone, so that none is imported."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import Lifted

# Where the module that joins our functions to a framework lives, and the classes of the framework's arrays.
JOINED = {
    "jax": "probdiff.interop.in_jax",
    "torch": "probdiff.interop.torch_node",
    "autograd": "probdiff.interop.autograd_node",
}
_arrays = {
    ("torch", "Tensor"): "torch",
    ("autograd", "Box"): "autograd",
    ("jax", "Tracer"): "jax",
    ("jax", "Array"): "jax",
    ("jaxlib", "ArrayImpl"): "jax",
}


class Recordings(dict[Any, Any]):
    """What was recorded of a function for the arrays of other frameworks; its copies start empty."""

    def __reduce__(self) -> Any:
        return Recordings, ()


_known: dict[type, str | None] = {}  # of types that were met


def _framework(kind: type) -> str | None:
    found = None
    for each in kind.__mro__:
        found = found or _arrays.get((each.__module__.partition(".")[0], each.__name__))
    _known[kind] = found
    return found


def framework_of(x: Any) -> str | None:
    """The framework of an array: "jax", "torch", "autograd", or None for anything else."""
    kind = type(x)
    return _known[kind] if kind in _known else _framework(kind)


def framework_among(leaves: Sequence[Any]) -> str | None:
    """The framework whose arrays are among the leaves, or None. Arrays of two, and beside our own, are refused."""
    found: str | None = None
    for x in leaves:
        name = framework_of(x)
        if name is not None and name != found:
            if found is not None:
                raise UnsupportedError(f"a call has arrays of {found} and of {name}. Convert them to one of the two.")
            found = name
    if found is not None and any(isinstance(x, Lifted) for x in leaves):
        raise UnsupportedError(
            f"a call has arrays of {found} and values that probdiff differentiates or records. Pass plain NumPy arrays."
        )
    return found


def call_in(framework: str, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """f(*args, **kwargs) as one operation of the framework, differentiated by our rules."""
    return import_module(JOINED[framework]).call(f, args, kwargs)
