"""Power normal: the least of so many normal variables, for lifetimes of chains."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtri_exp

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import HALF_LOG_2PI
from probdiff.distributions.support import Positive, Real, real
from probdiff.special import log1mexp
from probdiff.tree import Array


class PowerNormal(Continuous):
    """P(X > x) = Φ(-z)^power,  z = (x - loc) / scale.

    loc    real
    scale  positive
    power  positive  how many; need not be whole

    Documentation of SciPy, powernorm.
    """

    loc: Real = 0.0
    scale: Positive = 1.0
    power: Positive = 1.0

    support = real
    tail_rates = (np.inf, np.inf)

    def logpdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        return np.log(self.power / self.scale) - 0.5 * z * z - HALF_LOG_2PI + (self.power - 1) * log_ndtr(-z)

    def logcdf(self, x: Array) -> Array:
        # log [1 - (1 - Φ)^power], from Φ where that is tiny.
        z = (x - self.loc) / self.scale
        below = log_ndtr(z)
        tiny = np.log(self.power) + below
        return np.where(below < -40, tiny, log1mexp(self.power * log_ndtr(np.where(below < -40, 0.0, -z))))

    def logccdf(self, x: Array) -> Array:
        return self.power * log_ndtr((self.loc - x) / self.scale)

    def guess(self, lower: Array, lp: Array) -> Array:
        tiny = lower & (lp < -40)
        above = np.where(lower, np.log1p(-np.exp(np.where(lower, lp, -1.0))), lp) / self.power
        z = np.where(tiny, ndtri_exp(np.minimum(lp - np.log(self.power), 0.0)), -ndtri_exp(above))
        return self.loc + self.scale * z
