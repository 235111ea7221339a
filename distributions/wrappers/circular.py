"""Circular: a real number wrapped around the circle."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from probdiff.distributions.support import Interval
from probdiff.distributions.wrappers.combined import Combined, log_tail
from probdiff.distributions.wrappers.truncated import Truncated
from probdiff.errors import ParameterError
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array, flatten

__all__ = ["Circular"]

TWO_PI = 2 * math.pi
LOST = 1e-12  # probability beyond the turns that are summed, which is let pass

NOTHING = 1e-30  # probability of a turn that has no part in an expectation

angles = Interval("interval", "in [-π, π]", -math.pi, math.pi, True, True)


class Circular(Combined):
    """p(x) = Σ_k q(x + 2πk),  -π <= x <= π: the law of X as an angle.

    base   a continuous distribution of real numbers, q its density
    turns  the sum is over k = -turns, …, turns

    ParameterError where `base` has a probability of more than 1e-12 beyond these turns.
    Mardia & Jupp, Directional Statistics, ch. 3.
    """

    base: Any
    turns: Any = 10

    static = ("turns",)
    support = angles

    def check_parts(self) -> None:
        self.refuse_unless(self.base, discrete=False)
        if not isinstance(self.turns, (int, np.integer)) or self.turns < 0:
            raise ParameterError(f"Circular.turns must be a nonnegative integer, got {self.turns!r}")
        if not any(is_lifted(leaf) for leaf in flatten(self.base)[0]):
            reach = (2 * self.turns + 1) * math.pi
            lost = np.max(self.base.cdf(-reach) + self.base.ccdf(reach))
            if not lost <= LOST:
                raise ParameterError(
                    f"Circular.turns = {self.turns} leave out a probability of {lost:.1e}. Give more turns, or bring "
                    "the location of the base into [-π, π]."
                )

    def logpdf(self, x: Array) -> Array:
        from probdiff.special import logsumexp

        return logsumexp(self.base.logpdf(self._turned(x, len(getattr(x, "shape", ())))), axis=0)

    def logcdf(self, x: Array) -> Array:
        return log_tail(self._between(-math.pi, x), self._between(x, math.pi))

    def logccdf(self, x: Array) -> Array:
        return log_tail(self._between(x, math.pi), self._between(-math.pi, x))

    def _expected(self, name: str, g: Callable[[Array], Array], kinks: Sequence[Array] = ()) -> Array:
        # Turn by turn, since the quantile function bends sharply where the density is small.
        low, high = self._turned(-math.pi, 0), self._turned(math.pi, 0)
        middle = 0.5 * (low + high)
        mass = np.exp(self.base.logdiffcdf(low, high))
        means = Truncated(self.base, low, high).expect(lambda x: g(x - middle), [kink + middle for kink in kinks])
        return np.sum(np.where(mass > NOTHING, mass * means, 0.0), axis=0)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        x = np.asarray(self.base.draw(shape, rng))
        return (x - TWO_PI * np.round(x / TWO_PI))[()]

    def _between(self, low: Array, high: Array) -> Array:
        """log P(low < angle <= high)."""
        from probdiff.special import logsumexp

        ndim = max(len(getattr(end, "shape", ())) for end in (low, high))
        return logsumexp(self.base.logdiffcdf(self._turned(low, ndim), self._turned(high, ndim)), axis=0)

    def _turned(self, x: Array, ndim: int) -> Array:
        """`x`, or a number in its place, after each number of turns, along a new first axis before `ndim` others."""
        ndim = max(ndim, len(self.base.batch_shape))
        around = np.reshape(TWO_PI * np.arange(-self.turns, self.turns + 1), (-1,) + (1,) * ndim)
        return x + around.astype(getattr(x, "dtype", around.dtype))
