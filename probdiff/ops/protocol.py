"""The rest of NumPy's protocol: ufunc methods and keywords, and how a function gets or lacks a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import (
    accumulations,
    apply,
    composed,
    dtype_of,
    functions,
    reductions,
    shape_of,
    ufuncs,
    user_line,
)
from probdiff.ops.elementwise import ASTYPE
from probdiff.tree import Array

_instead = {
    "modf": "np.floor and a difference",
    "frexp": "np.log2 and np.floor",
    "loggamma": "scipy.special.gammaln",
    "log_softmax": "probdiff.special.log_softmax",
    "median": "np.sort and an index",
    "percentile": "np.sort and an index",
    "quantile": "np.sort and an index",
    "interp": "np.searchsorted on plain data and np.take",
    "convolve": "np.einsum over shifted slices",
    "vectorize": "probdiff.broadcast",
    "put": "np.where",
    "copyto": "np.where",
    "fill_diagonal": "np.where(np.eye(n, dtype=bool), value, x)",
    "cross": "sums of products of x[..., i]",
    "kron": "np.einsum and np.reshape",
    "conjugate": "real numbers (complex ones are not supported)",
}


def unsupported_function(func: Any) -> NoReturn:
    """Refuse a NumPy function by name, with the nearest thing that works."""
    name = getattr(func, "__name__", str(func))
    module = getattr(func, "__module__", "numpy")
    near = f" Use {_instead[name]} instead." if name in _instead else ""
    if module.startswith("numpy.linalg"):
        near = " probdiff.linalg has the linear algebra that differentiates."
    if module.startswith("numpy.fft"):
        near = " Fourier transforms need complex numbers, which are not supported."
    raise UnsupportedError(f"{user_line()}: {module}.{name} has no derivative rule.{near}")


def call_ufunc(ufunc: Any, method: str, args: Any, kwargs: dict[str, Any]) -> Array:
    """A ufunc on lifted arrays: special functions on first use, methods, keywords."""
    name = ufunc.__name__
    if kwargs.pop("out", None) is not None:
        raise UnsupportedError(f"{user_line()}: np.{name}(out=…) writes into an array. Use the returned value instead.")
    if kwargs.pop("where", True) is not True:
        raise UnsupportedError(f"{user_line()}: np.{name}(where=…) leaves elements unset. Use np.where instead.")
    dtype = kwargs.pop("dtype", None)
    kwargs.pop("casting", None)
    if method == "__call__" and not kwargs:
        if ufunc not in ufuncs and ufunc not in composed:
            import probdiff.ops.special  # noqa: F401  (its rows join the table)
        if ufunc in ufuncs:
            z = apply(ufuncs[ufunc], *args)
        elif ufunc in composed:
            z = composed[ufunc](*args)
        else:
            near = f" Use {_instead[name]} instead." if name in _instead else ""
            raise UnsupportedError(f"{user_line()}: the function {name} has no derivative rule.{near}")
        return z if dtype is None else astype(z, dtype)
    if method == "reduce" and ufunc in reductions:
        axis = kwargs.pop("axis", args[1] if len(args) > 1 else 0)
        keepdims = kwargs.pop("keepdims", False)
        if not kwargs:
            return reductions[ufunc](args[0], axis=axis, keepdims=keepdims)
    if method == "accumulate" and ufunc in accumulations:
        axis = kwargs.pop("axis", args[1] if len(args) > 1 else 0)
        if not kwargs:
            return accumulations[ufunc](args[0], axis=axis)
    if method == "outer" and not kwargs:
        x, y = args
        return ufunc(np.reshape(x, shape_of(x) + (1,) * len(shape_of(y))), y)
    detail = f" with {', '.join(kwargs)}" if kwargs else ""
    raise UnsupportedError(f"{user_line()}: np.{name}.{method}{detail} has no derivative rule.")


def rule(*targets: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what a NumPy function does with lifted arrays."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        for target in targets:
            functions[target] = f
        return f

    return register


def refuse(name: str, **given: Any) -> None:
    """Keywords that have no meaning for recorded arrays are refused by name, never ignored."""
    for key, value in given.items():
        if value is not None and value is not np._NoValue:
            raise UnsupportedError(f"{user_line()}: np.{name}({key}=…) is not supported for traced arrays.")


def array(x: Any) -> Any:
    """A list or tuple that may hold lifted arrays as one array."""
    if isinstance(x, list | tuple):
        return np.stack([array(e) for e in x])
    return x


@rule("astype", np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """x in another dtype, as numpy.astype; complex numbers and objects are refused."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "fiub":
        raise UnsupportedError(f"{user_line()}: dtype {dtype} is not supported; use floats, integers or booleans.")
    return x if dtype_of(x) == dtype else apply(ASTYPE, x, dtype=dtype)
