"""Kappa laws: of four parameters, extremes, logistic, exponential and Pareto laws in one; of three, of rain."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.generating import stretched_rate
from probdiff.distributions.powers import expm1_over, log1p_over
from probdiff.distributions.support import Interval, Positive, Real
from probdiff.distributions.univariate.continuous.burr_iii import BurrIII
from probdiff.distributions.univariate.continuous.generalized_extreme_value import times_or_zero
from probdiff.special import log1mexp
from probdiff.tree import Array


class Kappa4(Continuous):
    """P(X <= x) = (1 - h exp(-y))^(1 / h),  y = -log(1 - k z) / k,  z = (x - loc) / scale.

    loc    real
    scale  positive
    h      real      0 is the generalised extreme value law, 1 the generalised Pareto law, -1 a logistic one
    k      real      the upper tail ends at z = 1 / k for k > 0, and is a power for k < 0

    A prior with this law needs plain numbers as h and k, because the support depends on their signs. Hosking, The
    four-parameter kappa distribution, IBM J. Res. Develop. 38 (1994).
    """

    loc: Real = 0.0
    scale: Positive = 1.0
    h: Real = 0.0
    k: Real = 0.0

    @property
    def support(self) -> Interval:
        k, h = self.k, self.h
        end = 1 / np.where(k == 0, 1.0, k)
        least = -expm1_over(-np.log(np.where(h > 0, h, 1.0)), k)
        low = np.where(h > 0, self.loc + self.scale * least, np.where(k < 0, self.loc + self.scale * end, -math.inf))
        high = np.where(k > 0, self.loc + self.scale * end, math.inf)
        return Interval("interval", "in the support", low[()], high[()], False, True)

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        k, h = self.k, self.h
        extreme = np.where(k > 0, stretched_rate(1 / np.where(k > 0, k, 1.0), self.scale), np.inf)
        logistic = np.where(k > 0, 0.0, np.where(k < 0, np.inf, -1 / (np.where(h < 0, h, -1.0) * self.scale)))
        lower = np.where(h > 0, np.inf, np.where(h < 0, logistic, extreme))
        return lower, np.where(k > 0, np.inf, np.where(k < 0, 0.0, 1 / self.scale))

    def logpdf(self, x: Array) -> Array:
        y = self._reduced(x)
        inside = -times_or_zero(1 - self.k, y) + (1 - self.h) * self._log_below(y) - np.log(self.scale)
        return np.where(x < math.inf, inside, -math.inf)

    def logcdf(self, x: Array) -> Array:
        return self._log_below(self._reduced(x))

    def logccdf(self, x: Array) -> Array:
        return log1mexp(self._log_below(self._reduced(x)))

    def quantile(self, p: Array) -> Array:
        return self._from_log(np.log(p))

    def cquantile(self, p: Array) -> Array:
        return self._from_log(np.log1p(-p))

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        # Gumbel's law by its moments, under which every number is possible.
        mean = np.sum(w * x)
        scale = np.sqrt(6 * np.sum(w * (x - mean) ** 2)) / math.pi
        return {"loc": mean - np.euler_gamma * scale, "scale": scale, "h": 0.0, "k": 0.0}

    def _reduced(self, x: Array) -> Array:
        """y."""
        return -log1p_over((self.loc - x) / self.scale, self.k)

    def _log_below(self, y: Array) -> Array:
        return log1p_over(-np.exp(-y), self.h)

    def _from_log(self, lp: Array) -> Array:
        return self.loc - self.scale * expm1_over(np.log(-expm1_over(lp, self.h)), self.k)


def kappa3(shape: Any, scale: Any = 1.0) -> BurrIII:
    """P(X <= x) = z / (shape + z^shape)^(1 / shape),  z = x / scale >= 0: a member of Burr's third family.

    Mielke & Johnson, Three-parameter kappa distribution maximum likelihood estimates and likelihood ratio tests,
    Monthly Weather Review 101 (1973).
    """
    return BurrIII(shape, 1 / shape, scale * shape ** (1 / shape))
