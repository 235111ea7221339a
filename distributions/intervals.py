"""The probability of an interval, without cancellation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.quantiles import LOG_HALF
from probdiff.tree import Array

__all__ = ["from_tails", "log_interval"]

NODES, WEIGHTS = (v.tolist() for v in np.polynomial.legendre.leggauss(10))
NARROW = 0.05  # the log of a tail changes by less: the density is smooth on the scale of the interval


def log_interval(distribution: Any, x: Array, y: Array) -> Array:
    """log P(x < X <= y); -inf unless x < y.

    Where the tails nearly agree at both ends, a continuous density is integrated over the interval instead.
    """
    with np.errstate(all="ignore"):
        result, narrow = from_tails(distribution, x, y)
        if not distribution.support.discrete:
            result = np.where(narrow & (y - x < np.inf), _integrated(distribution, x, y), result)
        result = np.where(x < y, result, -np.inf)
        return result[()] if type(result) is np.ndarray else result


def from_tails(distribution: Any, x: Array, y: Array) -> tuple[Array, Array]:
    """log P(x < X <= y) from the lower tails, the upper tails, or one less both, whichever cancels least.

    The second result says where even these cancel, because the interval is a small part of its tail.
    """
    from probdiff.special import log1mexp

    low_x, low_y = distribution.logcdf(x), distribution.logcdf(y)
    up_x, up_y = distribution.logccdf(x), distribution.logccdf(y)
    below, above = low_y < LOG_HALF, up_x < LOG_HALF
    big, small = np.where(below, low_y, up_x), np.where(below, low_x, up_y)
    one_side = big + log1mexp(np.where(small < big, small - big, -np.inf))
    both_sides = np.log1p(-(np.exp(low_x) + np.exp(up_y)))
    return np.where(below | above, one_side, both_sides), (below | above) & (big - small < NARROW)


def _integrated(distribution: Any, x: Array, y: Array) -> Array:
    from probdiff.special import logsumexp

    half = 0.5 * (y - x)
    heights = [distribution.logpdf(x + half * (1 + t)) + math.log(w) for t, w in zip(NODES, WEIGHTS, strict=True)]
    return logsumexp(np.stack(heights), axis=0) + np.log(half)
