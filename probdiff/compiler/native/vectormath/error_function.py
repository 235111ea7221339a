"""The error function, the normal distribution function, and their inverses.

erfcx(x) = exp(x**2) erfc(x) = p((x - 3.75) / (x + 3.75)) / (1 + 2 x) for all x >= 0, the mapping of Shepherd &
Laframboise, Math. Comp. 36 (1981). The tails are it times exp(-x**2), with x**2 to twice the precision of a float64.
"""

from __future__ import annotations

import numpy as np

from probdiff.compiler.native.vectormath.bits import fma, polynomial, two_product
from probdiff.compiler.native.vectormath.coefficients import ERF, ERFCX, ERFCX_LOSS, NDTRI, NDTRI_TAIL
from probdiff.compiler.native.vectormath.exponential import exp_of_sum
from probdiff.compiler.native.vectormath.logarithm import log, log_of_sum
from probdiff.tree import Array

CENTRE = 3.75
SQRT_INVERSE_PI = 0.5641895835477563
SQRT_HALF = 0.7071067811865476


def erfcx_positive(x: Array) -> Array:
    """erfcx(min(x, 1e150)) for x >= 0."""
    x = np.where(x > 1e150, 1e150, x)  # so that the denominator is finite
    a = x + CENTRE
    b = fma(2.0, x, 1.0)
    r = 1.0 / (a * b)
    t = (x - CENTRE) * (b * r)
    return polynomial(t, ERFCX) * (a * r)


def exp_of_minus_square(x: Array, factor: float) -> Array:
    """exp(-factor x**2) for a factor that is a power of 2."""
    x = np.where(np.abs(x) > 1e3, 1e3, x)
    square, low = two_product(x, x)
    return exp_of_sum(-factor * square, -factor * low)


def erf(x: Array) -> Array:
    """erf(x)."""
    a = np.abs(x)
    w = x * x
    tail = 1.0 - exp_of_sum(-w, None) * erfcx_positive(a)  # at most 0.16 is subtracted: the error of w is not felt
    return np.where(a < 1.0, fma(x, polynomial(w, ERF), x), np.copysign(np.where(a > 6.0, 1.0, tail), x))


def erfc(x: Array) -> Array:
    """1 - erf(x)."""
    y = exp_of_minus_square(x, 1.0) * erfcx_positive(np.abs(x))
    return np.where(x < 0.0, 2.0 - y, y)


def erfcx(x: Array) -> Array:
    """exp(x**2) erfc(x)."""
    y = erfcx_positive(np.abs(x))
    z = np.where(x < -27.0, -27.0, x)
    square, low = two_product(z, z)
    return np.where(x < 0.0, 2.0 * exp_of_sum(square, low) - y, np.where(x > 1e8, SQRT_INVERSE_PI / x, y))


def ierfcx(x: Array) -> Array:
    """exp(x**2) times the integral of erfc from x on: 1 / sqrt(pi) - x erfcx(x), which is half the loss of erfcx."""
    a = np.where(x > 1e150, 1e150, np.abs(x))
    b = fma(2.0, a, 1.0)
    t = (a - CENTRE) / (a + CENTRE)
    y = np.where(x > 1e150, 0.0, polynomial(t, ERFCX_LOSS) / (b * b))
    return np.where(x < 0.0, SQRT_INVERSE_PI - x * erfcx(x), y)


def ndtr(x: Array) -> Array:
    """Standard normal distribution function."""
    y = 0.5 * exp_of_minus_square(x, 0.5) * erfcx_positive(SQRT_HALF * np.abs(x))
    return np.where(x > 0.0, 1.0 - y, y)


def log_ndtr(x: Array) -> Array:
    """log(ndtr(x)) = log(erfcx(-x / sqrt(2)) / 2) - x**2 / 2, and log1p(-ndtr(-x)) for x > 0."""
    y = 0.5 * erfcx_positive(SQRT_HALF * np.abs(x))
    q = -y * exp_of_minus_square(x, 0.5)
    u = 1.0 + q
    right = x > 0.0
    logarithm = log_of_sum(np.where(right, u, y), np.where(right, q - (u - 1.0), 0.0))
    tiny = q > -(2.0**-54)
    return np.where(right, np.where(tiny, q, logarithm), fma(-0.5 * x, x, logarithm))


def ndtri(p: Array) -> Array:
    """The x with ndtr(x) = p; NaN outside [0, 1]."""
    return quantile(p - 0.5, np.where(p < 0.5, p, 1.0 - p))


def erfinv(y: Array) -> Array:
    """The x with erf(x) = y; NaN outside [-1, 1]."""
    return SQRT_HALF * quantile(0.5 * y, fma(-0.5, np.abs(y), 0.5))


def quantile(q: Array, tail: Array) -> Array:
    """Standard normal quantile of 1/2 + q, where tail = 1/2 - |q|.

    |q| < 0.4125: q p(q**2 / (0.4 - q**2));  beyond: r + p((r - 8) / (r + 8)),  r = sqrt(-2 log(tail)).
    """
    w = q * q
    central = np.abs(q) < 0.4125
    r = np.sqrt(-2.0 * log(tail))
    t = np.where(central, w, r - 8.0) / np.where(central, 0.4 - w, r + 8.0)
    x = np.where(tail == 0.0, np.inf, r + polynomial(t, NDTRI_TAIL))
    return np.where(central, q * polynomial(t, NDTRI), np.copysign(x, q))
