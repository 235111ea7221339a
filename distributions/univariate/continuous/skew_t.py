"""Skew t of Jones and Faddy: tails of different weight on the two sides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betainccinv, betaincinv, gammaln

from probdiff.distributions.base import Continuous
from probdiff.distributions.stable import LOG_2
from probdiff.distributions.support import Positive, Real, real
from probdiff.ops.saddle import beta_kernel
from probdiff.special import log_betainc, log_betaincc
from probdiff.tree import Array


class SkewT(Continuous):
    """p(x) = 2 P^a (1 - P)^b / (B(a, b) r scale),  P = (1 + z / r) / 2,  r² = a + b + z²,  z = (x - loc) / scale.

    a      positive  the right tail falls like z^(-2 b - 1), and
    b      positive  the left one like |z|^(-2 a - 1); a = b is Student's t with 2 a degrees of freedom
    loc    real
    scale  positive

    P is Beta(a, b). Jones & Faddy, A skew extension of the t-distribution, with applications (2003).
    """

    a: Positive
    b: Positive
    loc: Real = 0.0
    scale: Positive = 1.0

    support = real
    tail_rates = (0.0, 0.0)

    def logpdf(self, x: Array) -> Array:
        p, q, r = self._shares(x)
        kernel = beta_kernel(self.a, self.b, p, q, np.log(p), np.log(q))
        return kernel + LOG_2 - np.log(r) - np.log(self.scale)

    def _shares(self, x: Array) -> tuple[Array, Array, Array]:
        """P, 1 - P and r."""
        z = (x - self.loc) / self.scale
        n = self.a + self.b
        r = np.hypot(np.sqrt(n), z)
        large = 0.5 * (1 + abs(z) / r)
        small = 0.5 * (n / r) / (r + abs(z))
        return np.where(z < 0, small, large), np.where(z < 0, large, small), r

    def cdf(self, x: Array) -> Array:
        p, q, _ = self._shares(x)
        return np.where(p < q, betainc(self.a, self.b, p), betaincc(self.b, self.a, q))

    def ccdf(self, x: Array) -> Array:
        p, q, _ = self._shares(x)
        return np.where(p < q, betaincc(self.a, self.b, p), betainc(self.b, self.a, q))

    def logcdf(self, x: Array) -> Array:
        p, q, _ = self._shares(x)
        return log_share(self.a, self.b, p, q)

    def logccdf(self, x: Array) -> Array:
        p, q, _ = self._shares(x)
        return log_share(self.b, self.a, q, p)

    def guess(self, lower: Array, lp: Array) -> Array:
        level = np.exp(lp)
        p = np.where(lower, betaincinv(self.a, self.b, level), betainccinv(self.a, self.b, level))
        q = np.where(lower, betainccinv(self.b, self.a, level), betaincinv(self.b, self.a, level))
        return self._from_shares(p, q)

    def mean(self) -> Array:
        a, b = self.a, self.b
        ratio = np.exp(gammaln(a - 0.5) - gammaln(a) + gammaln(b - 0.5) - gammaln(b))
        finite = self.loc + self.scale * 0.5 * (a - b) * np.sqrt(a + b) * ratio
        return np.where((a > 0.5) & (b > 0.5), finite, math.nan)

    def var(self) -> Array:
        a, b = self.a, self.b
        shift = (self.mean() - self.loc) / self.scale
        square = 0.25 * (a + b) * ((a - b) ** 2 + a + b - 2) / ((a - 1) * (b - 1))
        finite = self.scale**2 * (square - shift * shift)
        return np.where((a > 1) & (b > 1), finite, np.where((a > 0.5) & (b > 0.5), math.inf, math.nan))

    def mode(self) -> Array:
        a, b = self.a, self.b
        return self.loc + self.scale * (a - b) * np.sqrt(a + b) / np.sqrt((2 * a + 1) * (2 * b + 1))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        first, second = rng.standard_gamma(self.a, shape), rng.standard_gamma(self.b, shape)
        return self._from_shares(first, second)

    def _from_shares(self, p: Array, q: Array) -> Array:
        return self.loc + self.scale * 0.5 * np.sqrt(self.a + self.b) * (p - q) / np.sqrt(p) / np.sqrt(q)


def log_share(a: Array, b: Array, p: Array, q: Array) -> Array:
    """log I_p(a, b) for q = 1 - p, from whichever of p and q has the digits."""
    small = np.minimum(p, q)
    below = log_betainc(a, b, small)
    above = log_betaincc(b, a, small)
    return np.where(p < q, below, above)
