"""Generalised half-logistic: lifetimes that cannot exceed a bound, and have a logistic tail as it moves away."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.powers import expm1_over, log1p_over
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Interval, Positive, interval
from probdiff.special import log1mexp
from probdiff.tree import Array


class GeneralizedHalfLogistic(Continuous):
    """P(X <= x) = (1 - g) / (1 + g),  g = (1 - shape z)^(1 / shape),  z = x / scale,  0 <= z <= 1 / shape.

    shape  positive
    scale  positive

    Balakrishnan & Puthenpura, Best linear unbiased estimators of location and scale parameters of the half logistic
    distribution, J. Stat. Comput. Simul. 25 (1986).
    """

    shape: Positive
    scale: Positive = 1.0

    @property
    def support(self) -> Interval:
        return interval(0.0, self.scale / self.shape)

    def logpdf(self, x: Array) -> Array:
        log_g = log1p_over(-x / self.scale, self.shape)
        return LOG_2 + (1 - self.shape) * log_g - 2 * np.log1p(np.exp(log_g)) - np.log(self.scale)

    def logcdf(self, x: Array) -> Array:
        log_g = log1p_over(-x / self.scale, self.shape)
        return log1mexp(log_g) - np.log1p(np.exp(log_g))

    def logccdf(self, x: Array) -> Array:
        log_g = log1p_over(-x / self.scale, self.shape)
        near = np.log1p(np.tanh(0.5 * log_g))
        return np.where(log_g > -1, near, LOG_2 + log_g - np.log1p(np.exp(log_g)))

    def quantile(self, p: Array) -> Array:
        return self._from_log(np.log1p(-p) - np.log1p(p))

    def cquantile(self, p: Array) -> Array:
        return self._from_log(np.log(p) - np.log1p(1 - p))

    @classmethod
    def start(cls, x: Array, w: Array) -> dict[str, Any]:
        scale = np.sum(w * x)
        return {"scale": scale, "shape": 0.5 * scale / np.max(x)}

    def _from_log(self, log_g: Array) -> Array:
        return -self.scale * expm1_over(log_g, self.shape)
