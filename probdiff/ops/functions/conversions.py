"""NumPy's functions that make, copy, compare and describe arrays.

A function here is what NumPy's of its name does with lifted arrays, with the same arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import Lifted, dtype_of, is_lifted, shape_of, user_line
from probdiff.ops.protocol import refuse, rule
from probdiff.tree import Array


@rule(np.zeros_like)
def zeros_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **_: Any) -> Array:
    return np.zeros(a.shape if shape is None else shape, dtype or a.dtype)


@rule(np.ones_like)
def ones_like(a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **_: Any) -> Array:
    return np.ones(a.shape if shape is None else shape, dtype or a.dtype)


@rule(np.empty_like)
def empty_like(prototype: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None) -> Array:
    raise UnsupportedError(
        f"{user_line()}: np.empty_like makes an array to assign into, which loses derivatives.\n    "
        "Collect the pieces in a list and use np.stack, or use np.where."
    )


@rule(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None
) -> Array:
    return np.broadcast_to(
        np.asarray(fill_value, dtype or dtype_of(a)) if not is_lifted(fill_value) else fill_value,
        shape_of(a) if shape is None else shape,
    )


@rule(np.copy)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Array:
    return a


@rule(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Array:
    scale = 10.0**decimals
    return np.rint(a * scale) / scale if decimals else np.rint(a)


@rule(np.shape)
def shape(a: Lifted) -> tuple[int, ...]:
    return a.shape


@rule(np.ndim)
def ndim(a: Lifted) -> int:
    return a.ndim


@rule(np.size)
def size(a: Lifted, axis: int | None = None) -> int:
    return a.size if axis is None else a.shape[axis]


@rule(np.real)
def real(val: Any) -> Array:
    return val


@rule(np.imag)
def imag(val: Any) -> Array:
    return zeros_like(val)


@rule(np.isclose)
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | np.equal(a, b)
    return near | np.isnan(a) & np.isnan(b) if equal_nan else near


@rule(np.allclose)
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    return np.all(isclose(a, b, rtol, atol, equal_nan))


@rule(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    if shape_of(a1) != shape_of(a2):
        return False
    same = np.equal(a1, a2)
    return np.all(same | np.isnan(a1) & np.isnan(a2) if equal_nan else same)


@rule(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
    big = np.finfo(dtype_of(x)).max
    x = np.where(np.isnan(x), nan, x)
    x = np.where(x == np.inf, big if posinf is None else posinf, x)
    return np.where(x == -np.inf, -big if neginf is None else neginf, x)


@rule(np.sinc)
def sinc(x: Any) -> Array:
    """sin(pi x) / (pi x); near zero by its series, so that every derivative is right there."""
    t = np.pi * x
    t2 = t * t
    series = 1.0 - t2 / 6.0 * (1.0 - t2 / 20.0 * (1.0 - t2 / 42.0 * (1.0 - t2 / 72.0)))
    safe = np.where(np.abs(t) < 0.05, 1.0, t)
    return np.where(np.abs(t) < 0.05, series, np.sin(safe) / safe)


@rule(np.array_repr, np.array_str)
def array_repr(arr: Any, *args: Any, **kwargs: Any) -> str:
    return repr(arr)


@rule(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return False


@rule(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return True


@rule(np.result_type)
def result_type(*args: Any) -> np.dtype:
    return np.result_type(*(a.dtype if isinstance(a, Lifted) else a for a in args))


@rule(np.meshgrid)
def meshgrid(*xi: Any, indexing: str = "xy", **kwargs: Any) -> tuple[Array, ...]:
    refuse("meshgrid", **kwargs)
    n = len(xi)
    shapes = [tuple(-1 if k == i else 1 for k in range(n)) for i in range(n)]
    out = np.broadcast_arrays(*(np.reshape(x, s) for x, s in zip(xi, shapes, strict=True)))
    return tuple(np.swapaxes(o, 0, 1) for o in out) if indexing == "xy" and n > 1 else tuple(out)
