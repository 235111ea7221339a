"""Discrete Weibull: counts of trials whose hazard is a power of age."""

from __future__ import annotations

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.distributions.generating import stretched_rate
from probdiff.distributions.support import OpenUnit, Positive, nonnegative_integers
from probdiff.special import log1mexp
from probdiff.tree import Array


class DiscreteWeibull(Discrete):
    """P(X >= k) = q^(k^beta),  k = 0, 1, ….

    q     in (0, 1)  P(X > 0)
    beta  positive   the hazard grows for beta > 1; 1 is Geometric

    Nakagawa & Osaki, The discrete Weibull distribution, IEEE Trans. Rel. 24 (1975).
    """

    q: OpenUnit
    beta: Positive

    support = nonnegative_integers

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return np.inf, stretched_rate(self.beta, -1 / np.log(self.q))

    def logpdf(self, x: Array) -> Array:
        k = np.where(x > 0, x, 1.0)
        # (k + 1)^beta - k^beta does not cancel in this form.
        reached, step = k**self.beta, k**self.beta * np.expm1(self.beta * np.log1p(1 / k))
        log_q = np.log(self.q)
        return np.where(x > 0, log_q * reached + log1mexp(log_q * step), np.log1p(-self.q))

    def logccdf(self, x: Array) -> Array:
        return np.log(self.q) * (x + 1) ** self.beta

    def logcdf(self, x: Array) -> Array:
        return log1mexp(np.log(self.q) * (x + 1) ** self.beta)
