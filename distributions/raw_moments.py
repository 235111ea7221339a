"""Variance, skewness and kurtosis from the moments E[X^i], which are infinite from some order on."""

from __future__ import annotations

import math

import numpy as np

from probdiff.tree import Array

__all__ = ["concentrated", "kurtosis_of", "skewness_of", "variance_of"]


def concentrated(m1: Array, m2: Array) -> Array:
    """Whether the law is so narrow about its mean that differences of moments lose more digits than quadrature."""
    return m2 - m1 * m1 < 0.01 * m1 * m1


def variance_of(m1: Array, m2: Array) -> Array:
    """The variance; infinite with m2."""
    return np.where(m2 < math.inf, m2 - m1 * m1, math.inf)


def skewness_of(m1: Array, m2: Array, m3: Array) -> Array:
    """The third standardised moment; infinite where m3 is the first infinite moment, NaN where the variance is."""
    return (m3 - 3 * m1 * m2 + 2 * m1**3) / variance_of(m1, m2) ** 1.5


def kurtosis_of(m1: Array, m2: Array, m3: Array, m4: Array) -> Array:
    """The excess kurtosis; infinite where only m3 or m4 are, NaN where the variance is."""
    excess = (m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4) / variance_of(m1, m2) ** 2 - 3
    return np.where(m4 < math.inf, excess, np.where(m2 < math.inf, math.inf, math.nan))
