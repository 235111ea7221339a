"""Logs, powers and exponentials where the textbook form cancels or overflows."""

from __future__ import annotations

import math

import numpy as np

from probdiff.tree import Array

__all__ = ["exp_excess", "expm1_over", "log1p_over", "log_ratio"]


def log_ratio(x: Array, y: Array) -> Array:
    """log(x / y) of positive numbers, also where the ratio is no number."""
    ratio = x / y
    return np.where((ratio > 1e-300) & (ratio < math.inf), np.log(ratio), np.log(x) - np.log(y))


def log1p_over(z: Array, k: Array) -> Array:
    """log(1 + k z) / k, which is z at k = 0; with all digits of its derivatives in k."""
    w = k * z
    v = w / (2 + w)
    s = v * v
    # Twice the inverse hyperbolic tangent of v is log(1 + w): s < 0.032 where |w| < 0.3.
    series = 1 + s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s * (1 / 11 + s * (1 / 13 + s / 15))))))
    series = series + s**8 * (1 / 17 + s * (1 / 19 + s / 21))
    return np.where(abs(w) < 0.3, 2 * z / (2 + w) * series, np.log1p(w) / k)


def expm1_over(y: Array, k: Array) -> Array:
    """(exp(k y) - 1) / k, the inverse of `log1p_over` in z; y at k = 0."""
    w = k * y
    return np.where(abs(w) < 0.5, y * (1 + 0.5 * w * _second_order(w)), np.expm1(w) / np.where(k == 0, 1.0, k))


def exp_excess(t: Array) -> Array:
    """exp(t) - 1 - t >= 0, without cancellation near t = 0."""
    return np.where(abs(t) < 0.5, 0.5 * t * t * _second_order(t), np.expm1(t) - t)


def _second_order(w: Array) -> Array:
    """(exp(w) - 1 - w) / (w² / 2) for |w| < 1/2, by its series 1 + w/3 (1 + w/4 (1 + …))."""
    series: Array = 1 + w / 15
    for k in range(14, 2, -1):
        series = 1 + w / k * series
    return series
