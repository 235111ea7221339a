"""Noncentral F: the ratio of mean squares when the effect is there, for the power of F tests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import xlogy

from probdiff.distributions.base import Continuous
from probdiff.distributions.log_sums import log_series
from probdiff.distributions.noncentral import log_poisson
from probdiff.distributions.raw_moments import kurtosis_of, skewness_of
from probdiff.distributions.support import Nonnegative, Positive, nonnegative
from probdiff.ops.saddle import beta_kernel
from probdiff.special import log1mexp, log_betainc, log_betaincc
from probdiff.tree import Array


class NoncentralF(Continuous):
    """(U / df1) / (V / df2),  U noncentral chi-squared with df1, V chi-squared with df2 degrees of freedom,  x >= 0.

    df1            positive
    df2            positive
    noncentrality  nonnegative  of U

    With P = df1 x / (df2 + df1 x), P is Beta(df1 / 2 + J, df2 / 2), J ~ Poisson(noncentrality / 2). Johnson, Kotz &
    Balakrishnan, Continuous Univariate Distributions 2, ch. 30.
    """

    df1: Positive
    df2: Positive
    noncentrality: Nonnegative

    support = nonnegative
    tail_rates = (np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        y = np.where(x > 0, x, 1.0)
        inside = log_series(density_term, largest, *self._halves(), self._ratio(y)) - np.log(y)
        at_zero = xlogy(0.5 * self.df1 - 1, x) - 0.5 * self.noncentrality
        return np.where(x > 0, inside, at_zero)

    def logcdf(self, x: Array) -> Array:
        return self._tails(x)[0]

    def logccdf(self, x: Array) -> Array:
        return self._tails(x)[1]

    def _tails(self, x: Array) -> tuple[Array, Array]:
        return log_tails(*self._halves(), self._ratio(x))

    def _halves(self) -> tuple[Array, Array, Array]:
        return 0.5 * self.df1, 0.5 * self.df2, 0.5 * self.noncentrality

    def _ratio(self, x: Array) -> Array:
        """P / (1 - P)."""
        return self.df1 / self.df2 * x

    def mean(self) -> Array:
        finite = self.df2 * (self.df1 + self.noncentrality) / (self.df1 * (self.df2 - 2))
        return np.where(self.df2 > 2, finite, math.inf)

    def var(self) -> Array:
        n1, n2, c = self.df1, self.df2, self.noncentrality
        finite = 2 * (n2 / n1) ** 2 * ((n1 + c) ** 2 + (n1 + 2 * c) * (n2 - 2)) / ((n2 - 2) ** 2 * (n2 - 4))
        return np.where(n2 > 4, finite, math.inf)

    def skewness(self) -> Array:
        return skewness_of(*(self._moment(j) for j in (1, 2, 3)))

    def kurtosis(self) -> Array:
        return kurtosis_of(*(self._moment(j) for j in (1, 2, 3, 4)))

    def _moment(self, order: int) -> Array:
        """E[X^order]: cumulants of U are 2^(j - 1) (j - 1)! (df1 + j noncentrality)."""
        b = 0.5 * self.df2
        shared = [2**j * math.factorial(j) for j in range(order)]
        cumulants = [k * (self.df1 + j * self.noncentrality) for j, k in enumerate(shared, start=1)]
        moments: list[Array] = [1.0]
        for n in range(order):
            moments.append(sum(math.comb(n, j) * cumulants[j] * moments[n - j] for j in range(n + 1)))
        inverse = math.prod((b / (b - j) for j in range(1, order + 1)), start=self.df1 ** -float(order))
        return np.where(b > order, moments[order] * inverse, math.inf)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return rng.noncentral_f(self.df1, self.df2, self.noncentrality, shape)


def shares(ratio: Array) -> tuple[Array, Array]:
    """P and 1 - P."""
    return 1 / (1 + 1 / ratio), 1 / (1 + ratio)


def log_tails(a: Array, b: Array, m: Array, ratio: Array) -> tuple[Array, Array]:
    """Logs of both tails of P; that on whose side of the mean of the numerator the ratio lies is summed."""
    tail = log_series(tail_term, largest, a, b, m, ratio)
    rest = log1mexp(tail)
    below = b * ratio < a + m
    return np.where(below, tail, rest), np.where(below, rest, tail)


def largest(a: Array, b: Array, m: Array, ratio: Array) -> Array:
    """j with j (a + j) = m P (a + b + j): the largest term of the density, and about that of the tails."""
    mp = m * shares(ratio)[0]
    half, product = 0.5 * (mp - a), mp * (a + b)
    root = np.sqrt(half * half + product)
    return np.where(half > 0, half + root, product / np.where(half > 0, 1.0, root - half))


def density_term(j: Array, a: Array, b: Array, m: Array, ratio: Array) -> Array:
    p, q = shares(ratio)
    return log_poisson(j, m) + beta_kernel(a + j, b, p, q, -np.log1p(1 / ratio), -np.log1p(ratio))


def tail_term(j: Array, a: Array, b: Array, m: Array, ratio: Array) -> Array:
    """The log of the Poisson mass times that of the lower, or upper, tail of Beta(a + j, b)."""
    p, q = shares(ratio)
    left = p < 0.5
    # One incomplete integral of the smaller share, with the shapes in its order.
    small, first, second = np.where(left, p, q), np.where(left, a + j, b), np.where(left, b, a + j)
    own = (b * ratio < a + m) == left
    return log_poisson(j, m) + np.where(own, log_betainc(first, second, small), log_betaincc(first, second, small))
