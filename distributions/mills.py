"""Differences of the scaled complementary error function, which tails of the inverse Gaussian and the ex-Gaussian are.

erfcx(t) = exp(t²) erfc(t) is, up to a factor, Mills' ratio of the normal distribution.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx

from probdiff.tree import Array

__all__ = ["FAR", "erfcx_drop", "falling_short", "smooth_erfcx"]

NODES, WEIGHTS = (v.tolist() for v in np.polynomial.legendre.leggauss(8))
NARROW = 0.5  # the rule is exact to rounding within
FAR = 12.0
# (2n - 1)!! with alternating signs, of which those up to n = 12 count beyond FAR.
ASYMPTOTIC = [(-1.0) ** (n + 1) * math.prod(range(1, 2 * n, 2)) for n in range(1, 13)]
SQRT_PI = math.sqrt(math.pi)


def smooth_erfcx(t: Array) -> Array:
    """erfcx(t), far out by the asymptotic series: the derivative 2 t erfcx(t) - 2 / sqrt(π) would cancel there."""
    return np.where(t < FAR, erfcx(t), (1 - falling_short(t)) / (SQRT_PI * t))


def erfcx_drop(t: Array, width: Array) -> Array:
    """erfcx(t) - erfcx(t + width) for t > -5 and width >= 0, of full relative accuracy also where width is small."""
    narrow = 0.5 * width * sum(w * _descent(t + 0.5 * width * (1 + u)) for u, w in zip(NODES, WEIGHTS, strict=True))
    return np.where(width < NARROW, narrow, smooth_erfcx(t) - smooth_erfcx(t + width))


def _descent(t: Array) -> Array:
    """-d/dt erfcx(t)."""
    return np.where(t < FAR, 2 / SQRT_PI - 2 * t * erfcx(t), 2 / SQRT_PI * falling_short(t))


def falling_short(t: Array) -> Array:
    """1 - sqrt(π) t erfcx(t) by the asymptotic series, t >= FAR."""
    v = 0.5 / (t * t)
    series: Array = 0.0
    for coefficient in reversed(ASYMPTOTIC):
        series = v * (coefficient + series)
    return series
