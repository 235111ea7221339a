"""exp, exp2, expm1 and the logistic functions.

exp(x) = 4**h exp(r),  h = round(x / log 4),  |r| <= log 2.

The factor 2**h is applied twice, so that results round once, whether they are normal, subnormal or too large.
"""

from __future__ import annotations

import numpy as np

from probdiff.compiler.native.vectormath.bits import ROUND, even_odd, fma, from_bits, to_bits
from probdiff.compiler.native.vectormath.coefficients import EXP, EXPM1
from probdiff.compiler.native.vectormath.logarithm import log_of_sum, rescue_subnormal
from probdiff.tree import Array

LOG2 = 0.6931471805599453
LOG2_LOW = 2.3190468138462996e-17  # log(2) - LOG2
LOG4 = 2 * LOG2
LOG4_LOW = 2 * LOG2_LOW
BIAS = 1023  # of the exponent of a float64; ROUND + BIAS leaves biased exponents in the low bits
TINY = 2.0**-54  # below it, x is the correctly rounded expm1(x), log1p(x), tanh(x) and so on


def exp(x: Array) -> Array:
    """exp(x)."""
    return exp_of_sum(x, None)


def exp_of_sum(high: Array, low: Array | None, factor: float = 1.0) -> Array:
    """factor * exp(high + low) for |low| well below 1 and a factor that is a power of 2."""
    high = np.where(high < -760.0, -760.0, high)
    high = np.where(high > 712.0, 712.0, high)
    t = fma(high, 1 / LOG4, ROUND + BIAS)
    h = t - (ROUND + BIAS)
    r = fma(h, -LOG4_LOW, fma(h, -LOG4, high))  # the inner one is exact
    if low is not None:
        r = r + low
    return scale_twice(fma(fma(even_odd(r, r * r, EXP), r, 1.0), r, 1.0), t, factor)


def scale_twice(y: Array, t: Array, factor: float = 1.0) -> Array:
    """factor * 4**h * y, where t = h + BIAS + ROUND."""
    scale = from_bits(np.left_shift(to_bits(t), 52))
    return (y * scale) * (scale if factor == 1.0 else factor * scale)


def half_exp(x: Array) -> Array:
    """exp(x) / 2, finite up to 710.4."""
    return exp_of_sum(x, None, 0.5)


def exp2(x: Array) -> Array:
    """2**x."""
    x = np.where(x < -1100.0, -1100.0, x)
    x = np.where(x > 1030.0, 1030.0, x)
    t = fma(x, 0.5, ROUND + BIAS)
    half = fma(t - (ROUND + BIAS), -2.0, x)  # exact
    r = half * LOG2
    low = fma(half, LOG2, -r) + half * LOG2_LOW
    u = fma(fma(even_odd(r, r * r, EXP), r, 1.0), r, low)
    return scale_twice(u + 1.0, t)


def expm1(x: Array) -> Array:
    """exp(x) - 1."""
    return np.where(np.abs(x) < TINY, x, 4.0 * quarter_expm1(x))


def quarter_expm1(x: Array) -> Array:
    """(exp(x) - 1) / 4 = 2**(n-2) (exp(r) - 1) + (2**(n-2) - 1/4),  n = round(x / log 2),  but 0 for subnormal x.

    A quarter, because 2**n and sinh's exp(x) overflow before their results do.
    """
    x = np.where(x < -40.0, -40.0, x)
    x = np.where(x > 710.6, 710.6, x)
    t = fma(x, 1 / LOG2, ROUND + (BIAS - 2))
    n = t - (ROUND + (BIAS - 2))
    r = fma(n, -LOG2_LOW, fma(n, -LOG2, x))
    quarter = from_bits(np.left_shift(to_bits(t), 52))
    return fma(quarter, fma(r * r, even_odd(r, r * r, EXPM1), r), quarter - 0.25)


def expit(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    e = exp(-np.abs(x))
    return np.where(x < 0.0, e, 1.0) / (1.0 + e)


def log_expit(x: Array) -> Array:
    """log(expit(x)) = min(x, 0) - log1p(exp(-|x|))."""
    return -softplus(-x)


def softplus(x: Array) -> Array:
    """log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|))."""
    e = exp(-np.abs(x))
    u = 1.0 + e
    return np.where(x < 0.0, 0.0, x) + log_of_sum(u, e - (u - 1.0))


def logit(p: Array) -> Array:
    """log(p / (1 - p)); NaN outside [0, 1]."""
    middle = np.abs(p - 0.5) < 0.2
    odds = np.where(middle, 2.0 * p - 1.0, p) / (1.0 - p)  # minus 1 in the middle, where the logarithm has its zero
    high, extra = rescue_subnormal(np.where(middle, 1.0 + odds, odds))
    return log_of_sum(high, np.where(middle, odds - (high - 1.0), 0.0), extra)
