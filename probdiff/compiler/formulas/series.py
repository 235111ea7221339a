"""Truncated power series in two variables whose coefficients are numbers: c[i, j] of α^i β^j, for some (i, j).

A function's derivatives come out of its own formula when its arguments are such series; c[i, j] is the derivative of
order (i, j) over i! j!. All series of one formula have the same powers, and with (i, j) all those below it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Power = tuple[int, int]
Series = dict[Power, Any]


def powers(i: int, j: int) -> list[Power]:
    """(0, 0) to (i, j), in an order in which none comes before one that is below it."""
    return [(k, m) for k in range(i + 1) for m in range(j + 1)]


def total(f: Series, g: Series) -> Series:
    """f + g."""
    return {k: f[k] + g[k] for k in f}


def product(f: Series, g: Series) -> Series:
    """f g, where the terms of g that are not given are zero."""
    return {(i, j): sum(f[i - k, j - m] * g[k, m] for k, m in powers(i, j) if (k, m) in g) for i, j in f}


def exp(f: Series, start: Any) -> Series:
    """exp(f), whose first coefficient is `start`: with g = exp(f), dg = g df in a variable that has a power."""
    g: Series = {}
    for i, j in f:
        inner = [(k if i else m, k, m) for k, m in powers(i, j)]
        g[i, j] = sum(n * f[k, m] * g[i - k, j - m] for n, k, m in inner if n) / (i or j) if i or j else start
    return g


def log(g: Series, start: Any) -> Series:
    """log(g), whose first coefficient is `start`."""
    f: Series = {}
    for i, j in g:
        inner = [(k if i else m, k, m) for k, m in powers(i, j)[:-1]]
        rest = sum(n * f[k, m] * g[i - k, j - m] for n, k, m in inner if n)
        f[i, j] = (g[i, j] - rest / (i or j)) / g[0, 0] if i or j else start
    return f


def log1mexp(f: Series) -> Series:
    """log(1 - exp(f)), for f[0, 0] < 0."""
    exponential, rest = np.exp(f[0, 0]), np.expm1(f[0, 0])
    complement = {k: -v for k, v in exp(f, exponential).items()}
    complement[0, 0] = -rest
    near = f[0, 0] > -0.6931471805599453
    return log(complement, np.where(near, np.log(np.where(near, -rest, 1.0)), np.log1p(-exponential)))
