"""Quantiles by bisection, for families whose distribution function has no inverse in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["continuous_quantile", "discrete_quantile"]


def continuous_quantile(distribution: Any, p: np.ndarray[Any, Any]) -> Any:
    """The x with P(X <= x) = p, to the last bits; NaN where p is no probability.

    Brackets grow by doubling from the support's ends or from ±1; bisection then halves 200 times, enough for any
    exponent of interest.
    """
    lower, upper, _, p = np.broadcast_arrays(*_bounds(distribution), p)
    low = np.where(np.isfinite(lower), lower, np.minimum(np.where(np.isfinite(upper), upper, 0.0) - 1.0, -1.0))
    high = np.where(np.isfinite(upper), upper, np.maximum(np.where(np.isfinite(lower), lower, 0.0) + 1.0, 1.0))
    for _ in range(1000):
        short = (distribution.cdf(high) < p) & (high < upper)
        far = (distribution.cdf(low) > p) & (low > lower)
        if not (np.any(short) or np.any(far)):
            break
        high = np.where(short, np.minimum(2 * high + 1, upper), high)
        low = np.where(far, np.maximum(2 * low - 1, lower), low)
    for _ in range(200):
        middle = low + 0.5 * (high - low)
        under = distribution.cdf(middle) < p
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    result = np.where(p == 0, lower, np.where(p == 1, upper, high))
    return np.where((p >= 0) & (p <= 1), result, np.nan)[()]


def discrete_quantile(distribution: Any, p: np.ndarray[Any, Any]) -> Any:
    """The smallest integer k with P(X <= k) >= p, up to a few roundings; NaN where p is no probability."""
    lower, upper, _, p = np.broadcast_arrays(*_bounds(distribution), p)
    # Without this a cdf that comes out one rounding short of p sends quantile(cdf(k)) to k + 1.
    target = p * (1 - 64 * np.finfo(float).eps)
    low = np.where(np.isfinite(lower), lower, 0.0) - 1
    high = low + 1
    for _ in range(1000):
        short = (distribution.cdf(high) < target) & (high < upper)
        if not np.any(short):
            break
        low = np.where(short, high, low)
        high = np.where(short, np.minimum(2 * high + 1, upper), high)
    while np.any(high - low > 1):
        middle = np.floor(0.5 * (low + high))
        # Once low and high are neighbours the middle is low itself, and nothing may move.
        open_ = high - low > 1
        under = distribution.cdf(middle) < target
        low, high = np.where(open_ & under, middle, low), np.where(open_ & ~under, middle, high)
    result = np.where(p == 1, upper, high)
    return np.where((p >= 0) & (p <= 1), result, np.nan)[()]


def _bounds(distribution: Any) -> tuple[Any, Any, Any]:
    """The ends of the support, and zeros of the batch's shape to broadcast with."""
    support = distribution.support
    return support.lower, support.upper, np.zeros(distribution.batch_shape)
