"""PERT: a beta law of the least, the largest and the most likely value, for expert guesses of durations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv, xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import log_beta
from probdiff.distributions.support import Interval, Positive, Real, interval
from probdiff.special import log1mexp, log_betainc
from probdiff.tree import Array


class PERT(Continuous):
    """p(x) ∝ (x - low)^(a - 1) (high - x)^(b - 1),  a, b = 1 + concentration (peak - low, high - peak) / (high - low).

    low            real
    high           real      greater than low
    peak           real      from low to high
    concentration  positive  4 is customary: the mean is (low + 4 peak + high) / 6

    Malcolm, Roseboom, Clark & Fazar, Application of a technique for research and development program evaluation,
    Operations Research 7 (1959).
    """

    low: Real
    high: Real
    peak: Real
    concentration: Positive = 4.0

    relation = "low <= peak <= high and low < high"

    def related(self) -> Array:
        return (self.low < self.high) & (self.low <= self.peak) & (self.peak <= self.high)

    @property
    def support(self) -> Interval:
        return interval(self.low, self.high)

    def logpdf(self, x: Array) -> Array:
        (a, b), (u, v) = self._shapes(), self._shares(x)
        return xlogy(a - 1, u) + xlogy(b - 1, v) - log_beta(a, b) - np.log(self.high - self.low)

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def guess(self, lower: Array, lp: Array) -> Array:
        a, b = self._shapes()
        p, width = np.exp(lp), self.high - self.low
        return np.where(lower, self.low + width * betaincinv(a, b, p), self.high - width * betaincinv(b, a, p))

    def mean(self) -> Array:
        return (self.low + self.concentration * self.peak + self.high) / (self.concentration + 2)

    def var(self) -> Array:
        a, b = self._shapes()
        return (self.high - self.low) ** 2 * a * b / ((a + b) ** 2 * (a + b + 1))

    def mode(self) -> Array:
        return self.peak

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        low, high = np.min(x), np.max(x)
        room = 0.1 * (high - low)
        return {"low": low - room, "high": high + room, "peak": np.sum(w * x)}

    def _shapes(self) -> tuple[Array, Array]:
        width = self.high - self.low
        below, above = (self.peak - self.low) / width, (self.high - self.peak) / width
        return 1 + self.concentration * below, 1 + self.concentration * above

    def _shares(self, x: Array) -> tuple[Array, Array]:
        """Of the width, below and above x."""
        return (x - self.low) / (self.high - self.low), (self.high - x) / (self.high - self.low)

    def _tails(self, x: Array) -> tuple[Array, Array]:
        """Logs of both tails, each from the smaller one."""
        (a, b), (u, v) = self._shapes(), self._shares(x)
        left = u < a / (a + b)
        tail = log_betainc(np.where(left, a, b), np.where(left, b, a), np.where(left, u, v))
        rest = log1mexp(tail)
        return np.where(left, tail, rest), np.where(left, rest, tail)
