"""Laws of a count n and a number x, given by all derivatives in x of one of their tails: operations on elements."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import Elementwise
from probdiff.special import log1mexp
from probdiff.tree import Array

__all__ = ["Tail", "log_above", "log_below", "log_density"]

Numbers = np.ndarray[Any, Any]
# tail(n, x, order), of flat arrays: which are upper tails, the logs of the tails, and along a first axis derivatives of
# the distribution function (in sign) of orders 0 to `order`, over the tails.
Tail = Callable[[Numbers, Numbers, int], tuple[Numbers, Numbers, Numbers]]


def log_below(tail: Tail, n: Array, x: Array) -> Array:
    """log P(X < x); n has no derivative."""
    return apply(_row(tail, "below"), n, x)


def log_above(tail: Tail, n: Array, x: Array) -> Array:
    """log P(X >= x)."""
    return apply(_row(tail, "above"), n, x)


def log_density(tail: Tail, n: Array, x: Array) -> Array:
    """The log of the density at x."""
    return apply(_row(tail, "density"), n, x)


@functools.cache
def _row(tail: Any, kind: str, order: int = 1) -> Elementwise:
    """A row; "slope" is the derivative of that order over the one of order 1."""

    def evaluate(n: Any, x: Any) -> Any:
        with np.errstate(all="ignore"):
            n, x = np.broadcast_arrays(np.asarray(n, float), np.asarray(x, float))
            good = (n >= 1) & (np.floor(n) == n) & (n < np.inf) & ~np.isnan(x)
            upper, log_tail, ratios = tail(np.where(good, n, 1.0).ravel(), np.where(good, x, 0.7).ravel(), order)
            if kind == "density":
                result = log_tail + np.log(ratios[1])
            elif kind == "slope":
                result = ratios[order] / ratios[1]
            else:
                result = np.where(upper == (kind == "above"), log_tail, log1mexp(log_tail))
        return np.where(good, result.reshape(x.shape), np.nan)[()]

    def partial(n: Array, x: Array, z: Array) -> Array:
        if kind == "density":
            return apply(_row(tail, "slope", 2), n, x)
        if kind == "slope":
            return apply(_row(tail, kind, order + 1), n, x) - z * apply(_row(tail, kind, 2), n, x)
        return np.exp(log_density(tail, n, x) - z) * (-1.0 if kind == "above" else 1.0)

    return Elementwise(f"{tail.__name__}_{kind}{order}", evaluate, (None, partial))
