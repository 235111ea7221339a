"""Histogram: a density that is constant in cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.support import Interval, interval
from probdiff.distributions.univariate.continuous.interpolated import (
    OrderedVector,
    WeightVector,
    draw_cells,
    log_height,
    share_below,
)
from probdiff.tree import Array


class Histogram(Continuous):
    """p(x) ∝ weights_k / (edges_{k + 1} - edges_k) in cell k,  edges_1 <= x <= edges_{K + 1}.

    edges    vector of K + 1 >= 2 numbers that rise strictly
    weights  vector of K nonnegative numbers, not all zero: counts, or masses up to a factor

    `counts, edges = numpy.histogram(x)` gives `Histogram(edges, counts)`. An edge belongs to the cell on its right.
    """

    edges: OrderedVector
    weights: WeightVector
    relation = "one edge more than weights"

    def related(self) -> Array:
        return self.edges.shape[-1] == self.weights.shape[-1] + 1

    @property
    def support(self) -> Interval:
        return interval(self.edges[..., 0], self.edges[..., -1])

    def logpdf(self, x: Array) -> Array:
        return log_height(x, *self._cells())

    def cdf(self, x: Array) -> Array:
        return share_below(x, *self._cells())

    def ccdf(self, x: Array) -> Array:
        left, right, height, _ = self._cells()
        return share_below(-x, -right, -left, height, height)

    def mean(self) -> Array:
        middle = 0.5 * (self.edges[..., :-1] + self.edges[..., 1:])
        return np.sum(middle * self.weights, axis=-1) / np.sum(self.weights, axis=-1)

    def var(self) -> Array:
        mean = np.expand_dims(self.mean(), -1)
        below, above = self.edges[..., :-1] - mean, self.edges[..., 1:] - mean
        squares = self.weights * (below * below + below * above + above * above) / 3
        return np.sum(squares, axis=-1) / np.sum(self.weights, axis=-1)

    def mode(self) -> Array:
        middle = 0.5 * (self.edges[..., :-1] + self.edges[..., 1:])
        return np.sum(np.where(self._highest(), middle, 0.0), axis=-1)

    def modes(self) -> Array:
        _, _, height, _ = self._cells()
        return 0.5 * (self.edges[:-1] + self.edges[1:])[height == np.max(height)]

    def kinks(self) -> tuple[Array, ...]:
        return tuple(self.edges[..., k] for k in range(1, self.edges.shape[-1] - 1))

    def entropy(self) -> Array:
        left, right, _, _ = self._cells()
        total = np.expand_dims(np.sum(self.weights, axis=-1), -1)
        share = self.weights / total
        return -np.sum(xlogy(share, share / (right - left)), axis=-1)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return draw_cells(shape, rng, *self._cells())

    def _highest(self) -> Array:
        """Which cell is the highest, the first of several."""
        _, _, height, _ = self._cells()
        return np.arange(height.shape[-1]) == np.expand_dims(np.argmax(height, axis=-1), -1)

    def _cells(self) -> tuple[Array, Array, Array, Array]:
        """Ends of the cells, and the height, twice."""
        left, right = self.edges[..., :-1], self.edges[..., 1:]
        height = self.weights / (right - left)
        return left, right, height, height
