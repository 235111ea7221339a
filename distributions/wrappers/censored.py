"""Censored: values beyond a bound are seen as the bound; and observations of which only an interval is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from probdiff.distributions.guards import floating
from probdiff.distributions.support import Support, integer_interval, interval
from probdiff.distributions.wrappers.combined import Combined, Extended, is_unbounded
from probdiff.distributions.wrappers.truncated import Truncated
from probdiff.tree import Array

__all__ = ["Censored", "IntervalCensored"]


class Censored(Combined):
    """The law of min(max(X, lower), upper): mass P(X <= lower) at lower, P(X >= upper) at upper, q(x) between.

    base   the distribution of X, of real or whole numbers; its density is q
    lower  -inf for no bound; an array for a bound of its own for each value
    upper  inf for no bound

    Tobin (1958), Estimation of relationships for limited dependent variables.
    """

    base: Any
    lower: Extended = -math.inf
    upper: Extended = math.inf

    atoms = True
    relation = "lower below upper"

    def check_parts(self) -> None:
        self.refuse_unless(self.base)

    def related(self) -> Array:
        return self.lower < self.upper

    @property
    def support(self) -> Support:
        ends = self.base.support
        lower = ends.lower if is_unbounded(self.lower) else np.maximum(ends.lower, self.lower)
        upper = ends.upper if is_unbounded(self.upper) else np.minimum(ends.upper, self.upper)
        return integer_interval(lower, upper) if ends.discrete else interval(lower, upper)

    def logpdf(self, x: Array) -> Array:
        result = self.base.logpdf(x)
        if not is_unbounded(self.lower):
            result = np.where(x == self.lower, self.base.logcdf(self.lower), result)
        if not is_unbounded(self.upper):
            result = np.where(x == self.upper, self._log_above(), result)
        return result

    def logcdf(self, x: Array) -> Array:
        x = floating(x)
        return np.where(x >= self.upper, 0.0, np.where(x < self.lower, -np.inf, self.base.logcdf(x)))[()]

    def logccdf(self, x: Array) -> Array:
        x = floating(x)
        return np.where(x >= self.upper, -np.inf, np.where(x < self.lower, 0.0, self.base.logccdf(x)))[()]

    def quantile(self, p: Array) -> Array:
        return np.clip(self.base.quantile(p), self.lower, self.upper)

    def cquantile(self, p: Array) -> Array:
        return np.clip(self.base.cquantile(p), self.lower, self.upper)

    def _expected(self, name: str, g: Callable[[Array], Array], kinks: Sequence[Array] = ()) -> Array:
        if self.base.support.discrete or getattr(self.base, "atoms", False):
            return super()._expected(name, g, kinks)
        # The two atoms, and the smooth rest: an integral over the kinks of the quantile function would lose digits.
        between = np.exp(self.base.logdiffcdf(self.lower, self.upper))
        total = between * Truncated(self.base, self.lower, self.upper).expect(g, kinks)
        if not is_unbounded(self.lower):
            total = total + self.base.cdf(self.lower) * g(self.lower)
        return total if is_unbounded(self.upper) else total + self.base.ccdf(self.upper) * g(self.upper)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return np.clip(self.base.draw(shape, rng), self.lower, self.upper)

    def pathwise(self, x: Array) -> Array:
        moved = np.where(x >= self.upper, self.upper, self.base.pathwise(x))
        return np.where(x <= self.lower, self.lower, moved)

    def _log_above(self) -> Array:
        """log P(X >= upper)."""
        below = np.ceil(self.upper) - 1 if self.base.support.discrete else self.upper
        return self.base.logccdf(below)


@dataclass(frozen=True, repr=False)
class Brackets(Support):
    """Pairs (last axis) of numbers, the second not below the first; both may be infinite."""

    event_ndim: ClassVar[int] = 1

    def contains(self, x: Array) -> Array:
        low, high = x[..., 0], x[..., 1]
        return (low < high) | ((low == high) & (abs(low) < np.inf))


brackets = Brackets("brackets", "a lower bound and an upper one that is not below it")


class IntervalCensored(Combined):
    """p(lower, upper) = P(lower < X <= upper), or the density q(x) where lower = upper = x.

    base  the distribution of X, whose density (or mass) is q

    A value is a pair of bounds along the last axis. So one array holds values that are known exactly (x, x), only to be
    above (x, inf), only to be below (-inf, x), and between two bounds. Draws are exact.
    Turnbull (1976), The empirical distribution function with arbitrarily grouped, censored and truncated data.
    """

    base: Any

    support = brackets

    def check_parts(self) -> None:
        self.refuse_unless(self.base)

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (2,)

    def logpdf(self, x: Array) -> Array:
        low, high = x[..., 0], x[..., 1]
        return np.where(low == high, self.base.logpdf(low), self.base.logdiffcdf(low, high))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        x = np.asarray(self.base.draw(shape, rng), dtype=float)
        return np.stack([x, x], axis=-1)
