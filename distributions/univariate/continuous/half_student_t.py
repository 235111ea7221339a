"""Half-Student's t: the size of a Student variable around zero, a prior for scales."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betaincinv, betaln, erfcinv, erfinv

from probdiff.distributions.base import Continuous
from probdiff.distributions.raw_moments import kurtosis_of, skewness_of, variance_of
from probdiff.distributions.stable import LOG_2, log_beta
from probdiff.distributions.support import Positive, PositiveOrInfinite, nonnegative
from probdiff.distributions.univariate.continuous.half_normal import HalfNormal
from probdiff.distributions.univariate.continuous.student_t import StudentT
from probdiff.special import log1mexp, log_betainc, log_betaincc
from probdiff.tree import Array


class HalfStudentT(Continuous):
    """p(x) = 2 Γ((df + 1) / 2) / (Γ(df / 2) sqrt(π df) scale) (1 + z² / df)^(-(df + 1) / 2),  z = x / scale >= 0.

    df     positive  degrees of freedom; infinity is the half-normal distribution
    scale  positive

    Gelman, Prior distributions for variance parameters in hierarchical models, Bayesian Analysis 1 (2006).
    """

    df: PositiveOrInfinite
    scale: Positive = 1.0

    support = nonnegative

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        return 0.0, np.where(self.df == np.inf, np.inf, 0.0)

    def logpdf(self, x: Array) -> Array:
        return StudentT(self.df, 0.0, self.scale, check=False).logpdf(x) + LOG_2

    # With r = z / sqrt(df), P(X > x) is I(df / 2, 1/2) at 1 / (1 + r²), and P(X <= x) is I(1/2, df / 2) at the rest.

    def logcdf(self, x: Array) -> Array:
        h, r, share = self._share(x)
        # For tiny r the integral is its leading term, which does not underflow.
        near = np.where(r < 1e-100, np.log(2 * r) - betaln(h, 0.5), log_betainc(0.5, h, share))
        student = np.where(r < 1, near, log1mexp(self._far(h, r)))
        return np.where(self.df == math.inf, HalfNormal(self.scale, check=False).logcdf(x), student)

    def logccdf(self, x: Array) -> Array:
        h, r, share = self._share(x)
        student = np.where(r < 1, log_betaincc(0.5, h, share), self._far(h, r))
        return np.where(self.df == math.inf, HalfNormal(self.scale, check=False).logccdf(x), student)

    def _share(self, x: Array) -> tuple[Array, Array, Array]:
        r = x / self.scale / np.sqrt(self.df)
        return 0.5 * self.df, r, r * r / (1 + r * r)

    @staticmethod
    def _far(h: Array, r: Array) -> Array:
        """log P(X > x) for r >= 1."""
        return np.where(
            r < 1e100, log_betainc(h, 0.5, 1 / (1 + r * r)), -2 * h * np.log(r) - np.log(h) - betaln(h, 0.5)
        )

    def guess(self, lower: Array, lp: Array) -> Array:
        h, p = 0.5 * self.df, np.exp(lp)
        below, above = betaincinv(0.5, h, p), betaincinv(h, 0.5, p)
        student = np.sqrt(self.df * np.where(lower, below / (1 - below), (1 - above) / above))
        normal = math.sqrt(2) * np.where(lower, erfinv(p), erfcinv(p))
        return self.scale * np.where(self.df == math.inf, normal, student)

    def mean(self) -> Array:
        return self.scale * self._moment(1)

    def var(self) -> Array:
        return self.scale**2 * variance_of(self._moment(1), self._moment(2))

    def mode(self) -> Array:
        return 0.0

    def skewness(self) -> Array:
        return skewness_of(*(self._moment(i) for i in (1, 2, 3)))

    def kurtosis(self) -> Array:
        return kurtosis_of(*(self._moment(i) for i in (1, 2, 3, 4)))

    def entropy(self) -> Array:
        return StudentT(self.df, 0.0, self.scale, check=False).entropy() - LOG_2

    def _moment(self, i: int) -> Array:
        """E[(X / scale)^i]."""
        df = np.minimum(self.df, 1e15)  # more makes no difference to a number
        gammas = log_beta(0.5 * (i + 1), 0.5 * (df - i)) - log_beta(0.5, 0.5 * df)
        return np.where(self.df > i, df ** (0.5 * i) * np.exp(gammas), math.inf)

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.scale * abs(rng.standard_t(np.minimum(self.df, 1e300), shape))
