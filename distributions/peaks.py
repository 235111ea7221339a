"""The points of largest density, where a family has no formula: found on a grid of quantiles, then by Newton's steps.

A smooth maximum solves d log p(x) / dx = 0. Two more steps from the number found, in traced operations, move it by no
more than its rounding and carry its derivatives in the parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.ad.transforms import pushforward
from probdiff.distributions.expectation import LARGEST_SUM, is_countable, plain_member
from probdiff.distributions.implicit import number
from probdiff.distributions.support import Points
from probdiff.errors import UnsupportedError
from probdiff.tree import Array

__all__ = ["all_modes", "mode"]

Numbers = np.ndarray[Any, Any]
HALF = np.array([1e-15, 1e-10, 1e-6, 1e-4, 1e-3, 0.01, *np.linspace(0.025, 0.5, 20)])
PARTS = np.arange(4) / 4  # quantiles may cost a search: the steps between them are divided
GOLDEN = 0.5 * (np.sqrt(5.0) - 1)
ROUNDING = 64 * 2.2e-16  # log-masses that differ by less are equal
ALIKE = 1e-10  # log-densities of maxima that are equal, each found by itself
FINALISTS = 3
PURPOSE = "the search for a mode"


def mode(distribution: Any) -> Array:
    """A point of largest density or mass, in the shape of the batch; of several masses the first."""
    member = plain_member(distribution, PURPOSE)
    with np.errstate(all="ignore"):
        if is_countable(member):
            k, heights = _masses(member)
            first = np.argmax(heights >= np.max(heights, axis=0) - ROUNDING, axis=0)
            return np.take_along_axis(np.broadcast_to(k, heights.shape), first[None], 0)[0][()]
        x, heights = _grid(member)
        # The highest on the grid need not be the highest between its points.
        tops = np.argsort(np.where(_local(heights), heights, -np.inf), axis=0)[-FINALISTS:]
        left, right = (np.take_along_axis(x, np.clip(tops + step, 0, len(x) - 1), 0) for step in (-1, 1))
        peaks = _refined(member, left, right)
        best = np.argmax(_known(member.logpdf(peaks)), axis=0)
        peak = np.take_along_axis(peaks, best[None], 0)[0]
        top, result = _known(member.logpdf(peak)), _moved(distribution, member, peak)
        for place, height in _corners(distribution, member, x, heights):
            result, top = np.where(height >= top - ROUNDING, place, result), np.maximum(height, top)
        return result[()] if type(result) is np.ndarray else result


def all_modes(distribution: Any) -> Array:
    """The points of largest density or mass of one distribution, rising, as plain numbers."""
    member = plain_member(distribution, PURPOSE)
    with np.errstate(all="ignore"):
        if is_countable(member):
            k, heights = _masses(member)
            return k[heights >= np.max(heights) - ROUNDING]
        if "mode" in type(member)._given:
            return _of_formula(member)
        x, heights = _grid(member)
        (tops,) = np.nonzero(_local(heights))
        peaks = _refined(member, x[np.maximum(tops - 1, 0)], x[np.minimum(tops + 1, x.size - 1)])
        found = [*_corners(member, member, x, heights), *zip(peaks, member.logpdf(peaks), strict=True)]
        top = max(height for _, height in found)
        spread = x[x.size // 2 + 1] - x[x.size // 2 - 1]
        modes: list[float] = []
        for place, height in found:
            # A peak beside an end or a kink is that one, found less exactly.
            if (height == top or height > top - ALIKE) and all(abs(place - other) > 1e-6 * spread for other in modes):
                modes.append(float(place))
        return np.sort(modes)


def _of_formula(member: Any) -> Numbers:
    """The ends of the support where the density is infinite, else the mode."""
    ends = np.array([member.support.lower, member.support.upper], dtype=float)
    poles = ends[member.logpdf(ends) == np.inf]
    return poles if poles.size else np.array([member.mode()])


def _masses(member: Any) -> tuple[Numbers, Numbers]:
    """Values along a first axis, with the log of their mass: all that may have the largest."""
    if isinstance(member.support, Points):
        k = np.moveaxis(member.support.values, -1, 0)
        return k, member.logpdf(k)
    tail = 0.1
    while True:
        first, last = np.min(member.quantile(tail)), np.max(member.cquantile(tail))
        if not last - first < LARGEST_SUM:
            owner = type(member).__name__
            raise UnsupportedError(f"{owner}: a mode is looked for among {last - first:.0f} values, too many")
        k = np.arange(first, last + 1).reshape((-1, *(1 for _ in member.batch_shape)))
        heights = member.logpdf(k)
        # No value beyond has more than the tail that it is in.
        if np.all(np.max(heights, axis=0) > np.log(tail)):
            return k, heights
        tail *= 0.01


def _grid(member: Any) -> tuple[Numbers, Numbers]:
    """Quantiles and points between them along a first axis, with their log-densities."""
    p = HALF.reshape((-1, *(1 for _ in member.batch_shape)))
    x = np.concatenate([member.quantile(p), member.cquantile(p[-2::-1])])
    parts = PARTS.reshape((-1, *(1 for _ in member.batch_shape)))
    between = x[:-1, None] + parts * (x[1:] - x[:-1])[:, None]
    x = np.concatenate([between.reshape((-1, *x.shape[1:])), x[-1:]])
    return x, _known(member.logpdf(x))


def _local(heights: Numbers) -> Any:
    """Whether each height is a maximum among its neighbours along the first axis, of equal ones the first."""
    none = np.full((1, *heights.shape[1:]), -np.inf)
    return (heights > np.concatenate([none, heights[:-1]])) & (heights >= np.concatenate([heights[1:], none]))


def _known(heights: Any) -> Any:
    return np.where(np.isnan(heights), -np.inf, heights)


def _corners(distribution: Any, member: Any, x: Numbers, heights: Numbers) -> list[tuple[Array, Any]]:
    """The ends of the support and the kinks, where the density may be largest and not smooth, with its log there.

    At an open end, or one where the formula has no value, the log-density is that of the outermost quantile.
    """
    support, found = distribution.support, []
    for end, outermost in ((support.lower, 0), (support.upper, -1)):
        at = number(end)
        if np.all(np.isfinite(at)):
            height = member.logpdf(at)
            found.append((end, np.where(height > -np.inf, height, heights[outermost])))
    return [*found, *((kink, member.logpdf(number(kink))) for kink in distribution.kinks())]


def _refined(member: Any, left: Numbers, right: Numbers) -> Numbers:
    """The maximum between `left` and `right`: by golden sections to half the digits, then by Newton's steps."""
    low, high = left, right
    for _ in range(45):
        step = GOLDEN * (high - low)
        rises = member.logpdf(high - step) < member.logpdf(low + step)
        low, high = np.where(rises, high - step, low), np.where(rises, high, low + step)
    x = 0.5 * (low + high)
    for _ in range(3):
        moved = x - _slope(member, x) / _curvature(member, x)
        near = abs(moved - x) <= 1e-3 * (right - left)
        x = np.where(near & (member.logpdf(moved) >= member.logpdf(x) - ALIKE), moved, x)
    return x


def _moved(distribution: Any, member: Any, x: Numbers) -> Array:
    """The number `x` as the function of the parameters that keeps the slope zero."""
    if distribution is member:
        return x
    result: Array = x
    for _ in range(2):
        step = _slope(distribution, result) / _curvature(distribution, result)
        result = result - np.where(abs(step) < np.inf, step, 0.0)  # a peak at an end has none
    return result


def _slope(distribution: Any, x: Array) -> Array:
    return pushforward(distribution.logpdf, x)(np.ones_like(x))


def _curvature(distribution: Any, x: Array) -> Array:
    return pushforward(lambda v: _slope(distribution, v), x)(np.ones_like(x))
