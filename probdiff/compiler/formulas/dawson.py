"""Dawson's integral, by polynomials."""

from __future__ import annotations

import numpy as np

from probdiff.compiler.formulas.polynomials import polynomial
from probdiff.compiler.native.vectormath.coefficients import DAWSN, DAWSN_MIDDLE, DAWSN_TAIL
from probdiff.tree import Array


def dawsn(x: Array) -> Array:
    """exp(-x²) ∫ exp(t²) dt over [0, x]."""
    a = np.minimum(abs(x), 1e8)
    near, middle = np.minimum(a, 2.0), np.minimum(np.maximum(a, 2.0), 4.0)
    w = np.maximum(a, 4.0) * np.maximum(a, 4.0)
    ratio = np.where(a <= 4.0, polynomial(middle - 3.0, DAWSN_MIDDLE), polynomial(32.0 / w - 1.0, DAWSN_TAIL) / w)
    inside = np.where(a <= 2.0, polynomial(0.5 * near * near - 1.0, DAWSN), ratio)
    return np.where(abs(x) > 1e8, 0.5 / x, x * inside)
