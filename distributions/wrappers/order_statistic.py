"""Order statistics: the k-th smallest of n independent values, and several of them together."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from probdiff.distributions.stable import log_beta
from probdiff.distributions.support import NonnegativeInteger, Support, ordered, positive_ordered
from probdiff.distributions.univariate.continuous.beta import Beta
from probdiff.distributions.wrappers.combined import Combined, axis_first
from probdiff.errors import ParameterError
from probdiff.ops.dispatch import is_lifted
from probdiff.special import log_betainc, log_betaincc
from probdiff.tree import Array

__all__ = ["JointOrderStatistics", "OrderStatistic"]

TINY = -600.0  # logs of probabilities below which the probability itself is no number, or soon will be


class OrderStatistic(Combined):
    """p(x) = F(x)^(k-1) (1 - F(x))^(n-k) f(x) / B(k, n - k + 1).

    base  a continuous distribution, with density f and distribution function F
    n     how many values there are
    k     1, …, n  which of them, from the smallest

    David & Nagaraja, Order Statistics, ch. 2.
    """

    base: Any
    n: NonnegativeInteger
    k: NonnegativeInteger

    relation = "k in 1, …, n"

    def check_parts(self) -> None:
        self.refuse_unless(self.base, discrete=False)

    def related(self) -> Array:
        return (self.k >= 1) & (self.k <= self.n)

    @property
    def support(self) -> Support:
        ends: Support = self.base.support
        return ends

    def logpdf(self, x: Array) -> Array:
        below, above = self.k - 1.0, self._above() - 1.0
        # A power of zero is one: nothing comes of an infinite logarithm that nothing multiplies.
        log_below = np.where(below > 0, below * self.base.logcdf(x), 0.0)
        log_above = np.where(above > 0, above * self.base.logccdf(x), 0.0)
        return log_below + log_above + self.base.logpdf(x) - self._log_beta()

    def logcdf(self, x: Array) -> Array:
        return self._tail(self.base.logcdf(x), self.base.logccdf(x), self.k * 1.0, self._above())

    def logccdf(self, x: Array) -> Array:
        return self._tail(self.base.logccdf(x), self.base.logcdf(x), self._above(), self.k * 1.0)

    def quantile(self, p: Array) -> Array:
        return self._placed(self._share().quantile(p), self._rest().cquantile(p))

    def cquantile(self, p: Array) -> Array:
        return self._placed(self._share().cquantile(p), self._rest().quantile(p))

    def kinks(self) -> tuple[Array, ...]:
        kinks: tuple[Array, ...] = self.base.kinks()
        return kinks

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        below, above = rng.standard_gamma(self.k, shape), rng.standard_gamma(self._above(), shape)
        return self._placed(below / (below + above), above / (below + above))

    def _placed(self, u: Array, v: Array) -> Array:
        """The x with F(x) = u = 1 - v, from the smaller of the two."""
        return np.where(u < 0.5, self.base.quantile(u), self.base.cquantile(v))

    def _tail(self, log_u: Array, log_v: Array, a: Array, b: Array) -> Array:
        """The log of the incomplete beta function at u = 1 - v, from the smaller of the two."""
        small = a * log_u - np.log(a) - self._log_beta()
        u, v = np.exp(np.maximum(log_u, TINY)), np.exp(log_v)
        near = np.where(u < 0.5, log_betainc(a, b, np.minimum(u, 0.5)), log_betaincc(b, a, np.minimum(v, 0.5)))
        return np.where(log_u < TINY, small, near)

    def _share(self) -> Beta:
        """The law of F(x)."""
        return Beta(self.k * 1.0, self._above(), check=False)

    def _rest(self) -> Beta:
        """The law of 1 - F(x)."""
        return Beta(self._above(), self.k * 1.0, check=False)

    def _above(self) -> Array:
        return self.n - self.k + 1.0

    def _log_beta(self) -> Array:
        value = log_beta(self.k * 1.0, self._above())
        return value.item() if isinstance(value, np.generic) else value  # a plain number leaves single precision alone


class JointOrderStatistics(Combined):
    """p(x) = n! Π_j f(x_j) Π_j (F(x_j) - F(x_{j-1}))^(g_j) / g_j!,  x_1 < x_2 < …, with g_j values left out between.

    base   a continuous distribution, with density f and distribution function F
    n      how many values there are
    ranks  which of them, rising; all by default

    David & Nagaraja, Order Statistics, ch. 2.
    """

    base: Any
    n: Any
    ranks: Any = None

    static = ("n", "ranks")

    def check_parts(self) -> None:
        self.refuse_unless(self.base, discrete=False)
        if not isinstance(self.n, (int, np.integer)) or self.n < 1:
            raise ParameterError(f"JointOrderStatistics.n must be a positive integer, got {self.n!r}")
        ranks = tuple(range(1, self.n + 1)) if self.ranks is None else tuple(int(rank) for rank in self.ranks)
        ends = (0, *ranks, self.n + 1)
        if not ranks or any(a >= b for a, b in zip(ends[:-1], ends[1:], strict=True)):
            raise ParameterError(f"JointOrderStatistics.ranks must rise from 1 to at most {self.n}, got {ranks}")
        self.__dict__["ranks"] = ranks

    @property
    def event_shape(self) -> tuple[int, ...]:
        return (len(self.ranks),)

    @property
    def support(self) -> Support:
        bottom = self.base.support.lower
        positive = not is_lifted(bottom) and np.ndim(bottom) == 0 and bottom == 0
        return positive_ordered if positive else ordered

    def logpdf(self, x: Array) -> Array:
        total = np.sum(self.base.logpdf(axis_first(x, len(self.batch_shape))), axis=0) + gammaln(self.n + 1.0)
        values = [-np.inf, *(x[..., j] for j in range(len(self.ranks))), np.inf]
        ends = (0, *self.ranks, self.n + 1)
        for j in range(len(ends) - 1):
            left_out = ends[j + 1] - ends[j] - 1
            if left_out:
                total = total + left_out * self.base.logdiffcdf(values[j], values[j + 1]) - gammaln(left_out + 1.0)
        return total

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        drawn = np.asarray(self.base.draw((self.n, *shape), rng))
        return np.moveaxis(np.sort(drawn, axis=0)[np.asarray(self.ranks) - 1], 0, -1)
