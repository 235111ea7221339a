"""Exponentially scaled modified Bessel functions of the first kind, i0e and i1e."""

from __future__ import annotations

import numpy as np

from probdiff.compiler.native.vectormath.bits import polynomial
from probdiff.compiler.native.vectormath.coefficients import I0E, I0E_TAIL, I1E, I1E_TAIL
from probdiff.tree import Array


def i0e(x: Array) -> Array:
    """exp(-|x|) I0(x): p(|x| / 4 - 1) up to 8, p(16 / |x| - 1) / sqrt(|x|) beyond."""
    a = np.abs(x)
    t, u = 0.25 * a - 1.0, 16.0 / a - 1.0
    return np.where(a <= 8.0, polynomial(t, I0E), polynomial(u, I0E_TAIL) / np.sqrt(a))


def i1e(x: Array) -> Array:
    """exp(-|x|) I1(x): x p(|x| / 4 - 1) / (1 + |x|) up to 8, p(16 / |x| - 1) / sqrt(|x|) beyond."""
    a = np.abs(x)
    small = a <= 8.0
    t, u = 0.25 * a - 1.0, 16.0 / a - 1.0
    y = np.where(small, a * polynomial(t, I1E), polynomial(u, I1E_TAIL))
    return np.copysign(y / np.where(small, 1.0 + a, np.sqrt(a)), x)
