"""Variance, skewness and kurtosis from the moments E[Y^i], which are infinite from some order on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.tree import Array

__all__ = ["RawMoments", "concentrated", "kurtosis_of", "skewness_of", "variance_of"]


class RawMoments(Continuous, abstract=True):
    """A family X = a + unit Y with a formula for E[Y^i], `_moment(i)`; the unit is `scale` unless it says otherwise."""

    scale: Any

    def var(self) -> Array:
        m1, m2 = self._moment(1), self._moment(2)
        return np.where(concentrated(m1, m2), super().var(), self._unit() ** 2 * variance_of(m1, m2))

    def skewness(self) -> Array:
        m1, m2, m3 = (self._moment(i) for i in (1, 2, 3))
        direct = np.sign(self._unit()) * skewness_of(m1, m2, m3)
        return np.where(concentrated(m1, m2), super().skewness(), direct)

    def kurtosis(self) -> Array:
        m1, m2, m3, m4 = (self._moment(i) for i in (1, 2, 3, 4))
        return np.where(concentrated(m1, m2), super().kurtosis(), kurtosis_of(m1, m2, m3, m4))

    def _moment(self, i: int) -> Array:
        """E[Y^i]."""
        raise NotImplementedError

    def _unit(self) -> Array:
        return self.scale


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
