"""Zipfian: probabilities that fall with a power of the rank, among finitely many ranks."""

from __future__ import annotations

import numpy as np

from probdiff.distributions.base import Discrete
from probdiff.distributions.exponential_form import ExponentialForm
from probdiff.distributions.power_sums import partial_excess
from probdiff.distributions.quantiles import LOG_HALF
from probdiff.distributions.support import Integers, Nonnegative, PositiveInteger, integer_interval
from probdiff.tree import Array


class Zipfian(Discrete):
    """P(k) = k^-power / Σ_{j <= n} j^-power,  k = 1, …, n.

    power  nonnegative       0 is uniform
    n      positive integer  ranks
    """

    power: Nonnegative
    n: PositiveInteger

    @property
    def support(self) -> Integers:
        return integer_interval(1.0, self.n)

    def logpdf(self, x: Array) -> Array:
        return -self.power * np.log(x) - self._log_total(self.n + 0 * x)

    def logcdf(self, x: Array) -> Array:
        lower, upper = self._tails(x)
        return np.where(lower < LOG_HALF, lower, np.log1p(-np.exp(upper)))

    def logccdf(self, x: Array) -> Array:
        lower, upper = self._tails(x)
        return np.where(lower < LOG_HALF, np.log1p(-np.exp(lower)), upper)

    def mode(self) -> Array:
        return 1.0

    def exponential_form(self) -> ExponentialForm:
        return ExponentialForm(
            lambda x: (np.log(x),), (-self.power,), self._log_total(self.n + 0 * self.power), held=("n",)
        )

    def _tails(self, x: Array) -> tuple[Array, Array]:
        n = self.n + 0 * x
        total = self._log_total(n)
        beyond = np.log1p(partial_excess(self.power, x + 1, n))
        return self._log_total(x) - total, beyond - self.power * np.log1p(x) - total

    def _log_total(self, n: Array) -> Array:
        return np.log1p(partial_excess(self.power, 1 + 0 * n, n))
