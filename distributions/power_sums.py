"""Sums of powers of whole numbers (zeta functions), by Euler and Maclaurin's formula, differentiable in the exponent.

The formula starts twelve terms on (DLMF 25.11.5 and 2.10.1), and these are added one by one: its remainder is then
below the rounding of the first term for every exponent.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.tree import Array

__all__ = ["excess", "partial_excess"]

DIRECT = 12
# B_2j / (2j)!
BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)


def excess(s: Array, q: Array) -> Array:
    """Σ_{k > q} (k / q)^-s, the sum without its first term, for s > 1 and whole or real q > 0."""
    start = q + DIRECT
    rest = start / (s - 1) + 0.5 + _corrections(s, start)
    return _direct(s, q) + np.exp(-s * np.log1p(DIRECT / q)) * rest


def partial_excess(s: Array, q: Array, last: Array) -> Array:
    """Σ_{q < k <= last} (k / q)^-s, for s >= 0 and whole q > 0, last >= q."""
    start = q + DIRECT
    stop = np.maximum(last, start)
    width = np.log(stop / start)
    end = np.exp(-s * width)
    rest = start * width * _exprel((1 - s) * width) + 0.5 * (1 + end) + _corrections(s, start)
    far = np.exp(-s * np.log1p(DIRECT / q)) * (rest - end * _corrections(s, stop))
    return _direct(s, q, last) + np.where(last >= start, far, 0.0)


def _direct(s: Array, q: Array, last: Array = math.inf) -> Array:
    return sum(np.where(q + k <= last, np.exp(-s * np.log1p(k / q)), 0.0) for k in range(1, DIRECT))


def _corrections(s: Array, x: Array) -> Array:
    """Σ_j B_2j / (2j)! s (s + 1) … (s + 2j - 2) x^(1 - 2j)."""
    total: Any = 0.0
    product = s / x
    for j, coefficient in enumerate(BERNOULLI):
        total = total + coefficient * product
        product = product * ((s + 2 * j + 1) / x) * ((s + 2 * j + 2) / x)
    return total


def _exprel(x: Array) -> Array:
    """(exp(x) - 1) / x, with its derivatives at zero."""
    near = abs(x) < 0.5
    small: Array = np.where(near, x, 0.0)
    large: Array = np.where(near, 1.0, x)
    series: Any = 1.0
    for k in range(15, 1, -1):
        series = 1 + small / k * series
    return np.where(near, series, np.expm1(large) / large)
