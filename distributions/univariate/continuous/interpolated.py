"""Interpolated: a density given by its heights at knots, straight between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.special import xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Interval, Support, interval, ordered
from probdiff.tree import Array


@dataclass(frozen=True, repr=False)
class Weights(Support):
    """Vectors (last axis) of nonnegative, finite numbers that are not all zero."""

    event_ndim: ClassVar[int] = 1

    def contains(self, x: Array) -> Array:
        return np.all((x >= 0) & (x < np.inf), axis=-1) & np.any(x > 0, axis=-1)


OrderedVector = Annotated[Any, ordered]
WeightVector = Annotated[Any, Weights("weights", "nonnegative, and not all zero")]


class Interpolated(Continuous):
    """p(x) ∝ the straight line between (knots_k, heights_k) and the next point,  knots_1 <= x <= knots_K.

    knots    vector of K >= 2 numbers that rise strictly
    heights  vector of K nonnegative numbers, not all zero: the density up to a factor
    """

    knots: OrderedVector
    heights: WeightVector
    relation = "as many heights as knots, at least two"

    def related(self) -> Array:
        return self.knots.shape[-1] == self.heights.shape[-1] > 1

    @property
    def support(self) -> Interval:
        return interval(self.knots[..., 0], self.knots[..., -1])

    def logpdf(self, x: Array) -> Array:
        return log_height(x, *self._cells())

    def cdf(self, x: Array) -> Array:
        return share_below(x, *self._cells())

    def ccdf(self, x: Array) -> Array:
        left, right, first, last = self._cells()
        return share_below(-x, -right, -left, last, first)

    def mean(self) -> Array:
        left, right, first, last = self._cells()
        mass = 0.5 * (right - left) * (first + last)
        moment = (right - left) * (first * (2 * left + right) + last * (left + 2 * right)) / 6
        return np.sum(moment, axis=-1) / np.sum(mass, axis=-1)

    def var(self) -> Array:
        left, right, first, last = self._cells()
        mean = np.expand_dims(self.mean(), -1)
        a, b = left - mean, right - mean
        moment = (
            (right - left) * (first * (3 * a * a + 2 * a * b + b * b) + last * (a * a + 2 * a * b + 3 * b * b)) / 12
        )
        return np.sum(moment, axis=-1) / np.sum(0.5 * (right - left) * (first + last), axis=-1)

    def mode(self) -> Array:
        best = np.expand_dims(np.argmax(self.heights, axis=-1), -1)
        return np.sum(np.where(np.arange(self.heights.shape[-1]) == best, self.knots, 0.0), axis=-1)

    def modes(self) -> Array:
        return self.knots[self.heights == np.max(self.heights)]

    def kinks(self) -> tuple[Array, ...]:
        return tuple(self.knots[..., k] for k in range(1, self.knots.shape[-1] - 1))

    def entropy(self) -> Array:
        left, right, first, last = self._cells()
        mass = 0.5 * (right - left) * (first + last)
        share = mass / np.expand_dims(np.sum(mass, axis=-1), -1)
        v = (last - first) / np.where(first + last > 0, first + last, 1.0)
        return -np.sum(xlogy(share, share / (right - left)) + share * mean_log(v), axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return draw_cells(shape, rng, *self._cells())

    def _cells(self) -> tuple[Array, Array, Array, Array]:
        """Ends of the cells, and the heights there."""
        return self.knots[..., :-1], self.knots[..., 1:], self.heights[..., :-1], self.heights[..., 1:]


def log_height(x: Array, left: Array, right: Array, first: Array, last: Array) -> Array:
    """The log-density of straight pieces; cells are along the last axis."""
    x = np.expand_dims(x, -1)
    highest = np.expand_dims(np.max(right, axis=-1), -1)
    inside = (x >= left) & ((x < right) | ((x == highest) & (right == highest)))
    height = np.where(inside, first + (last - first) * (x - left) / (right - left), 0.0)
    total = np.sum(0.5 * (right - left) * (first + last), axis=-1)
    return np.log(np.sum(height, axis=-1)) - np.log(total)


def share_below(x: Array, left: Array, right: Array, first: Array, last: Array) -> Array:
    """P(X <= x) as a sum of areas."""
    width = right - left
    covered = np.clip(np.expand_dims(x, -1) - left, 0.0, width)
    area = 0.5 * covered * (first + first + (last - first) * covered / width)
    return np.sum(area, axis=-1) / np.sum(0.5 * width * (first + last), axis=-1)


def mean_log(v: Array) -> Array:
    """The mean of (1 + v u) log(1 + v u) over -1 < u < 1, for |v| <= 1."""
    square = v * v
    series: Array = 0.0
    for k in range(8, 0, -1):
        series = square * (1 / (2 * k * (4 * k * k - 1)) + series)
    wide = np.where(abs(v) < 0.1, 1.0, v)
    up, down = 1 + wide, 1 - wide
    exact = (2 * xlogy(up * up, up) - up * up - 2 * xlogy(down * down, down) + down * down) / (8 * wide)
    return np.where(abs(v) < 0.1, series, exact)


def draw_cells(shape: tuple[int, ...], rng: np.random.Generator, left: Any, right: Any, first: Any, last: Any) -> Any:
    """Draws of straight pieces: a cell by its mass, and in it the larger of two uniform numbers, or the smaller."""
    mass = np.cumsum((right - left) * (first + last), axis=-1)
    level = rng.random(shape)[..., None] * mass[..., -1:]
    cell = np.sum(level >= mass[..., :-1], axis=-1)[..., None]
    count = mass.shape[-1]
    low, high, h0, h1 = (
        np.take_along_axis(np.broadcast_to(v, (*shape, count)), cell, axis=-1)[..., 0]
        for v in (left, right, first, last)
    )
    one, two = rng.random(shape), rng.random(shape)
    rising = rng.random(shape) * (h0 + h1) < h1
    return low + (high - low) * np.where(rising, np.maximum(one, two), np.minimum(one, two))
