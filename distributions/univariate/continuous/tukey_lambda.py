"""Tukey's lambda: a law of its quantiles, from short tails over nearly normal ones to powers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import log_expit

from probdiff.distributions.base import Continuous
from probdiff.distributions.powers import expm1_over, log1p_over
from probdiff.distributions.support import Interval, Positive, Real
from probdiff.ops.dispatch import apply
from probdiff.ops.elementwise import Elementwise
from probdiff.tree import Array

Numbers = np.ndarray[Any, Any]
FARTHEST = 700.0


class TukeyLambda(Continuous):
    """quantile(p) = loc + scale (p^shape - (1 - p)^shape) / shape.

    loc    real      median
    scale  positive
    shape  real      0 is the logistic law, 0.14 nearly a normal one, 1 and 2 are uniform; for shape > 0 the support
                     ends at loc ± scale / shape, for shape < 0 the tails are powers

    A prior with this law needs a plain number as shape, because the support depends on its sign. Joiner & Rosenblatt,
    Some properties of the range in samples from Tukey's symmetric lambda distributions, JASA 66 (1971).
    """

    loc: Real = 0.0
    scale: Positive = 1.0
    shape: Real = 0.0

    @property
    def support(self) -> Interval:
        half = np.where(self.shape > 0, self.scale / np.where(self.shape > 0, self.shape, 1.0), np.inf)
        return Interval("interval", "in the support", (self.loc - half)[()], (self.loc + half)[()], True, True)

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        rate = np.where(self.shape > 0, np.inf, np.where(self.shape < 0, 0.0, 1 / self.scale))
        return rate, rate

    def logpdf(self, x: Array) -> Array:
        u = self._log_odds(x)
        inside = -log_slope(u, self.shape) + log_expit(u) + log_expit(-u) - np.log(self.scale)
        return np.where(abs(x) < np.inf, inside, -np.inf)

    def logcdf(self, x: Array) -> Array:
        return log_expit(self._log_odds(x))

    def logccdf(self, x: Array) -> Array:
        return log_expit(-self._log_odds(x))

    def quantile(self, p: Array) -> Array:
        return self.loc + self.scale * (expm1_over(np.log(p), self.shape) - expm1_over(np.log1p(-p), self.shape))

    def cquantile(self, p: Array) -> Array:
        return self.loc + self.scale * (expm1_over(np.log1p(-p), self.shape) - expm1_over(np.log(p), self.shape))

    def mean(self) -> Array:
        return np.where(self.shape > -1, self.loc, np.nan)

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        return {"shape": 0.0}  # the logistic law, under which every number is possible

    def _log_odds(self, x: Array) -> Array:
        return apply(LOG_ODDS, (x - self.loc) / self.scale, self.shape)


def place(u: Array, shape: Array) -> Array:
    """The quantile at log-odds u of the standard law."""
    return expm1_over(log_expit(u), shape) - expm1_over(log_expit(-u), shape)


def log_slope(u: Array, shape: Array) -> Array:
    """log of its derivative in u, p (1 - p) (p^(shape - 1) + (1 - p)^(shape - 1))."""
    low, high = log_expit(u), log_expit(-u)
    return np.logaddexp(shape * low + high, low + shape * high)


def log_odds(z: Any, shape: Any) -> Numbers:
    """The u at which z is the quantile, by bisection and Newton's steps."""
    z, shape = np.broadcast_arrays(np.asarray(z, float), np.asarray(shape, float))
    low, high = np.full(z.shape, -FARTHEST), np.full(z.shape, FARTHEST)
    with np.errstate(all="ignore"):
        # Far out one of the two powers is nearly one.
        far = log1p_over(-abs(z), shape)
        u = np.where(np.isnan(far), 0.0, np.clip(np.sign(z) * -far, -FARTHEST, FARTHEST))
        for _ in range(60):
            excess = place(u, shape) - z
            low, high = np.where(excess < 0, u, low), np.where(excess > 0, u, high)
            moved = u - excess / np.exp(log_slope(u, shape))
            moved = np.where((moved >= low) & (moved <= high), moved, 0.5 * (low + high))
            done = abs(moved - u) <= 1e-15 * abs(u)
            u = np.where(excess == 0, u, moved)
            if np.all(done | (excess == 0) | np.isnan(z)):
                break
    return np.where(np.isnan(z), np.nan, u)[()]


def _partial_z(z: Array, shape: Array, u: Array) -> Array:
    return np.exp(-log_slope(u, shape))


def _partial_shape(z: Array, shape: Array, u: Array) -> Array:
    low, high = log_expit(u), log_expit(-u)
    return (power_moment(high, shape) - power_moment(low, shape)) * np.exp(-log_slope(u, shape))


def power_moment(y: Array, shape: Array) -> Array:
    """The derivative of (exp(shape y) - 1) / shape in shape: y² ∫ s exp(shape y s) ds over s from 0 to 1."""
    w = shape * y
    small = np.where(abs(w) < 0.5, w, 0.0)
    series: Array = 0.0
    for k in range(16, -1, -1):
        series = 1 / (math.factorial(k) * (k + 2)) + small * series
    large = np.where(abs(w) < 0.5, 1.0, w)
    return y * y * np.where(abs(w) < 0.5, series, (1 + np.exp(large) * (large - 1)) / (large * large))


LOG_ODDS = Elementwise("tukey_lambda_log_odds", log_odds, (_partial_z, _partial_shape))
