"""log, log1p, log2 and log10.

log(x) = k log 2 + log(1 + f),  1 + f = x / 2**k in [sqrt(1/2), sqrt(2)),
log(1 + f) = f - (f**2 / 2 - s (f**2 / 2 + p(s**2))),  s = f / (2 + f).

One division is faster here than the 12 further powers of f that do without.
"""

from __future__ import annotations

import numpy as np

from probdiff.compiler.native.vectormath.bits import (
    fast_two_sum,
    fma,
    from_bits,
    horner,
    polynomial,
    to_bits,
    two_product,
)
from probdiff.compiler.native.vectormath.coefficients import LOG, LOG_TAIL
from probdiff.tree import Array

LOG2 = 0.6931471805599453
LOG2_LOW = 2.3190468138462996e-17  # log(2) - LOG2
LOG2_SHORT = 0.6931471805598903  # log(2) to 42 bits: its products with exponents are exact
LOG2_REST = 5.497923018708371e-14  # log(2) - LOG2_SHORT
SMALLEST_NORMAL = 2.2250738585072014e-308
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
ONE_BITS = 0x3FF0000000000000
EXPONENT_MASK = 0x7FF0000000000000
INTEGER_BITS = 0x4330000000000000  # of 2.0**52, which holds an integer in its low bits
INTEGER = 4503599627370496.0
BIAS = 1023.0
TWO_THIRDS_LOW = 3.700743415417188e-17  # 2 / 3 in exact arithmetic, minus the float64 2 / 3


def exponent_and_fraction(x: Array, extra: Array) -> tuple[Array, Array, Array]:
    """(k, f, e) with x / 2**extra = 2**k (1 + f) for positive normal x; e has the bits of 2**(k + extra)."""
    shifted = to_bits(x) + (ONE_BITS - SQRT_HALF_BITS)
    e = np.bitwise_and(shifted, EXPONENT_MASK)
    k = from_bits(np.bitwise_or(np.right_shift(e, 52), INTEGER_BITS)) - (extra + (INTEGER + BIAS))
    return k, from_bits((shifted - e) + SQRT_HALF_BITS) - 1.0, e


def log_of_fraction(k: Array, f: Array) -> Array:
    """k log 2 + log(1 + f)."""
    s = f / (2.0 + f)
    z = s * s
    h = 0.5 * f * f
    c = fma(s, fma(z, polynomial(z, LOG), h), k * LOG2_LOW)
    return fma(k, LOG2, f - (h - c))


def specials(x: Array, y: Array) -> Array:
    """y, but what log gives where x is not positive and finite."""
    y = np.where(x < np.inf, y, x)
    return np.where(x > 0.0, y, np.where(x == 0.0, -np.inf, np.nan))


def rescue_subnormal(x: Array) -> tuple[Array, Array]:
    """(x * 2**extra, extra) with a normal product."""
    small = x < SMALLEST_NORMAL
    return np.where(small, x * 2.0**54, x), np.where(small, 54.0, 0.0)


def log(x: Array) -> Array:
    """log(x): -inf at zero, NaN below."""
    k, f, _ = exponent_and_fraction(*rescue_subnormal(x))
    return specials(x, log_of_fraction(k, f))


def log_of_sum(high: Array, low: Array, extra: Array = 0.0) -> Array:
    """log((high + low) / 2**extra) for |low| <= ulp(high) / 2 and high zero or normal."""
    k, f, e = exponent_and_fraction(high, extra)
    inverse = from_bits((2047 << 52) - e)  # 2**(1 - k); 2**-k would need a negative exponent for the largest numbers
    return specials(high, log_of_fraction(k, fma(0.5 * low, inverse, f)))


def log1p(x: Array) -> Array:
    """log(1 + x): -inf at -1, NaN below."""
    u = 1.0 + x
    low = x - (u - 1.0)  # exact for u < 2**53, and negligible beyond
    return np.where(x == 0.0, x, log_of_sum(u, low))


def log1p_of_unit(x: Array) -> Array:
    """log(1 + x) for 0 <= x <= 1, without looking at bits."""
    large = x > 0.41421356237309503
    return log_of_fraction(np.where(large, 1.0, 0.0), np.where(large, fma(0.5, x, -0.5), x))


def log_twice(x: Array) -> tuple[Array, Array]:
    """log(x) as a sum (high, low) with an error below 2**-65 |high|, for x >= 0."""
    k, f, _ = exponent_and_fraction(*rescue_subnormal(x))
    d = 2.0 + f
    r = 1.0 / d
    s = f * r
    s_low = r * fma(-s, f - (d - 2.0), fma(-s, d, f))
    z, z_low = two_product(s, s)
    z_low = fma(2.0 * s, s_low, z_low)
    # 2 s + s**3 (2/3 + z q(z)), the leading terms with their rounding errors
    w, w_low = fast_two_sum(2 / 3, fma(z, horner(z, LOG_TAIL), TWO_THIRDS_LOW))
    sz, sz_low = two_product(s, z)
    sz_low = sz_low + fma(s, z_low, s_low * z)
    t, t_low = two_product(sz, w)
    t_low = t_low + fma(sz, w_low, sz_low * w)
    a, a_low = fast_two_sum(k * LOG2_SHORT, 2.0 * s)
    b, b_low = fast_two_sum(a, t)
    high, low = fast_two_sum(b, (a_low + b_low) + (t_low + fma(k, LOG2_REST, 2.0 * s_low)))
    special = np.logical_not((x > 0.0) & (x < np.inf))
    return np.where(special, specials(x, high), high), np.where(special, 0.0, low)


def log2(x: Array) -> Array:
    """log(x) / log(2)."""
    high, low = log_twice(x)
    return scaled(high, low, 1.4426950408889634, 2.0355273740931033e-17)


def log10(x: Array) -> Array:
    """log(x) / log(10)."""
    high, low = log_twice(x)
    return scaled(high, low, 0.4342944819032518, 1.098319650216765e-17)


def scaled(high: Array, low: Array, c: float, c_low: float) -> Array:
    """(high + low) * (c + c_low)."""
    p = high * c
    y = p + fma(high, c, -p) + fma(low, c, high * c_low)
    return np.where(np.abs(p) < np.inf, y, p)
