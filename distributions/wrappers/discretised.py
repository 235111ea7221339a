"""Discretised: a real number, rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.support import Support, integer_interval
from probdiff.distributions.wrappers.combined import Combined, is_unbounded
from probdiff.errors import ParameterError
from probdiff.tree import Array

__all__ = ["Discretised"]

BELOW = {"nearest": 0.5, "down": 0.0, "up": 1.0}
BLUR = 1 + 64 * 2.2e-16  # so that rounding does not send quantile(cdf(k)) to k + 1


class Discretised(Combined):
    """P(k) = F(k - a + 1) - F(k - a),  k an integer: the law of X rounded.

    base      a continuous distribution, F its distribution function
    rounding  "nearest" (a = 1/2), "down" (a = 0) or "up" (a = 1)

    Of data rounded to steps of h, take those divided by h. For ends that gather all that is beyond, wrap it in
    `Censored`.
    """

    base: Any
    rounding: Any = "nearest"

    static = ("rounding",)

    def check_parts(self) -> None:
        self.refuse_unless(self.base, discrete=False)
        if self.rounding not in BELOW:
            raise ParameterError(f"Discretised.rounding must be {', '.join(BELOW)}, got {self.rounding!r}")

    @property
    def support(self) -> Support:
        ends, a = self.base.support, BELOW[self.rounding]
        # The first k whose interval (k - a, k - a + 1) reaches into the support, and the last.
        lower = ends.lower if is_unbounded(ends.lower) else np.floor(ends.lower + a)
        upper = ends.upper if is_unbounded(ends.upper) else np.ceil(ends.upper + a) - 1
        return integer_interval(lower, upper)

    def logpdf(self, x: Array) -> Array:
        a = BELOW[self.rounding]
        return self.base.logdiffcdf(x - a, x - a + 1)

    def logcdf(self, x: Array) -> Array:
        return self.base.logcdf(x + (1 - BELOW[self.rounding]))

    def logccdf(self, x: Array) -> Array:
        return self.base.logccdf(x + (1 - BELOW[self.rounding]))

    def quantile(self, p: Array) -> Array:
        k = self._rounded(self.base.quantile(p))
        return self._or_one_less(k, self.base.cdf(k - BELOW[self.rounding]) * BLUR >= p)

    def cquantile(self, p: Array) -> Array:
        k = self._rounded(self.base.cquantile(p))
        return self._or_one_less(k, self.base.ccdf(k - BELOW[self.rounding]) <= p * BLUR)

    def _or_one_less(self, k: Array, reached: Array) -> Array:
        return np.where(reached & (k > self.support.lower), k - 1, k)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self._rounded(self.base.draw(shape, rng))

    def _rounded(self, x: Array) -> Array:
        # At the very end of the support of x, rounding up from below would leave it.
        return np.maximum(np.ceil(x + (BELOW[self.rounding] - 1)), self.support.lower)
