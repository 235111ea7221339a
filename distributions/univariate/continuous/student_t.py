"""Student's t: a normal variable over an independent estimate of its scale."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betaln, gammaln, kve, log_ndtr, ndtr, ndtri, psi, stdtr

from probdiff.distributions.base import Continuous
from probdiff.distributions.draws import located
from probdiff.distributions.stable import HALF_LOG_2PI, LOG_2, either, log1p_square, stirling_error
from probdiff.distributions.support import Positive, PositiveOrInfinite, Real, real
from probdiff.ops.incomplete_rows import inverse
from probdiff.ops.saddle import log1p_less
from probdiff.special import log_betainc, log_betaincc
from probdiff.tree import Array


class StudentT(Continuous):
    """p(x) = Γ((df + 1) / 2) / (Γ(df / 2) sqrt(π df) scale) (1 + z² / df)^(-(df + 1) / 2),  z = (x - loc) / scale.

    df     positive  degrees of freedom; infinity is the normal distribution
    loc    real      median and mode
    scale  positive

    Johnson, Kotz & Balakrishnan, Continuous Univariate Distributions 2, ch. 28.
    """

    df: PositiveOrInfinite
    loc: Real = 0.0
    scale: Positive = 1.0

    support = real

    @property
    def tail_rates(self) -> tuple[Array, Array]:
        rate = np.where(self.df == np.inf, np.inf, 0.0)
        return rate, rate

    def logpdf(self, x: Array) -> Array:
        h = 0.5 * self.df
        z = (x - self.loc) / self.scale
        # The ratio of gammas by their Stirling forms.
        corrections = stirling_error(h + 0.5) - stirling_error(h) - np.log(self.scale) - HALF_LOG_2PI

        def student() -> Array:
            return h * np.log1p(0.5 / h) - 0.5 - (h + 0.5) * log1p_square(z * (1 / np.sqrt(self.df)))

        def nearly_normal() -> Array:
            # h log(1 + t) less h t, which is -z² / 2: nothing cancels in the derivative in df either.
            t = z * z / self.df
            near = h * log1p_less(0.5 / h) - 0.5 * z * z - 0.5 * t - (h + 0.5) * log1p_less(t)
            return np.where(t < 0.5, near, student())

        def finite() -> Array:
            return either(self.df < 100, student, nearly_normal)

        return corrections + either(self.df == math.inf, lambda: -0.5 * z * z, finite)

    def cdf(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        return np.where(self.df == math.inf, ndtr(z), stdtr(self.df, z))

    def ccdf(self, x: Array) -> Array:
        z = (self.loc - x) / self.scale
        return np.where(self.df == math.inf, ndtr(z), stdtr(self.df, z))

    def logcdf(self, x: Array) -> Array:
        return log_student_cdf(self.df, (x - self.loc) / self.scale)

    def logccdf(self, x: Array) -> Array:
        return log_student_cdf(self.df, (self.loc - x) / self.scale)

    def quantile(self, p: Array) -> Array:
        return self.loc + self.scale * student_quantile(self.df, p)

    def cquantile(self, p: Array) -> Array:
        return self.loc - self.scale * student_quantile(self.df, p)

    def mean(self) -> Array:
        return np.where(self.df > 1, self.loc, math.nan)

    def var(self) -> Array:
        finite = self.scale * self.scale / (1 - 2 / self.df)
        return np.where(self.df > 2, finite, np.where(self.df > 1, math.inf, math.nan))

    def mode(self) -> Array:
        return self.loc

    def skewness(self) -> Array:
        return np.where(self.df > 3, 0.0, math.nan)

    def kurtosis(self) -> Array:
        return np.where(self.df > 4, 6 / (self.df - 4), np.where(self.df > 2, math.inf, math.nan))

    def entropy(self) -> Array:
        h = 0.5 * self.df
        direct = (h + 0.5) * (psi(h + 0.5) - psi(h)) + 0.5 * np.log(self.df) + betaln(h, 0.5)
        # From here on the differences of large terms are worse than the first term of the expansion: 1e-10 both.
        return np.where(self.df < 1e5, direct, HALF_LOG_2PI + 0.5 + 1 / self.df) + np.log(self.scale)

    def cf(self, t: Array) -> Array:
        # Hurst, The characteristic function of the Student t distribution (1995).
        h, s = 0.5 * self.df, abs(t * self.scale)
        z = np.where(s == 0, 1.0, np.sqrt(self.df) * s)
        decay = np.exp(h * np.log(0.5 * z) - z - gammaln(h) + LOG_2) * kve(h, z)
        normal = np.exp(-0.5 * s * s)
        return np.exp(1j * t * self.loc) * np.where(s == 0, 1.0, np.where(self.df == math.inf, normal, decay))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return located(rng.standard_t(np.minimum(self.df, 1e300), shape), self.loc, self.scale)


def student_quantile(df: Array, p: Array) -> Array:
    """The t with P(T <= t) = p for Student's t."""
    return np.where(df == math.inf, ndtri(p), inverse("student_inverse", df, p))


def log_student_cdf(df: Array, z: Array) -> Array:
    """log P(T <= z) for Student's t, shared with its special cases.

    P(T <= -|z|) is half of I(df / 2, 1/2) at 1 / (1 + r²), r = |z| / sqrt(df); the share r² / (1 + r²) has the digits
    near the middle.
    """
    h, r = 0.5 * df, abs(z) / np.sqrt(df)
    square = np.minimum(r, 1e100) ** 2
    near = log_betaincc(0.5, h, square / (1 + square))
    # Beyond 1e100 the integral is its leading term, which does not underflow.
    far = np.where(r < 1e100, log_betainc(h, 0.5, 1 / (1 + square)), -df * np.log(r) - np.log(h) - betaln(h, 0.5))
    tail = np.where(square < 1, near, far) - LOG_2
    return np.where(df == math.inf, log_ndtr(z), np.where(z < 0, tail, np.log1p(-np.exp(tail))))
