"""Folded: the absolute value of a random number."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.support import Interval, Support, nonnegative
from probdiff.distributions.wrappers.combined import Combined, is_unbounded, log_tail
from probdiff.tree import Array

__all__ = ["Folded"]


class Folded(Combined):
    """p(x) = q(x) + q(-x),  x >= 0: the law of |X|.

    base  a continuous distribution, whose density is q

    Leone, Nelson & Nottingham (1961), The folded normal distribution.
    """

    base: Any

    def check_parts(self) -> None:
        self.refuse_unless(self.base, discrete=False)

    @property
    def support(self) -> Support:
        ends = self.base.support
        if is_unbounded(ends.lower) or is_unbounded(ends.upper):
            return nonnegative
        top = np.maximum(abs(ends.lower), abs(ends.upper))
        return Interval("interval", "in the interval", 0.0, top, True, True)

    def logpdf(self, x: Array) -> Array:
        return np.logaddexp(self.base.logpdf(x), self.base.logpdf(-x))

    def logcdf(self, x: Array) -> Array:
        return self.base.logdiffcdf(-x, x)

    def logccdf(self, x: Array) -> Array:
        both = np.logaddexp(self.base.logccdf(x), self.base.logcdf(-x))
        return log_tail(both, self.base.logdiffcdf(-x, x))

    def kinks(self) -> tuple[Array, ...]:
        ends = (end for end in (self.base.support.lower, self.base.support.upper) if not is_unbounded(end))
        return tuple(abs(kink) for kink in (*self.base.kinks(), *ends))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return abs(self.base.draw(shape, rng))
