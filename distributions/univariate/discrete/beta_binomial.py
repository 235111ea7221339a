"""BetaBinomial: successes in n trials whose probability of success is itself a Beta variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.ad.transforms import stop_gradient
from probdiff.distributions.base import Discrete
from probdiff.distributions.parameters import alternative
from probdiff.distributions.stable import either, log_gamma_defect, waiting_log_mass
from probdiff.distributions.summation import log_lower, log_upper
from probdiff.distributions.support import Integers, NonnegativeInteger, OpenUnit, Positive, integer_interval
from probdiff.tree import Array


class BetaBinomial(Discrete):
    """P(k) = C(n, k) B(k + alpha, n - k + beta) / B(alpha, beta),  k = 0, …, n.

    n      nonnegative integer  trials
    alpha  positive
    beta   positive

    In place of alpha and beta: mean of the probability of success, and concentration = alpha + beta.

    Johnson, Kemp & Kotz, Univariate Discrete Distributions, ch. 6.2.2. The distribution function is a sum over k.
    """

    n: NonnegativeInteger
    alpha: Positive
    beta: Positive

    @alternative
    def by_mean(mean: OpenUnit, concentration: Positive) -> dict[str, Any]:
        return {"alpha": mean * concentration, "beta": (1 - mean) * concentration}

    @property
    def support(self) -> Integers:
        return integer_interval(0.0, self.n)

    def logpdf(self, x: Array) -> Array:
        # Successes and failures are two waiting times, given their sum; the odds, common to all three, cancel.
        total, fewer = self._total(), self.alpha < self.beta
        n, odds = self.n + 0 * total, stop_gradient((self.n + 1) / total)
        small = either(fewer, lambda: self.alpha, lambda: self.beta)
        large = either(fewer, lambda: self.beta, lambda: self.alpha)
        k, m = either(fewer, lambda: x, lambda: n - x), either(fewer, lambda: n - x, lambda: x)
        # Where the smaller kind is rare, the mass of the sum is nearly that of the other kind: only the rest is added.
        rare = small * n <= total

        def rest() -> Array:
            return small * np.log1p(odds) + log_gamma_defect(large, small, n)

        def others() -> Array:
            whole = waiting_log_mass(n, either(rare, lambda: large, lambda: total), odds)
            return waiting_log_mass(m, large, odds) - whole

        return (
            waiting_log_mass(k, small, odds)
            + either(rare, rest, lambda: 0.0)
            + either(rare & (k == 0), lambda: 0.0, others)
        )

    def logcdf(self, x: Array) -> Array:
        return log_lower(self, x)

    def logccdf(self, x: Array) -> Array:
        return log_upper(self, x)

    def mean(self) -> Array:
        return self.n * (self.alpha / self._total())

    def var(self) -> Array:
        total = self._total()
        return self.n * (self.alpha / total) * (self.beta / total) * ((total + self.n) / (total + 1))

    def mode(self) -> Array:
        excess = self._total() - 2
        peak = np.clip(np.floor((self.n + 1) * (self.alpha - 1) / excess), 0, self.n)
        return np.where(excess > 0, peak, np.where(self.alpha > self.beta, self.n, 0.0))

    def skewness(self) -> Array:
        n, total = self.n, self._total()
        asymmetry = (total + 2 * n) * (self.beta - self.alpha) / (total + 2)
        return asymmetry * np.sqrt((1 + total) / (n * self.alpha * self.beta * (n + total)))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.binomial(self.n, rng.beta(self.alpha, self.beta, shape))

    def _total(self) -> Array:
        return self.alpha + self.beta
