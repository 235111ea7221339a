"""Normal peaks with power-law tails, made of two sides: what a crystal-ball family derives from.

A side is a function of the distance t >= 0 from the peak, in scales, with height 1 at the peak.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy.special import log_ndtr, ndtri

from probdiff.distributions.raw_moments import RawMoments
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Interval, real
from probdiff.special import log1mexp
from probdiff.tree import Array

__all__ = ["AboveOne", "NormalSide", "PeakOfSides", "PowerSide"]

AboveOne = Annotated[Any, Interval("above_one", "greater than 1", 1.0)]
ROOT = math.sqrt(2 * math.pi)
HALF_MOMENTS = (0.5 * ROOT, 1.0, 0.5 * ROOT, 2.0, 1.5 * ROOT)  # ∫ t^i exp(-t² / 2) dt from 0


class NormalSide:
    """exp(-t² / 2)."""

    def log_height(self, t: Array) -> Array:
        return -0.5 * t * t

    def log_beyond(self, t: Array) -> Array:
        """log ∫ height from t on."""
        return log_ndtr(-t) + HALF_LOG_2PI

    def distance(self, mass: Array) -> Array:
        """The t that has this mass beyond."""
        return -ndtri(mass / ROOT)

    def moment(self, i: int) -> Array:
        """∫ t^i height dt from 0."""
        return HALF_MOMENTS[i]


@dataclass(frozen=True)
class PowerSide:
    """exp(-t² / 2) for t < alpha, and exp(-alpha² / 2) (1 + alpha (t - alpha) / n)^-n from there on."""

    alpha: Array
    n: Array

    def log_height(self, t: Array) -> Array:
        a, n = self.alpha, self.n
        return np.where(t < a, -0.5 * t * t, -0.5 * a * a - n * np.log1p(a / n * np.maximum(t - a, 0.0)))

    def log_beyond(self, t: Array) -> Array:
        a, n = self.alpha, self.n
        tail = self._log_tail() + (1 - n) * np.log1p(a / n * np.maximum(t - a, 0.0))
        near = np.minimum(t, a)
        # What the tail has more than that of the normal density, as a share of the latter.
        normal = log_ndtr(-near)
        more = np.exp(self._log_tail() - HALF_LOG_2PI - normal) - np.exp(log_ndtr(-a) - normal)
        return np.where(t < a, normal + np.log1p(more) + HALF_LOG_2PI, tail)

    def distance(self, mass: Array) -> Array:
        a, n = self.alpha, self.n
        tail = np.exp(self._log_tail())
        shortage = np.log(np.minimum(mass, tail)) - self._log_tail()
        near = -ndtri(np.exp(log_ndtr(-a)) + np.maximum(mass - tail, 0.0) / ROOT)
        return np.where(mass < tail, a + n / a * np.expm1(shortage / (1 - n)), near)

    def moment(self, i: int) -> Array:
        a, n = self.alpha, self.n
        edge, length = np.exp(-0.5 * a * a), n / a
        inner = [ROOT * 0.5 * (1 - 2 * np.exp(log_ndtr(-a))), -np.expm1(-0.5 * a * a)]
        for k in range(2, i + 1):
            inner.append((k - 1) * inner[k - 2] - a ** (k - 1) * edge)
        # ∫ (t - a)^j (1 + (t - a) / (n / a))^-n dt is a beta integral.
        outer = sum(
            math.comb(i, j)
            * a ** (i - j)
            * length ** (j + 1)
            * math.factorial(j)
            / math.prod((n - k for k in range(1, j + 2)), start=1.0)
            for j in range(i + 1)
        )
        return np.where(n > i + 1, inner[i] + edge * outer, math.inf)

    def _log_tail(self) -> Array:
        return np.log(self.n / self.alpha) - np.log(self.n - 1) - 0.5 * self.alpha**2


class PeakOfSides(RawMoments, abstract=True):
    """A density of two sides that meet at `loc`, given by `_sides()`."""

    loc: Any
    scale: Any

    support = real

    def logpdf(self, x: Array) -> Array:
        lower, upper = self._sides()
        z = (x - self.loc) / self.scale
        height = np.where(z < 0, lower.log_height(-np.minimum(z, 0.0)), upper.log_height(np.maximum(z, 0.0)))
        return height - self._log_total() - np.log(self.scale)

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def quantile(self, p: Array) -> Array:
        lower, upper = self._sides()
        return self.loc - self.scale * self._far(p, lower, upper)

    def cquantile(self, p: Array) -> Array:
        lower, upper = self._sides()
        return self.loc + self.scale * self._far(p, upper, lower)

    def mean(self) -> Array:
        return self.loc + self.scale * self._moment(1)

    def mode(self) -> Array:
        return self.loc

    def _sides(self) -> tuple[Any, Any]:
        raise NotImplementedError

    def _moment(self, i: int) -> Array:
        lower, upper = self._sides()
        return (upper.moment(i) + (-1) ** i * lower.moment(i)) * np.exp(-self._log_total())

    def _log_total(self) -> Array:
        lower, upper = self._sides()
        return np.logaddexp(lower.log_beyond(0.0), upper.log_beyond(0.0))

    def _tails(self, x: Array) -> tuple[Array, Array]:
        lower, upper = self._sides()
        z, total = (x - self.loc) / self.scale, self._log_total()
        below = lower.log_beyond(-np.minimum(z, 0.0)) - total
        above = upper.log_beyond(np.maximum(z, 0.0)) - total
        return np.where(z < 0, below, log1mexp(above)), np.where(z < 0, log1mexp(below), above)

    def _far(self, p: Array, near: Any, other: Any) -> Array:
        """The distance towards the side `near` that has probability p beyond it."""
        total = np.exp(self._log_total())
        here, there = np.exp(near.log_beyond(0.0)), np.exp(other.log_beyond(0.0))
        inside = near.distance(np.minimum(p * total, here))
        outside = other.distance(np.minimum((1 - p) * total, there))
        return np.where(p * total < here, inside, -outside)
