"""Truncated power series in two variables: coefficients c[i, j] of α^i β^j along the first two axes of an array.

A function's derivatives of any order come out of its own formula when its arguments are such series; c[i, j] is the
derivative of order (i, j) over i! j!.
"""

from __future__ import annotations

import numpy as np

Series = np.ndarray


def product(f: Series, g: Series) -> Series:
    """f g, to the order of both."""
    result = np.zeros_like(f)
    for i, j in np.ndindex(f.shape[:2]):
        result[i, j] = sum(f[k, m] * g[i - k, j - m] for k, m in np.ndindex(i + 1, j + 1))
    return result


def exp(f: Series) -> Series:
    """exp(f): with g = exp(f), dg = g df in whichever variable has a positive power."""
    g = np.zeros_like(f)
    g[0, 0] = np.exp(f[0, 0])
    for i, j in list(np.ndindex(f.shape[:2]))[1:]:
        total = 0.0
        for k, m in np.ndindex(i + 1, j + 1):
            power = k if i else m
            if power:
                total = total + power * f[k, m] * g[i - k, j - m]
        g[i, j] = total / (i or j)
    return g


def log(g: Series) -> Series:
    """log(g), for g[0, 0] > 0."""
    f = np.zeros_like(g)
    f[0, 0] = np.log(g[0, 0])
    for i, j in list(np.ndindex(g.shape[:2]))[1:]:
        total = 0.0
        for k, m in np.ndindex(i + 1, j + 1):
            power = k if i else m
            if power and (k, m) != (i, j):
                total = total + power * f[k, m] * g[i - k, j - m]
        f[i, j] = (g[i, j] - total / (i or j)) / g[0, 0]
    return f


def log1mexp(f: Series) -> Series:
    """log(1 - exp(f)), for f[0, 0] < 0; its first coefficient is accurate at both ends."""
    complement = -exp(f)
    value = np.where(f[0, 0] > -0.6931471805599453, np.log(-np.expm1(f[0, 0])), np.log1p(-np.exp(f[0, 0])))
    complement[0, 0] = -np.expm1(f[0, 0])
    result = log(complement)
    result[0, 0] = value
    return result
