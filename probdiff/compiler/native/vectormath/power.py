"""Powers and the cube root.

|x|**y = exp(y log|x|), with the logarithm and the product to twice the precision of a float64: the product's rounding
error alone would cost up to 350 ULP, since exp turns an absolute error of its argument into a relative one.
"""

from __future__ import annotations

import numpy as np

from probdiff.compiler.native.vectormath.bits import ROUND, fma, from_bits, polynomial, to_bits, two_product
from probdiff.compiler.native.vectormath.coefficients import CBRT
from probdiff.compiler.native.vectormath.exponential import BIAS, exp_of_sum
from probdiff.compiler.native.vectormath.logarithm import exponent_and_fraction, log_twice, rescue_subnormal
from probdiff.tree import Array


def power(x: Array, y: Array) -> Array:
    """x**y with the special cases of C99's pow; NaN where a finite x < 0 meets a y that is no integer."""
    a = np.abs(x)
    high, low = log_twice(a)
    p = high * y
    low = fma(low, y, fma(high, y, -p))
    low = np.where(np.abs(p) < 1000.0, low, 0.0)
    z = exp_of_sum(np.where((a == 1.0) & (np.abs(y) == np.inf), 0.0, p), low)
    integer = np.rint(y) == y
    odd = integer & (np.rint(0.5 * y) != 0.5 * y)
    z = np.where((x < 0.0) & (x > -np.inf) & np.logical_not(integer), np.nan, z)
    z = np.where(odd, np.copysign(z, x), z)
    return np.where((x == 1.0) | (y == 0.0), 1.0, z)


def cbrt(x: Array) -> Array:
    """x**(1/3): a polynomial to 2**-30, then Newton's step with the residual x - y**3 to twice the precision."""
    a = np.abs(x)
    scaled, extra = rescue_subnormal(a)
    k, f, _ = exponent_and_fraction(scaled, extra)
    third = np.rint(k * (1 / 3))
    rest = k - 3.0 * third
    m = (1.0 + f) * np.where(rest > 0.0, 2.0, np.where(rest < 0.0, 0.5, 1.0))
    y = polynomial(f, CBRT) * np.where(rest > 0.0, 2.0 ** (1 / 3), np.where(rest < 0.0, 0.5 ** (1 / 3), 1.0))
    square, square_low = two_product(y, y)
    y = y + fma(-y, square_low, fma(-y, square, m)) / (3.0 * square)
    y = y * from_bits(np.left_shift(to_bits(third + (ROUND + BIAS)), 52))
    return np.where((a > 0.0) & (a < np.inf), np.copysign(y, x), x)
