"""exp, exp2, expm1 and the logistic functions.

exp(x) = 2**n exp(r),  n = round(x / log 2),  |r| <= log(2) / 2.

The factor is applied as two, each within the range of exponents, so that results round once, be they normal, subnormal
or too large.
"""

from __future__ import annotations

import numpy as np

from probdiff.compiler.native.vectormath.bits import ROUND, fma, from_bits, polynomial, to_bits
from probdiff.compiler.native.vectormath.coefficients import EXP
from probdiff.compiler.native.vectormath.logarithm import log1p_of_unit, log_of_sum, rescue_subnormal
from probdiff.tree import Array

LOG2 = 0.6931471805599453
LOG2_LOW = 2.3190468138462996e-17  # log(2) - LOG2
BIAS = 1023  # of the exponent of a float64; ROUND + BIAS + n has a biased exponent in its low bits
TINY = 2.0**-54  # below it, x is the correctly rounded expm1(x)


def exp(x: Array) -> Array:
    """exp(x)."""
    return exp_of_sum(x, None)


def exp_of_sum(high: Array, low: Array | None, factor: float = 1.0) -> Array:
    """factor * exp(high + low) for |low| well below 1 and a factor that is a power of 2."""
    high = np.where(high < -760.0, -760.0, high)
    high = np.where(high > 712.0, 712.0, high)
    t = fma(high, 1 / LOG2, ROUND + 2 * BIAS)
    n = t - (ROUND + 2 * BIAS)
    r = fma(n, -LOG2_LOW, fma(n, -LOG2, high))  # the inner one is exact
    if low is not None:
        r = r + low
    return scale(fma(r * r, polynomial(r, EXP), r) + 1.0, n, t, factor)


def scale(y: Array, n: Array, t: Array, factor: float = 1.0) -> Array:
    """factor * 2**n * y as two products, whose exponents are n / 2 rounded and the rest; t = n + 2 BIAS + ROUND."""
    half = to_bits(fma(n, 0.5, ROUND + BIAS))
    first = from_bits(np.left_shift(half, 52))
    second = from_bits(np.left_shift(to_bits(t) - half, 52))
    return (y * first) * (second if factor == 1.0 else factor * second)


def half_exp(x: Array) -> Array:
    """exp(x) / 2, finite up to 710.4."""
    return exp_of_sum(x, None, 0.5)


def exp2(x: Array) -> Array:
    """2**x."""
    x = np.where(x < -1100.0, -1100.0, x)
    x = np.where(x > 1030.0, 1030.0, x)
    t = x + (ROUND + 2 * BIAS)
    n = t - (ROUND + 2 * BIAS)
    rest = x - n  # exact
    r = rest * LOG2
    low = fma(rest, LOG2, -r) + rest * LOG2_LOW
    return scale(fma(r * r, polynomial(r, EXP), r + low) + 1.0, n, t)


def expm1(x: Array) -> Array:
    """exp(x) - 1 = 2 (2**(n-1) (exp(r) - 1) + (2**(n-1) - 1/2)),  n = round(x / log 2).

    The half keeps the factor finite where n = 1024.
    """
    y = np.where(x < -40.0, -40.0, x)
    y = np.where(y > 710.0, 710.0, y)
    t = fma(y, 1 / LOG2, ROUND + (BIAS - 1))
    n = t - (ROUND + (BIAS - 1))
    r = fma(n, -LOG2_LOW, fma(n, -LOG2, y))
    half = from_bits(np.left_shift(to_bits(t), 52))
    y = 2.0 * fma(half * (r * r), polynomial(r, EXP), fma(half, r, half - 0.5))
    return np.where(np.abs(x) < TINY, x, y)


def expit(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    e = exp(-np.abs(x))
    return np.where(x < 0.0, e, 1.0) / (1.0 + e)


def log_expit(x: Array) -> Array:
    """log(expit(x)) = min(x, 0) - log1p(exp(-|x|))."""
    return -softplus(-x)


def softplus(x: Array) -> Array:
    """log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|))."""
    return np.where(x < 0.0, 0.0, x) + log1p_of_unit(exp(-np.abs(x)))


def logit(p: Array) -> Array:
    """log(p / (1 - p)); NaN outside [0, 1]."""
    middle = np.abs(p - 0.5) < 0.2
    odds = np.where(middle, 2.0 * p - 1.0, p) / (1.0 - p)  # minus 1 in the middle, where the logarithm has its zero
    high, extra = rescue_subnormal(np.where(middle, 1.0 + odds, odds))
    return log_of_sum(high, np.where(middle, odds - (high - 1.0), 0.0), extra)
