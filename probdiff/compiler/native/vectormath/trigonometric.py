"""Trigonometric functions and their inverses.

x = n pi / 2 + r with pi / 2 to three float64 and every rounding error of the first two terms kept, so that r has full
relative precision even next to a zero. Beyond `LIMIT` the reduction would need hundreds of bits of pi: the result there
is NaN rather than a number without a correct digit.
"""

from __future__ import annotations

import numpy as np

from probdiff.compiler.native.vectormath.bits import ROUND, fma, horner, polynomial, to_bits, two_product, two_sum
from probdiff.compiler.native.vectormath.coefficients import ARCSIN, ARCTAN, COS, SIN
from probdiff.tree import Array

LIMIT = 2.0**45
HALF_PI = 1.5707963267948966
HALF_PI_LOW = 6.123233995736766e-17
HALF_PI_LOWEST = -1.4973849048591833e-33
TAN_EIGHTH = 0.41421356237309503  # tan(pi / 8)


def reduce(x: Array) -> tuple[Array, Array, Array]:
    """(quadrant, r, r_low) with x = quadrant pi / 2 + r + r_low up to multiples of 2 pi and |r| below 1.01 pi / 4."""
    x = np.where(np.abs(x) < LIMIT, x, np.nan)
    t = fma(x, 1 / HALF_PI, ROUND)
    n = t - ROUND
    high = fma(n, -HALF_PI, x)  # exact
    p, p_low = two_product(n, HALF_PI_LOW)
    r, r_low = two_sum(high, -p)
    return np.bitwise_and(to_bits(t), 3), r, r_low - fma(n, HALF_PI_LOWEST, p_low)


def sin_cos(r: Array, r_low: Array) -> tuple[Array, Array]:
    """sin(r + r_low) and cos(r + r_low) for |r| < 0.8."""
    w = r * r
    sine = r + fma(w * r, horner(w, SIN), fma(-0.5 * w, r_low, r_low))
    half = 0.5 * w
    rough = 1.0 - half
    cosine = rough + (((1.0 - rough) - half) + fma(w * w, horner(w, COS), -r * r_low))
    return sine, cosine


def negated_where(condition: Array, x: Array) -> Array:
    """-x where the condition holds, else x."""
    return np.where(condition, -x, x)


def sin(x: Array) -> Array:
    """sin(x) for |x| < 2**45, NaN beyond."""
    quadrant, r, r_low = reduce(x)
    sine, cosine = sin_cos(r, r_low)
    y = np.where(np.bitwise_and(quadrant, 1) == 0, sine, cosine)
    return np.where(x == 0.0, x, negated_where(quadrant >= 2, y))


def cos(x: Array) -> Array:
    """cos(x) for |x| < 2**45, NaN beyond."""
    quadrant, r, r_low = reduce(x)
    sine, cosine = sin_cos(r, r_low)
    y = np.where(np.bitwise_and(quadrant, 1) == 0, cosine, sine)
    return negated_where((quadrant == 1) | (quadrant == 2), y)


def tan(x: Array) -> Array:
    """tan(x) for |x| < 2**45, NaN beyond."""
    quadrant, r, r_low = reduce(x)
    sine, cosine = sin_cos(r, r_low)
    even = np.bitwise_and(quadrant, 1) == 0
    return np.where(x == 0.0, x, np.where(even, sine, -cosine) / np.where(even, cosine, sine))


def arctan(x: Array) -> Array:
    """arctan(x)."""
    return np.copysign(angle(np.abs(x), 1.0), x)


def arctan2(y: Array, x: Array) -> Array:
    """The angle of the point (x, y), with the special cases of C99's atan2."""
    a, b = np.abs(y), np.abs(x)
    infinite = (a == np.inf) & (b == np.inf)
    scale = np.where((a > 1e300) | (b > 1e300), 0.25, np.where((a < 1e-290) & (b < 1e-290), 2.0**64, 1.0))
    a = np.where(infinite, 1.0, a * scale)
    b = np.where(infinite, 1.0, b * scale)
    r = np.where(a == 0.0, np.where(np.isnan(b), b, 0.0), angle(a, b))
    left = np.copysign(1.0, x) < 0.0
    return np.copysign(np.where(left, 2 * HALF_PI - (r - 2 * HALF_PI_LOW), r), y)


def angle(a: Array, b: Array) -> Array:
    """arctan(a / b) for a, b >= 0: that of a / b, pi / 4 + that of (a - b) / (a + b), or pi / 2 - that of b / a."""
    low, high = a < TAN_EIGHTH * b, TAN_EIGHTH * a > b
    t = np.where(low, a, np.where(high, -b, a - b)) / np.where(low, b, np.where(high, a, a + b))
    w = t * t
    base = np.where(low, 0.0, np.where(high, HALF_PI, 0.5 * HALF_PI))
    base_low = np.where(low, 0.0, np.where(high, HALF_PI_LOW, 0.5 * HALF_PI_LOW))
    return base + (t + fma(w * t, polynomial(w, ARCTAN), base_low))


def half_arcsine(x: Array) -> tuple[Array, Array, Array]:
    """(small, s, p) with arcsin(s) = s + p,  s = |x| if small, and sqrt((1 - |x|) / 2) otherwise."""
    a = np.abs(x)
    small = a <= 0.5
    w = np.where(small, a * a, fma(-0.5, a, 0.5))
    s = np.where(small, a, np.sqrt(w))
    return small, s, s * w * polynomial(w, ARCSIN)


def arcsin(x: Array) -> Array:
    """arcsin(|x|) = pi / 2 - 2 arcsin(sqrt((1 - |x|) / 2)) above 1/2; NaN beyond 1."""
    small, s, p = half_arcsine(x)
    return np.copysign(np.where(small, s + p, (HALF_PI - 2.0 * s) - (2.0 * p - HALF_PI_LOW)), x)


def arccos(x: Array) -> Array:
    """arccos(x) = pi / 2 - arcsin(x); 2 arcsin(sqrt((1 - x) / 2)) above 1/2; NaN beyond 1."""
    small, s, p = half_arcsine(x)
    signed = np.copysign(s, x)
    inner = HALF_PI - (signed - (HALF_PI_LOW - np.copysign(p, x)))
    y = 2.0 * (s + p)
    return np.where(small, inner, np.where(x < 0.0, 2 * HALF_PI - (y - 2 * HALF_PI_LOW), y))
