"""Expectations of functions of one number: moments where a family gives no formula, and divergences.

Continuous: E[g(X)] = ∫ g(quantile(p)) dp, by the trapezoidal rule in s on each half, where
|logit p| = exp(s - exp(-s)); the upper half takes `cquantile`, so that both tails count down to 1e-300. The relative
error is about 1e-12 where the density and g are smooth but at the kinks that are given: there the integral is cut, the
parts beyond the first and the last by the same rule, ∫ g(x) p(x) dx for those between.
Discrete: the sum over all k whose tails exceed 1e-20, or over all points. All differentiate in the parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from probdiff.distributions.implicit import number
from probdiff.distributions.support import Points
from probdiff.errors import UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, flatten, map_leaves

__all__ = ["LARGEST_SUM", "expectation", "is_countable", "plain_member"]

STEP, REACH = 1 / 16, (-4.0, 6.5)
LARGEST_SUM = 1_000_000
TAIL = 1e-20


def expectation(distribution: Any, g: Callable[[Array], Array], kinks: Sequence[Array] = ()) -> Array:
    """E[g(X)] in the shape of the batch; g acts element by element and is smooth but at `kinks`."""
    with np.errstate(all="ignore"):
        if isinstance(distribution.support, Points):
            return _over_points(distribution, g)
        if distribution.support.discrete:
            return _sum(distribution, g)
        kinks = (*distribution.kinks(), *kinks)
        return _pieces(distribution, g, kinks) if kinks else _tails(distribution, g, 0.5, 0.5)


@functools.cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """The smaller of p and 1 - p at the nodes of one half, and their weights."""
    s = np.arange(*REACH, STEP)
    y = np.exp(s - np.exp(-s))
    p = 1 / (1 + np.exp(y))
    return p, STEP * y * (1 + np.exp(-s)) * p * (1 - p)


def _columns(ndim: int) -> tuple[np.ndarray, np.ndarray]:
    """The nodes and weights along a first axis, before `ndim` others."""
    p, weight = _nodes()
    return p.reshape((-1,) + (1,) * ndim), weight.reshape((-1,) + (1,) * ndim)


def _weighted(values: Array, weight: Array) -> Array:
    # Where x has run into an end, nothing is left to add.
    return np.sum(np.where(abs(values) < np.inf, weight * values, 0.0), axis=0)


def _tails(distribution: Any, g: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The part of E[g(X)] from the lower tail with probability `low` and the upper one with probability `high`."""
    p, weight = _columns(len(distribution.batch_shape))
    below = _weighted(g(distribution.quantile(2 * low * p)), 2 * low * weight)
    return below + _weighted(g(distribution.cquantile(2 * high * p)), 2 * high * weight)


def _pieces(distribution: Any, g: Callable[[Array], Array], kinks: Sequence[Array]) -> Array:
    support, batch = distribution.support, distribution.batch_shape
    inside = [np.clip(np.broadcast_to(kink, batch), support.lower, support.upper) for kink in kinks]
    knots = np.sort(np.stack(inside), axis=0)
    total = _tails(distribution, g, distribution.cdf(knots[0]), distribution.ccdf(knots[-1]))
    p, weight = _columns(1 + len(batch))
    left, right = knots[:-1], knots[1:]
    width = right - left
    for x in (left + width * p, right - width * p):
        total = total + np.sum(_weighted(g(x) * distribution.pdf(x), width * weight), axis=0)
    return total


def _over_points(distribution: Any, g: Callable[[Array], Array]) -> Array:
    # The points lead, so that g meets the batch in its last axes.
    x = np.moveaxis(distribution.support.values, -1, 0)
    mass = distribution.pdf(x)
    return np.sum(np.where(mass > 0, mass * g(x), 0.0), axis=0)


def is_countable(distribution: Any) -> bool:
    """Whether single values have mass: whole numbers, or points."""
    return bool(distribution.support.discrete) or isinstance(distribution.support, Points)


def plain_member(distribution: Any, purpose: str) -> Any:
    """The distribution with plain numbers as parameters; UnsupportedError, naming the purpose, where it has none."""
    if not any(is_lifted(leaf) for leaf in flatten(distribution)[0]):
        return distribution
    member = map_leaves(number, distribution)
    if any(is_lifted(leaf) for leaf in flatten(member)[0]):
        owner = type(distribution).__name__
        raise UnsupportedError(
            f"{owner}: {purpose} hangs on the numbers that the parameters are; it cannot be compiled. Compute it "
            "outside."
        )
    return member


def _sum(distribution: Any, g: Callable[[Array], Array]) -> Array:
    member = plain_member(distribution, "the length of a sum, which a moment without a formula is,")
    first, last = np.min(member.quantile(TAIL)), np.max(member.cquantile(TAIL))
    if not last - first < LARGEST_SUM:
        owner = type(distribution).__name__
        raise UnsupportedError(f"{owner}: a moment without a formula is a sum of {last - first:.0f} terms, too many")
    k = np.arange(first, last + 1).reshape((-1, *(1 for _ in distribution.batch_shape)))
    mass = distribution.pdf(k)
    return np.sum(np.where(mass > 0, mass * g(np.where(mass > 0, k, first)), 0.0), axis=0)
