"""Our operations in programs that PyTensor compiles by JAX or by Numba."""

from __future__ import annotations

from functools import cache
from typing import Any
from weakref import WeakValueDictionary

from probdiff.interop.pytensor_op import Operation
from probdiff.interop.whole import Whole

# Numba copies what its code calls back, by pickling; a number and a function of a module are the same afterwards.
_nodes: WeakValueDictionary[int, Any] = WeakValueDictionary()


def performed(key: int, inputs: Any) -> Any:
    """The outputs of a node of a graph."""
    node = _nodes[key]
    storage: list[list[Any]] = [[None] for _ in node.outputs]
    node.op.perform(node, inputs, storage)
    found = tuple(y for (y,) in storage)
    return found[0] if len(found) == 1 else found


@cache
def register_jax() -> None:
    """Operations as functions of JAX: the same recordings, as XLA's code."""
    from pytensor.link.jax.dispatch import jax_funcify

    from probdiff.compiler.xla.library import jnp
    from probdiff.interop.jax_function import JaxFunction

    @jax_funcify.register(Operation)  # type: ignore[untyped-decorator]
    def convert(op: Operation, node: Any, **_: Any) -> Any:
        dtypes = [x.type.dtype for x in node.inputs]
        functions: dict[Whole, JaxFunction] = {}

        def run(*xs: Any) -> Any:
            xs = tuple(jnp.asarray(x, dtype) for x, dtype in zip(xs, dtypes, strict=True))
            whole = op.whole(tuple(x.shape for x in xs))
            if whole not in functions:
                functions[whole] = JaxFunction(whole.f)
            found = functions[whole](*xs)
            return found[0] if len(op.types) == 1 else tuple(found)

        return run


@cache
def register_numba() -> None:
    """Operations as calls from Numba's code back to Python."""
    import numba
    from pytensor.link.numba.dispatch import numba_funcify

    @numba_funcify.register(Operation)  # type: ignore[untyped-decorator]
    def convert(op: Operation, node: Any, **_: Any) -> Any:
        kinds = [numba.types.Array(numba.from_dtype(t.numpy_dtype), t.ndim, "C") for t in op.types]
        result = kinds[0] if len(kinds) == 1 else numba.types.Tuple(kinds)

        key = id(node)
        _nodes[key] = node

        @numba.njit  # type: ignore[untyped-decorator]
        def run(*inputs: Any) -> Any:
            with numba.objmode(found=result):
                found = performed(key, inputs)
            return found

        return run
