"""WalleniusNoncentralHypergeometric: successes among balls drawn one by one, each in proportion to its weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.ad.transforms import stop_gradient
from probdiff.distributions.log_sums import log_integral
from probdiff.distributions.stable import binomial_log_mass
from probdiff.distributions.support import Positive
from probdiff.distributions.urn import Urn
from probdiff.tree import Array


class WalleniusNoncentralHypergeometric(Urn):
    """P(k) = C(m, k) C(n, draws - k) ∫_0^1 (1 - t^(odds / D))^k (1 - t^(1 / D))^(draws - k) dt,

    D = odds (m - k) + n - draws + k,  m successes and n failures in the urn.

    successes  nonnegative integer  in the urn
    failures   nonnegative integer  in the urn
    draws      nonnegative integer  not more than both together
    odds       positive             weight of a success, that of a failure being 1; 1 is Hypergeometric

    Every ball left has the same chance in proportion to its weight; in Fisher's law the balls are taken independently.
    Fog, Calculation methods for Wallenius' noncentral hypergeometric distribution, Comm. Stat. 37 (2008). The
    distribution function is a sum over k.
    """

    odds: Positive = 1.0

    def logpdf(self, x: Array) -> Array:
        m, n, draws, w = self.successes, self.failures, self.draws, self.odds
        zero = 0.0 * w
        drawn = log_integral(moment_height, stop_gradient(x) + zero, m + zero, n + zero, draws + zero, w)
        certain = (draws == m + n) | (m == 0) | (n == 0) | (draws == 0)
        return np.where(certain, zero, drawn)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        m, n, draws = (np.broadcast_to(v, shape) * 1.0 for v in (self.successes, self.failures, self.draws))
        all_successes, k = m, np.zeros(shape)
        for i in range(int(np.max(draws, initial=0))):
            going = i < draws
            weight = self.odds * (all_successes - k)
            rest = n - (i - k)
            success = going & (rng.random(shape) * (weight + rest) < weight)
            k = k + success
        return k


def moment_height(u: Array, k: Array, m: Array, n: Array, draws: Array, odds: Array) -> Array:
    """The log-density of the draw, when each ball leaves the urn after an exponential time, and exp(u) is the moment.

    With t = exp(-D s), s = exp(u), the integral is over two binomial masses: of successes and of failures gone by s.
    """
    s = np.exp(u)
    rate = odds * (m - k) + (n - (draws - k))
    return np.log(rate) + u + gone(k, m, odds * s) + gone(draws - k, n, s)


def gone(k: Array, m: Array, time: Array) -> Array:
    """The log-probability that k of m balls, whose times are exponential of rate 1, have left."""
    p = -np.expm1(-time)
    log_p = np.where(time > 1, np.log1p(-np.exp(-time)), np.log(p))
    return binomial_log_mass(k, m - k, p, np.exp(-time), log_p, -time)
