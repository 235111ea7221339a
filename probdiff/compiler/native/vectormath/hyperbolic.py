"""Hyperbolic functions and their inverses, from exp and log1p."""

from __future__ import annotations

import numpy as np

from probdiff.compiler.native.vectormath.bits import fma, polynomial
from probdiff.compiler.native.vectormath.coefficients import SINH, TANH
from probdiff.compiler.native.vectormath.exponential import exp, half_exp
from probdiff.compiler.native.vectormath.logarithm import LOG2, log_of_sum
from probdiff.tree import Array

LARGE = 2.0**28  # above it, sqrt(x**2 + 1) is x to within half an ULP of the result


def tanh(x: Array) -> Array:
    """tanh(|x|) = 1 - 2 / (exp(2 |x|) + 1); x + x**3 p(x**2) below 0.55."""
    a = np.abs(x)
    w = x * x
    y = 1.0 - 2.0 / (exp(2.0 * a) + 1.0)
    return np.copysign(np.where(a < 0.55, fma(w * a, polynomial(w, TANH), a), y), x)


def sinh(x: Array) -> Array:
    """sinh(|x|) = e - 1 / (4 e),  e = exp(|x|) / 2; x + x**3 p(x**2) below 1."""
    a = np.abs(x)
    w = x * x
    e = half_exp(a)
    return np.copysign(np.where(a < 1.0, fma(w * a, polynomial(w, SINH), a), e - 0.25 / e), x)


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
