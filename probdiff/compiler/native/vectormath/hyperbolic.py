"""Hyperbolic functions and their inverses, from expm1 and log1p."""

from __future__ import annotations

import numpy as np

from probdiff.compiler.native.vectormath.bits import fma
from probdiff.compiler.native.vectormath.exponential import TINY, half_exp, quarter_expm1
from probdiff.compiler.native.vectormath.logarithm import LOG2, log_of_sum
from probdiff.tree import Array

LARGE = 2.0**28  # above it, sqrt(x**2 + 1) is x to within half an ULP of the result


def tanh(x: Array) -> Array:
    """tanh(|x|) = -e / (2 + e) = 1 - 2 (1 + e) / (2 + e),  e = expm1(-2 |x|); the second where e < -3/4, as it rounds less."""
    e = 4.0 * quarter_expm1(-2.0 * np.abs(x))
    large = e < -0.75
    q = np.where(large, fma(2.0, e, 2.0), -e) / (2.0 + e)
    return np.where(np.abs(x) < TINY, x, np.copysign(np.where(large, 1.0 - q, q), x))


def sinh(x: Array) -> Array:
    """sinh(|x|) = 2 g + 2 g / (4 g + 1),  g = expm1(|x|) / 4."""
    a = np.abs(x)
    g = quarter_expm1(a)
    twice = 2.0 * g
    rest = np.where(twice < 2.0**60, twice, 0.0) / fma(4.0, g, 1.0)  # so that it is not inf / inf
    return np.where(a < TINY, x, np.copysign(twice + rest, x))


def cosh(x: Array) -> Array:
    """cosh(x) = e + 1 / (4 e),  e = exp(|x|) / 2."""
    e = half_exp(np.abs(x))
    return e + 0.25 / e


def arcsinh(x: Array) -> Array:
    """arcsinh(|x|) = log1p(|x| + x**2 / (1 + sqrt(1 + x**2)))."""
    a = np.abs(x)
    w = a * a
    t = a + w / (1.0 + np.sqrt(1.0 + w))
    large = a > LARGE
    t = np.where(large, a, t)
    u = np.where(large, a, 1.0 + t)
    y = log_of_sum(u, np.where(large, 0.0, t - (u - 1.0))) + np.where(large, LOG2, 0.0)
    return np.where(a < 2.0**-28, x, np.copysign(y, x))


def arccosh(x: Array) -> Array:
    """arccosh(x) = log1p(t + sqrt(2 t + t**2)),  t = x - 1; NaN below 1."""
    large = x > LARGE
    t = x - 1.0
    t = t + np.sqrt(fma(t, t, 2.0 * t))
    u = np.where(large, x, np.where(x < 1.0, np.nan, 1.0 + t))
    return log_of_sum(u, np.where(large, 0.0, t - (u - 1.0))) + np.where(large, LOG2, 0.0)


def arctanh(x: Array) -> Array:
    """arctanh(|x|) = log1p(2 |x| / (1 - |x|)) / 2; infinite at 1, NaN beyond."""
    a = np.abs(x)
    t = 2.0 * a / (1.0 - a)
    u = 1.0 + t
    y = 0.5 * log_of_sum(u, np.where(u < np.inf, t - (u - 1.0), 0.0))
    return np.where(a < 2.0**-28, x, np.copysign(y, x))
