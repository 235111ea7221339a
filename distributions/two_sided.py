"""Positive variables with a random sign: what reflected families derive from."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import real
from probdiff.tree import Array

__all__ = ["TwoSided"]


class TwoSided(Continuous, abstract=True):
    """loc ± Y with equal probabilities, Y = |x - loc| of the positive law `_size()`."""

    loc: Any

    support = real

    def logpdf(self, x: Array) -> Array:
        return self._size().logpdf(abs(x - self.loc)) - LOG_2

    def logcdf(self, x: Array) -> Array:
        return self._log_beyond(self.loc - x)

    def logccdf(self, x: Array) -> Array:
        return self._log_beyond(x - self.loc)

    def quantile(self, p: Array) -> Array:
        return self.loc - self._distance(p)

    def cquantile(self, p: Array) -> Array:
        return self.loc + self._distance(p)

    def kinks(self) -> tuple[Array, ...]:
        return (self.loc,)

    def mean(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return 0.0

    def mode(self) -> Array:
        return self.loc + self._size().mode()

    def modes(self) -> Array:
        distance = self._size().mode()
        return np.unique([self.loc - distance, self.loc + distance])

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        size = self._size().draw(shape, rng)
        return self.loc + np.where(rng.random(shape) < 0.5, -size, size)

    def _size(self) -> Any:
        raise NotImplementedError

    def _log_beyond(self, t: Array) -> Array:
        """The log of the probability beyond t on one side, which starts at one half at t = 0."""
        size = self._size()
        far, near = size.logccdf(np.maximum(t, 0.0)) - LOG_2, size.ccdf(np.maximum(-t, 0.0))
        return np.where(t > 0, far, np.log1p(-0.5 * near))

    def _distance(self, p: Array) -> Array:
        """The inverse of the exponential of `_log_beyond`."""
        size = self._size().cquantile(2 * np.minimum(p, 1 - p))
        return np.where(p < 0.5, size, -size)
