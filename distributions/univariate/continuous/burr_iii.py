"""Burr III, or Dagum: incomes, with a power tail above and another below."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import psi, xlogy

from probdiff.distributions.parameters import alternative
from probdiff.distributions.powers import log_ratio
from probdiff.distributions.raw_moments import RawMoments
from probdiff.distributions.stable import log_beta
from probdiff.distributions.support import Positive, nonnegative
from probdiff.special import log1mexp, softplus
from probdiff.tree import Array


class BurrIII(RawMoments):
    """P(X <= x) = (1 + z^-c)^-d,  z = x / scale >= 0: the reciprocal of a BurrXII variable.

    c      positive  the density falls like x^(-c - 1)
    d      positive  and starts like x^(c d - 1); or kappa = c d and theta = c (Mielke's beta-kappa) in place of both
    scale  positive

    Kleiber & Kotz, Statistical Size Distributions in Economics and Actuarial Sciences (2003), ch. 6.3.
    """

    c: Positive
    d: Positive
    scale: Positive = 1.0

    support = nonnegative
    tail_rates = (np.inf, 0.0)

    @alternative
    def by_mielke(kappa: Positive, theta: Positive) -> dict[str, Any]:
        return {"c": theta, "d": kappa / theta}

    def logpdf(self, x: Array) -> Array:
        c, d = self.c, self.d
        u = c * log_ratio(x, self.scale)
        # At x = 0 the powers decide between zero, a number and infinity.
        rise = np.where(x == 0, xlogy(c * d - 1, x) - c * d * np.log(self.scale), d * np.minimum(u, 0.0) - np.log(x))
        return np.log(c) + np.log(d) + rise - d * np.log1p(np.exp(-abs(u))) - softplus(u)

    def logcdf(self, x: Array) -> Array:
        return -self.d * softplus(-self.c * log_ratio(x, self.scale))

    def quantile(self, p: Array) -> Array:
        return self._inverse_of(-np.log(p) / self.d)

    def cquantile(self, p: Array) -> Array:
        return self._inverse_of(-np.log1p(-p) / self.d)

    def _inverse_of(self, v: Array) -> Array:
        """scale (exp(v) - 1)^(-1/c)."""
        return self.scale * np.exp(-(v + log1mexp(-v)) / self.c)

    def mean(self) -> Array:
        return self.scale * self._moment(1)

    def mode(self) -> Array:
        power = self.c * self.d - 1
        return self.scale * np.where(power > 0, (power / (self.c + 1)) ** (1 / self.c), 0.0)

    def entropy(self) -> Array:
        c, d = self.c, self.d
        harmonic = psi(d) + np.euler_gamma
        return np.log(self.scale / c) - np.log(d) + harmonic / c + harmonic + 1 / d + 1

    def _moment(self, i: int) -> Array:
        """E[(X / scale)^i]."""
        c, d = self.c, self.d
        return np.where(c > i, d * np.exp(log_beta(d + i / c, 1 - i / c)), math.inf)
