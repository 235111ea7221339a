"""Truncated: a distribution of real numbers, given that they lie between two bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous, Distribution, floating
from probdiff.distributions.support import Interval, Support, positive
from probdiff.errors import ParameterError, UnsupportedError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, register


class Truncated(Distribution, abstract=True):
    """p(x) = q(x) / (Q(upper) - Q(lower)) between the bounds, with q and Q the density and distribution of `base`.

    base   a continuous distribution
    lower  -inf for no bound
    upper  inf for no bound
    """

    base: Distribution
    lower: Any
    upper: Any

    def __init__(self, base: Distribution, lower: Any = -math.inf, upper: Any = math.inf) -> None:
        if not isinstance(base, Continuous):
            raise UnsupportedError(f"truncated: {type(base).__name__} is not a distribution of real numbers.")
        plain = not (is_lifted(lower) or is_lifted(upper))
        if plain and not np.all(np.asarray(lower) < np.asarray(upper)):
            raise ParameterError(f"truncated: lower must be below upper, got {lower} and {upper}.")
        self.__dict__.update(base=base, lower=lower, upper=upper)

    @property
    def support(self) -> Support:
        if not is_lifted(self.lower) and np.ndim(self.lower) == 0 and self.lower == 0 and self._unbounded(self.upper):
            return positive
        return Interval("interval", "between the bounds", self.lower, self.upper)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        bounds = (getattr(bound, "shape", ()) for bound in (self.lower, self.upper))
        return np.broadcast_shapes(self.base.batch_shape, *bounds)

    def logpdf(self, x: Array) -> Array:
        x = floating(x)
        with np.errstate(all="ignore"):
            return np.where(self.support.contains(x), self.base.logpdf(x) - np.log(self._mass()), -np.inf)[()]

    def cdf(self, x: Array) -> Array:
        below = (self.base.cdf(x) - self.base.cdf(self.lower)) / self._mass()
        return np.clip(below, 0.0, 1.0)

    def quantile(self, p: Array) -> Array:
        return self.base.quantile(self.base.cdf(self.lower) + p * self._mass())

    def _mass(self) -> Array:
        """The probability of the interval, as a difference of whichever tails are small."""
        base, lower, upper = self.base, self.lower, self.upper
        left, right = base.cdf(lower), base.ccdf(upper)
        return np.where(left < 0.5, base.cdf(upper) - left, base.ccdf(lower) - right)

    @staticmethod
    def _unbounded(bound: Any) -> bool:
        return isinstance(bound, float) and math.isinf(bound)

    def __repr__(self) -> str:
        return f"truncated({self.base!r}, {self.lower}, {self.upper})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Truncated):
            return NotImplemented
        bounds = ((self.lower, other.lower), (self.upper, other.upper))
        return self.base == other.base and all(np.array_equal(a, b) for a, b in bounds)

    def __hash__(self) -> int:
        return hash((Truncated, self.base))


register(Truncated, ("base", "lower", "upper"))


def truncated(distribution: Distribution, lower: Any = -math.inf, upper: Any = math.inf) -> Truncated:
    """`distribution` between the bounds, normalised; a bound may depend on other variables.

    UnsupportedError for a discrete distribution or one of vectors, ParameterError unless lower < upper.
    """
    return Truncated(distribution, lower, upper)
