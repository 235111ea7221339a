"""Generalised extreme value: the limit laws of maxima, Gumbel's, Fréchet's and the reversed Weibull's in one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import gamma

from probdiff.distributions.generating import stretched_rate
from probdiff.distributions.powers import expm1_over, log1p_over
from probdiff.distributions.raw_moments import RawMoments, concentrated
from probdiff.distributions.stable import either
from probdiff.distributions.support import Interval, Positive, Real
from probdiff.ops.dispatch import is_lifted
from probdiff.tree import Array


class GeneralizedExtremeValue(RawMoments):
    """P(X <= x) = exp(-exp(-y)),  y = log(1 + shape z) / shape,  z = (x - loc) / scale,  1 + shape z >= 0.

    loc    real
    scale  positive
    shape  real      0 is Gumbel (y = z); the upper tail is a power for shape > 0 and ends for shape < 0

    SciPy's genextreme has c = -shape. A prior with this law needs a plain number as shape, because the support
    depends on its sign.

    Coles, An Introduction to Statistical Modeling of Extreme Values (2001), ch. 3.
    """

    loc: Real = 0.0
    scale: Positive = 1.0
    shape: Real = 0.0

    @property
    def support(self) -> Interval:
        lower, upper = (
            end_where(has, lambda: finite_end(self), infinity)
            for has, infinity in ((self.shape > 0, -math.inf), (self.shape < 0, math.inf))
        )
        return Interval("interval", "in the support", lower, upper, False, True)

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        power = -1 / np.where(self.shape < 0, self.shape, -1.0)
        below = np.where(self.shape < 0, stretched_rate(power, self.scale), np.inf)
        return below, np.where(self.shape > 0, 0.0, np.where(self.shape == 0, 1 / self.scale, np.inf))

    def logpdf(self, x: Array) -> Array:
        y = log1p_over((x - self.loc) / self.scale, self.shape)
        # At a finite upper end y is infinite; for shape = -1 the density there is 1 / scale.
        inside = -times_or_zero(1 + self.shape, y) - np.exp(-y) - np.log(self.scale)
        return either(x < math.inf, lambda: inside, lambda: -math.inf)

    def logcdf(self, x: Array) -> Array:
        return -np.exp(-log1p_over((x - self.loc) / self.scale, self.shape))

    def quantile(self, p: Array) -> Array:
        return self.loc + self.scale * expm1_over(-np.log(-np.log(p)), self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.loc + self.scale * expm1_over(-np.log(-np.log1p(-p)), self.shape)

    # Moments of z are differences of gammas over powers of the shape; near shape = 0 quadrature keeps more digits.

    def mean(self) -> Array:
        m1, m2 = self._moment(1), self._moment(2)
        direct = self.loc + self.scale * ((m1 - 1) / self.shape)
        return np.where(concentrated(m1, m2), super().mean(), direct)

    def mode(self) -> Array:
        k = self.shape
        inside = expm1_over(-np.log1p(k), k)
        return self.loc + self.scale * np.where(k > -1, inside, -1 / k)

    def entropy(self) -> Array:
        return np.log(self.scale) + np.euler_gamma * (1 + self.shape) + 1

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        # Gumbel's law by its moments, under which every number is possible.
        mean = np.sum(w * x)
        scale = np.sqrt(6 * np.sum(w * (x - mean) ** 2)) / math.pi
        return {"loc": mean - np.euler_gamma * scale, "scale": scale, "shape": 0.0}

    def _unit(self) -> Array:
        return self.scale / self.shape

    def _moment(self, i: int) -> Array:
        """E[(1 + shape z)^i]."""
        return np.where(i * self.shape < 1, gamma(1 - i * self.shape), math.inf)


def finite_end(d: Any) -> Array:
    """Where 1 + shape z = 0."""
    return d.loc - d.scale / np.where(d.shape == 0, 1.0, d.shape)


def end_where(has: Array, end: Callable[[], Array], infinity: float) -> Array:
    """An end of a support, for the members that have one; a float where it is known that none has."""
    if not is_lifted(has) and not np.any(has):
        return infinity
    return np.where(has, end(), infinity)[()]


def times_or_zero(k: Array, y: Array) -> Array:
    """k y, which is zero for k = 0 also where y is infinite."""
    return either((k == 0) & (abs(y) == math.inf), lambda: 0.0, lambda: k * y)
