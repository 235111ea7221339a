"""Exponential power: lifetimes whose log-hazard is a power, with a bathtub for shapes below one."""

from __future__ import annotations

import numpy as np

from probdiff.distributions.base import Continuous
from probdiff.distributions.powers import exp_excess
from probdiff.distributions.stable import log1mexpexp
from probdiff.distributions.support import Positive, nonnegative
from probdiff.tree import Array


class ExponentialPower(Continuous):
    """P(X > x) = exp(1 - exp(z^shape)),  z = x / scale,  x >= 0.

    shape  positive
    scale  positive

    Smith & Bain, An exponential power life-testing distribution, Communications in Statistics 4 (1975). The law that
    others call by this name, with the density exp(-|z|^shape), is `GeneralizedNormal`.
    """

    shape: Positive
    scale: Positive = 1.0

    support = nonnegative
    tail_rates = (np.inf, np.inf)

    def logpdf(self, x: Array) -> Array:
        log_power = self.shape * np.log(np.where(x > 0, x, self.scale) / self.scale)
        power = np.exp(log_power)
        inside = np.log(self.shape / np.where(x > 0, x, 1.0)) + log_power - exp_excess(power)
        at_zero = np.where(self.shape == 1, -np.log(self.scale), np.inf * (1 - self.shape))
        return np.where(x > 0, inside, at_zero)

    def logccdf(self, x: Array) -> Array:
        return -np.expm1((x / self.scale) ** self.shape)

    def logcdf(self, x: Array) -> Array:
        log_power = self.shape * (np.log(x) - np.log(self.scale))
        power = np.exp(log_power)
        small = power < 1e-8  # log of exp(power) - 1
        log_hazard = np.where(small, log_power + 0.5 * power, np.log(np.expm1(np.where(small, 1.0, power))))
        return log1mexpexp(log_hazard)

    def quantile(self, p: Array) -> Array:
        return self.scale * np.log1p(-np.log1p(-p)) ** (1 / self.shape)

    def cquantile(self, p: Array) -> Array:
        return self.scale * np.log1p(-np.log(p)) ** (1 / self.shape)
