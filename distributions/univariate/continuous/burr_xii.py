"""Burr XII, or Singh-Maddala: incomes and lifetimes, a log-logistic law with a power tail of its own."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import psi, xlogy

from probdiff.distributions.powers import log_ratio
from probdiff.distributions.raw_moments import RawMoments
from probdiff.distributions.stable import log_beta
from probdiff.distributions.support import Positive, nonnegative
from probdiff.special import log1mexp, softplus
from probdiff.tree import Array


class BurrXII(RawMoments):
    """P(X > x) = (1 + z^c)^-d,  z = x / scale >= 0.

    c      positive  the density starts like x^(c - 1)
    d      positive  and falls like x^(-c d - 1)
    scale  positive

    Kleiber & Kotz, Statistical Size Distributions in Economics and Actuarial Sciences (2003), ch. 6.2.
    """

    c: Positive
    d: Positive
    scale: Positive = 1.0

    support = nonnegative
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        c, d = self.c, self.d
        u = c * log_ratio(x, self.scale)
        # At x = 0 the power decides between zero, a number and infinity.
        rise = np.where(x == 0, xlogy(c - 1, x) - c * np.log(self.scale), u - np.log(x))
        return np.log(c) + np.log(d) + rise - (d + 1) * softplus(u)

    def logccdf(self, x: Array) -> Array:
        return -self.d * softplus(self.c * log_ratio(x, self.scale))

    def quantile(self, p: Array) -> Array:
        return self._inverse_of(-np.log1p(-p) / self.d)

    def cquantile(self, p: Array) -> Array:
        return self._inverse_of(-np.log(p) / self.d)

    def _inverse_of(self, v: Array) -> Array:
        """scale (exp(v) - 1)^(1/c)."""
        return self.scale * np.exp((v + log1mexp(-v)) / self.c)

    def mean(self) -> Array:
        return self.scale * self._moment(1)

    def mode(self) -> Array:
        c = self.c
        return self.scale * np.where(c > 1, ((c - 1) / (c * self.d + 1)) ** (1 / c), 0.0)

    def entropy(self) -> Array:
        c, d = self.c, self.d
        harmonic = psi(d) + np.euler_gamma
        return np.log(self.scale / c) - np.log(d) - harmonic / c + harmonic + 1 / d + 1

    def _moment(self, i: int) -> Array:
        """E[(X / scale)^i]."""
        c, d = self.c, self.d
        return np.where(c * d > i, d * np.exp(log_beta(d - i / c, 1 + i / c)), math.inf)
