"""Expectations of functions of one number: moments where a family gives no formula, and divergences.

Continuous: E[g(X)] = ∫ g(quantile(p)) dp, by the trapezoidal rule in s on each half, where
|logit p| = exp(s - exp(-s)); the upper half takes `cquantile`, so that both tails count down to 1e-300. Where g and the
quantile function are smooth but for the median, the relative error is about 1e-12; a kink elsewhere leaves about 1e-4.
Discrete: the sum over all k whose tails exceed 1e-20. Both differentiate in the parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from probdiff.distributions.implicit import number
from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, flatten, map_leaves

__all__ = ["expectation"]

STEP, REACH = 1 / 16, (-4.0, 6.5)
LARGEST_SUM = 1_000_000
TAIL = 1e-20


def expectation(distribution: Any, g: Callable[[Array], Array]) -> Array:
    """E[g(X)] in the shape of the batch; g acts element by element."""
    with np.errstate(all="ignore"):
        return _sum(distribution, g) if distribution.support.discrete else _integral(distribution, g)


@functools.cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """The smaller of p and 1 - p at the nodes of one half, and their weights."""
    s = np.arange(*REACH, STEP)
    y = np.exp(s - np.exp(-s))
    p = 1 / (1 + np.exp(y))
    return p, STEP * y * (1 + np.exp(-s)) * p * (1 - p)


def _integral(distribution: Any, g: Callable[[Array], Array]) -> Array:
    p, weight = _nodes()
    column = (-1, *(1 for _ in distribution.batch_shape))
    p, weight = p.reshape(column), weight.reshape(column)
    total: Any = 0.0
    for x in (distribution.quantile(p), distribution.cquantile(p)):
        values = g(x)
        # Where x has run into an end, nothing is left to add.
        total = total + np.sum(np.where(abs(values) < np.inf, weight * values, 0.0), axis=0)
    return total


def _sum(distribution: Any, g: Callable[[Array], Array]) -> Array:
    concrete = map_leaves(number, distribution)
    if any(is_lifted(leaf) for leaf in flatten(concrete)[0]):
        owner = type(distribution).__name__
        raise UnsupportedError(
            f"{owner}: a moment without a formula is a sum whose length depends on the parameters; it cannot be "
            "compiled. Compute it outside."
        )
    first, last = np.min(concrete.quantile(TAIL)), np.max(concrete.cquantile(TAIL))
    if not last - first < LARGEST_SUM:
        owner = type(distribution).__name__
        raise UnsupportedError(f"{owner}: a moment without a formula is a sum of {last - first:.0f} terms, too many")
    k = np.arange(first, last + 1).reshape((-1, *(1 for _ in distribution.batch_shape)))
    mass = distribution.pdf(k)
    return np.sum(np.where(mass > 0, mass * g(np.where(mass > 0, k, first)), 0.0), axis=0)
