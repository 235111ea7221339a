"""Bit patterns of float64 and the fused multiply-add: what NumPy lacks to write elementary functions.

Each function is evaluated with NumPy on plain numbers, and recorded as one operation while a function is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from probdiff.tree import Array

ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to the nearest integer, which is left in the low bits
SPLIT = 134217729.0  # 2**27 + 1, Veltkamp's constant: halves of 26 bits whose products are exact


def evaluate_or_trace(name: str, *args: Array) -> Array:
    """Value of the operation `name`, or its record if an argument is traced: the seam to the table of operations."""
    if any(hasattr(x, "__array_ufunc__") and not isinstance(x, (np.ndarray, np.generic)) for x in args):
        from probdiff.ops.dispatch import apply
        from probdiff.ops.elementwise import rows

        return apply(rows[name], *args)
    return EVALUATE[name](*args)


def fma(x: Array, y: Array, z: Array) -> Array:
    """x * y + z with one rounding."""
    return evaluate_or_trace("fma", x, y, z)


def to_bits(x: Array) -> Array:
    """The int64 that has the bits of the float64 `x`."""
    return evaluate_or_trace("to_bits", x)


def from_bits(i: Array) -> Array:
    """The float64 that has the bits of the int64 `i`."""
    return evaluate_or_trace("from_bits", i)


def to_int(x: Array) -> Array:
    """The float64 `x` as int64; exact for integral |x| < 2**63."""
    return evaluate_or_trace("to_int", x)


def to_float(i: Array) -> Array:
    """The int64 `i` as float64."""
    return evaluate_or_trace("to_float", i)


def horner(x: Array, coefficients: Sequence[float]) -> Array:
    """sum_i coefficients[i] * x**i, lowest power first."""
    y: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        y = fma(y, x, c)
    return y


def polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """`horner` as two independent chains in x * x: half the latency for one more operation."""
    square = x * x
    return fma(x, horner(square, coefficients[1::2]), horner(square, coefficients[0::2]))


def two_product(x: Array, y: Array) -> tuple[Array, Array]:
    """(p, e) with p = round(x * y) and p + e = x * y exactly."""
    p = x * y
    return p, fma(x, y, -p)


def two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """(s, e) with s = round(x + y) and s + e = x + y exactly (Knuth)."""
    s = x + y
    t = s - x
    return s, (x - (s - t)) + (y - t)


def fast_two_sum(x: Array, y: Array) -> tuple[Array, Array]:
    """`two_sum` for |x| >= |y| (Dekker)."""
    s = x + y
    return s, y - (s - x)


def split(x: Array) -> tuple[Array, Array]:
    """x as the sum of two numbers of 26 bits each (Veltkamp)."""
    c = SPLIT * x
    high = c - (c - x)
    return high, x - high


def evaluate_fma(x: Array, y: Array, z: Array) -> Array:
    """The product exactly (Dekker), then both parts added: 0.5 ULP but for ties that the small part should break."""
    x, y, z = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (x, y, z)))
    with np.errstate(all="ignore"):
        p = x * y
        (xh, xl), (yh, yl) = split(x), split(y)
        e = ((xh * yh - p) + xh * yl + xl * yh) + xl * yl
        s, t = two_sum(p, z)
        result = s + (t + e)
        return np.where(np.isfinite(result) & (result != 0.0), result, p + z)[()]  # inf, NaN and the sign of a zero


EVALUATE: dict[str, Callable[..., Any]] = {
    "fma": evaluate_fma,
    "to_bits": lambda x: np.asarray(x, dtype=np.float64).view(np.int64)[()],
    "from_bits": lambda i: np.asarray(i, dtype=np.int64).view(np.float64)[()],
    "to_int": lambda x: np.asarray(x).astype(np.int64)[()],
    "to_float": lambda i: np.asarray(i).astype(np.float64)[()],
}
