"""Laws that compute whichever tail is smaller: the other one is its complement."""

from __future__ import annotations

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.special import log1mexp
from probdiff.tree import Array

__all__ = ["BySmallerTail"]


class BySmallerTail(Discrete, abstract=True):
    """A family gives `smaller_tail`."""

    def smaller_tail(self, x: Array) -> tuple[Array, Array]:
        """Whether x is below the middle, and log P(X <= x) if so, else log P(X > x)."""
        raise NotImplementedError

    def logcdf(self, x: Array) -> Array:
        below, tail = self.smaller_tail(x)
        return np.where(below, tail, log1mexp(tail))

    def logccdf(self, x: Array) -> Array:
        below, tail = self.smaller_tail(x)
        return np.where(below, log1mexp(tail), tail)
